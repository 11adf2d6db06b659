"""Waiting in a model: pacing's own steps against a modelled queue, pipe and destination.

Hours pass in seconds. What is modelled is said where it is; the steps of the breaker, the limiter
and the return times are the ones that are deployed.
"""
