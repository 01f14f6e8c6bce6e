"""``draguard certs``: a certificate authority and a serving certificate."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from webhook.certificates import certs
from webhook.certificates.exposure import exposures


def run(arguments: Namespace) -> int:
    """Write certificates, or print the CA bundle of existing ones."""
    directory = Path(arguments.directory)
    if arguments.ca_bundle:
        print(certs.ca_bundle(directory / certs.CA_CERTIFICATE))
        return 0
    issued = certs.issue(
        directory,
        arguments.names or certs.DEFAULT_NAMES,
        days=certs.DEFAULT_DAYS if arguments.days is None else arguments.days,
        ca_days=certs.DEFAULT_CA_DAYS if arguments.ca_days is None else arguments.ca_days,
        force=arguments.force,
    )
    for path in issued.written:
        print(path)
    keys = {certs.CA_KEY, certs.KEY}
    files = [directory / name for name in (certs.CA_CERTIFICATE, certs.CA_KEY, certs.CERTIFICATE, certs.KEY)]
    warnings = dict.fromkeys(text for file in files for text in exposures(file, secret=file.name in keys))
    for text in warnings:
        print(f"draguard certs: warning: {text}", file=sys.stderr)
    print(f"valid until {issued.expires:%Y-%m-%d} for {', '.join(issued.names)}", file=sys.stderr)
    if issued.new_ca:
        print(
            f"the authority is new, valid until {issued.ca_expires:%Y-%m-%d}: "
            "`draguard certs --ca-bundle` prints caBundle for the webhook configurations",
            file=sys.stderr,
        )
    return 0
