"""Operates a stack from the terminal: why, what is stuck, and what mends it."""
