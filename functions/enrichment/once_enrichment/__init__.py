"""The pipe's enrichment: turns one queue message into one normalised element with its key."""
