"""Three hundred events with every fault on: none lost, none acted on twice."""
