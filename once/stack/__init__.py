"""Reads and writes one stack: everything that holds a boto3 client."""
