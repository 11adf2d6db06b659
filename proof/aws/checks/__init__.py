"""One check a file, named after its service and its rule."""
