"""Text formats of Kubernetes, with their error messages.

A format takes a text and a Kubernetes release (27 for 1.27 … 36 for 1.36), whose wording it uses, and returns all
errors in the text, none if it is valid. Formats know nothing of paths, fields or objects.
"""

from webhook.formats.addresses import canonical_cidr, cidr
from webhook.formats.identifiers import lower_case_uuid, semver, uuid
from webhook.formats.names import (
    Messages,
    annotation_key,
    c_identifier,
    condition_reason,
    dns1035_label,
    dns_label,
    dns_subdomain,
    dns_subdomain_caseless,
    driver_name,
    extended_resource_name,
    go_lower,
    label_key,
    label_value,
    long_name,
    mask_trailing_dash,
    name_prefix,
    path_segment,
    path_segment_prefix,
    prefixed_resource_name,
    short_name,
)
from webhook.formats.quantities import (
    Quantity,
    decode_quantity,
    parse_quantity,
    quantity,
    readable_quantity,
    whole_quantity,
)
from webhook.formats.timestamps import go_timestamp, parse_timestamp, shown_timestamp, timestamp
from webhook.problem import quoted

__all__ = [
    "Messages",
    "Quantity",
    "annotation_key",
    "c_identifier",
    "canonical_cidr",
    "cidr",
    "condition_reason",
    "decode_quantity",
    "dns1035_label",
    "dns_label",
    "dns_subdomain",
    "dns_subdomain_caseless",
    "driver_name",
    "extended_resource_name",
    "go_lower",
    "go_timestamp",
    "label_key",
    "label_value",
    "long_name",
    "lower_case_uuid",
    "mask_trailing_dash",
    "name_prefix",
    "parse_quantity",
    "parse_timestamp",
    "path_segment",
    "path_segment_prefix",
    "prefixed_resource_name",
    "quantity",
    "quoted",
    "readable_quantity",
    "semver",
    "short_name",
    "shown_timestamp",
    "timestamp",
    "uuid",
    "whole_quantity",
]
