"""`once audit`: what the stack would make of a capture of somebody's own events, without AWS."""
