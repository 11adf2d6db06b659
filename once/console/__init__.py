"""`once console`: pages over the stories of a stack, for reading only; commands act."""
