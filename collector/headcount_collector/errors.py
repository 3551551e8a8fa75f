"""Errors of the collector: each names the value that was wrong and the way out."""

from __future__ import annotations


class HeadcountError(Exception):
    """Base of every error that headcount raises on purpose; its text is meant for the person at the keyboard."""
