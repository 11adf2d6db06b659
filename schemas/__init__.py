"""The contracts of this project as JSON Schema, and what keeps them true (CONTRIBUTING.md)."""
