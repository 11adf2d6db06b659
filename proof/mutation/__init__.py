"""Do the tests notice when the code is wrong? `python -m proof.mutation` changes one thing at a
time and counts the changes that no test sees. mutmut leaves module tables and decorated functions
alone and cosmic-ray starts every test for every change; our keys live in such tables, so this is
our own."""
