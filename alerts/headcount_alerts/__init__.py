"""Incidents: who is told of what, when, by which channel, and what ends it."""
