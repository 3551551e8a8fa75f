"""Drop-in instrumentation that counts delegated agent work out and back in."""
