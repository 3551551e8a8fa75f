"""Where messages go: one module for each kind of peer."""

from headcount_alerts.channels.build import build_channels
from headcount_alerts.channels.channel import Channel, Parcel

__all__ = ["Channel", "Parcel", "build_channels"]
