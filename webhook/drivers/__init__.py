"""Profiles of drivers: their attributes, capacities and opaque parameters.

A profile is a file in ``profiles/``, or one of the user's. It describes other projects, which change, so findings based
on it are warnings.
"""

from __future__ import annotations

from webhook.drivers.profile import Devices, Profile, built_in, driver_of_class, profile_of, text_of

__all__ = ["Devices", "Profile", "built_in", "driver_of_class", "profile_of", "text_of"]
