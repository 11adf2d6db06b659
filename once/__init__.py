"""The `once` command: runs template.yaml on this machine and operates a deployed stack."""
