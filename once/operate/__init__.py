"""Operates a stack from the terminal: why, what is stuck, and what repairs it."""
