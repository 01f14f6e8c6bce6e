"""Rules about reads that fail on some devices, by the profiles of drivers and by the tests before the reads.

What fails on every device, other rules report first: only an expression that can work is worth a guard.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.api.dra.names import STANDARD_DOMAIN
from webhook.deviceselectors.parts import Read
from webhook.deviceselectors.reads import guarded, tested_origins
from webhook.drivers import Devices
from webhook.hints.names import ask_first
from webhook.objects import JSONObject
from webhook.problem import NOTE, Problem
from webhook.references.attributes import Around, is_published, unmatched_selectors
from webhook.references.rules import Context, finding, rule
from webhook.references.selecting import SELECTING, reads_of


@rule("attribute-optional", *SELECTING, of_reads=True, of_field=True)
def attribute_optional(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector reads an attribute that not every device of its driver has, without checking for it first.

    On a device that lacks it the read is a run-time error, which ends the scheduling of the pod for all nodes.
    """
    for selector in unmatched_selectors(obj, context):
        around = Around(selector, context)
        optional: dict[tuple[str, str, str], tuple[Read, str]] = {}
        for read in reads_of(selector.parts):
            known = None if read.is_guarded or read.is_of_tested_domain else around.known(read)
            if not known or not known.is_certain:
                continue
            name = known.profile.name_in(read.domain, read.name)
            if is_published(known.devices, name, read) and not _is_always_there(known.devices, name, read):
                optional.setdefault(read[:3], (read, known.profile.driver))
        if not optional:
            continue
        safe = guarded(selector.expression, optional, context.release, context.gates)
        advice = ask_first(safe)
        for read, driver in optional.values():
            message = f'not every device of driver "{driver}" has "{read.name}": '
            message += "the error on a device without it ends scheduling for all nodes"
            yield finding(selector.path, message, advice, "Fails", read.offset)


def _is_always_there(devices: list[Devices], name: str, read: Read) -> bool:
    return all(name in (each.capacity if read.holder == "capacity" else each.attributes) for each in devices)


@rule("driver-not-tested", "DeviceClass", level=NOTE)
def driver_not_tested(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A class reads attributes or capacities, and does not test the driver: other drivers' devices lack them.

    Its selectors are evaluated for the devices of all drivers. On a device of another driver the read is an error,
    which ends the scheduling of the pod for all nodes. That works as long as a cluster has one driver.
    """
    tested: set[str] = set()
    for selector in unmatched_selectors(obj, context):
        for read in reads_of(selector.parts):
            is_tested = read.is_of_tested_driver or read.is_of_tested_domain or tested & {"", read.domain}
            if not read.is_guarded and not is_tested:
                message = (
                    f'no selector tests the driver, and devices of other drivers have no "{read.domain}/{read.name}"'
                )
                driver = "DRIVER" if read.domain == STANDARD_DOMAIN else read.domain
                hint = f'test it first: device.driver == "{driver}" && …'
                yield finding(selector.path, message, hint, "Fails", read.offset)
                return
        tested |= tested_origins(selector.parts.root)
