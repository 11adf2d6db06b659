"""`once routes`: the operator's routes.toml, judged and tried before it is deployed."""
