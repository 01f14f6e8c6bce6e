"""Claims of older versions, and the same in v1."""

from webhook.documents import Document, parse
from webhook.migration import Migrated, MigrationTarget, migrate
from webhook.release import Release

FLAT = """\
# Above all.
apiVersion: "resource.k8s.io/v1beta1"  # the version
kind: ResourceClaim
metadata: {name: "a"}   # the name

spec:
    devices:
        requests:
        # Of the first.
        - name: gpu # its name
          # Of the class.
          deviceClassName: 'gpu.example.com'

          selectors:
          - cel:
              expression: |
                # no comment
                device.driver == "gpu.example.com"

          # commented: out
          count: 2
          # Of the first, too.
        # Of the second.
        - {name: small, deviceClassName: gpu.example.com} # in braces
"""
EXACT = """\
# Above all.
apiVersion: "resource.k8s.io/v1"  # the version
kind: ResourceClaim
metadata: {name: "a"}   # the name

spec:
    devices:
        requests:
        # Of the first.
        - name: gpu # its name
          exactly:
              # Of the class.
              deviceClassName: 'gpu.example.com'

              selectors:
              - cel:
                  expression: |
                    # no comment
                    device.driver == "gpu.example.com"

              # commented: out
              count: 2
              # Of the first, too.
        # Of the second.
        - {name: small, exactly: {deviceClassName: gpu.example.com}} # in braces
"""


def migrated(text: str, version: str = "", *releases: int) -> Migrated:
    """Convert a text whose objects can all be read."""
    documents = [each for each in parse(text, "x.yaml") if isinstance(each, Document)]
    (file,) = migrate(documents, MigrationTarget(version, [Release(each) for each in releases]))
    return file


def converted(text: str, version: str = "", *releases: int) -> str:
    return migrated(text, version, *releases).after


CLASSIC = """\
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClass
metadata: {name: gpu}
# The driver.
driverName: gpu.example.com # of the vendor
---
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClaimTemplate
metadata: {name: t}
spec:
  metadata: {labels: {a: b}}
  spec:
    resourceClassName: gpu # class
    allocationMode: WaitForFirstConsumer
---
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClaim
metadata: {name: c}
spec:
  resourceClassName: gpu
  allocationMode: Immediate
  parametersRef: {kind: P, name: p}  # parameters
---
apiVersion: resource.k8s.io/v1alpha2
kind: PodSchedulingContext
metadata: {name: p}
---
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClass
metadata: {name: q}
driverName: d
parametersRef: {kind: P, name: p}
suitableNodes: {nodeSelectorTerms: []}
"""
