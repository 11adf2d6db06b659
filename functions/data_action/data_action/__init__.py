"""The data action: calls Genesys Cloud or a webhook for one event that was claimed."""
