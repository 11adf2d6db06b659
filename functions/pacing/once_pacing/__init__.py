"""Pacing: how many calls may be made now, and when what waits is seen again."""
