"""DeviceTaintRule: taints that an administrator puts on devices."""

from __future__ import annotations

from typing import ClassVar

from webhook import formats
from webhook.api.core.meta import ClusterObject, CountedObject, conditions
from webhook.api.dra.names import driver_name, pool_name
from webhook.api.dra.selectors import selectors
from webhook.api.dra.taints import DeviceTaintOfRule
from webhook.schema.declarations import STORED, Struct
from webhook.schema.fields import Nested, Text
from webhook.schema.target import MAIN, STATUS


class DeviceTaintSelector(Struct):
    """The devices that get the taint: all if empty. If missing, none, but all in the scheduler before 1.38."""

    instead: ClassVar = {
        **dict.fromkeys(("deviceClassName", "selectors"), "name the devices by driver, pool and device"),
        **dict.fromkeys(("node", "nodeName"), "name the pool: most drivers name a node's pool after the node"),
    }

    deviceClassName = Text("The devices' class.", format=formats.dns_subdomain, pointer=True, until=34)
    driver = driver_name("The devices' driver.", pointer=True, required_if_given=True)
    pool = Text("The devices' pool.", checked_by=pool_name, pointer=True, required_if_given=True)
    device = Text("The device's name.", format=formats.dns_label, pointer=True)
    selectors = selectors("The conditions that the devices must meet.", until=34, rechecked={33: STORED})


class DeviceTaintRuleSpec(Struct):
    """The taint, and the devices that get it."""

    instead: ClassVar = {"selector": "deviceSelector"}

    deviceSelector = Nested(DeviceTaintSelector, pointer=True)
    taint = Nested(DeviceTaintOfRule)


class DeviceTaintRuleStatus(Struct):
    """The progress of the eviction of pods."""

    conditions = conditions("rule", 8)


class DeviceTaintRule(CountedObject, ClusterObject):
    """Puts a taint on devices."""

    tagged_since = 37

    spec = Nested(DeviceTaintRuleSpec, subresource=MAIN)
    status = Nested(DeviceTaintRuleStatus, since=35, subresource=STATUS)


class ConditionalDeviceTaintRule(DeviceTaintRule):
    """Puts a taint on devices."""

    go_name = "DeviceTaintRule"
    unconditional_update = False  # in v1, an update states the resourceVersion that it is based on
