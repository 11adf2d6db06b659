"""Libraries that tests and bench stand on: what shows that the product keeps its promises."""
