"""Receives OTLP evidence, stores it, derives facts, judges runs and serves the answers."""
