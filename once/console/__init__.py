"""A page on 127.0.0.1 to see a stack run: what comes in, what became of it and why."""
