"""The data action: sends one claimed event to Genesys Cloud, a webhook or a bus."""
