"""`make prove` asks AWS, question by question, if it does what we assume."""
