"""Profiles of drivers: their attributes, capacities and opaque parameters.

A profile is a file in ``profiles/``, or one of the user's. It describes other projects, which change, so findings based
on it are warnings.
"""

from __future__ import annotations

from webhook.drivers.errors import ProfileError
from webhook.drivers.known import built_in, driver_of_class, profile_of, text_of
from webhook.drivers.parameters import ParameterFault, check_parameters
from webhook.drivers.profile import Devices, Profile, read_profile
from webhook.drivers.published import published

__all__ = [
    "Devices",
    "ParameterFault",
    "Profile",
    "ProfileError",
    "built_in",
    "check_parameters",
    "driver_of_class",
    "profile_of",
    "published",
    "read_profile",
    "text_of",
]
