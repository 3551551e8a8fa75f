"""Adapters to agent frameworks: each a module that is imported on use and imports its framework itself."""

from headcount.adapters.instrumentor import instrument

__all__ = ["instrument"]
