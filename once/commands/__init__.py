"""The commands that work on a stack, one module each; none imports another."""
