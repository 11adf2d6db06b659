"""The facts of an event and their meaning, in pure functions: no boto3, nothing printed."""
