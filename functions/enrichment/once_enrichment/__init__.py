"""The pipe's enrichment: turns every queue message into one normalised element with its key."""
