"""Incidents, routing and channels (to come)."""
