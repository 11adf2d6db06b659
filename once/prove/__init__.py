"""`once prove`: AWS is asked, question by question, whether it is as we took it to be."""
