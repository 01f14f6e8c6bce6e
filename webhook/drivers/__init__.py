"""What drivers publish and take: attributes, capacities and opaque parameters, by driver.

A profile is a file in ``profiles/``, or one that a user gives. It is knowledge of other projects, which change, so what
follows from it are warnings.
"""

from __future__ import annotations

from webhook.drivers.known import built_in, driver_of_class, profile_of, text_of
from webhook.drivers.parameters import Fault, check_parameters
from webhook.drivers.profile import Devices, Profile, ProfileError, read_profile
from webhook.drivers.published import published

__all__ = [
    "Devices",
    "Fault",
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
