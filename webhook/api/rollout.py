"""How workloads replace their pods, which draguard does not judge.

Facts of k8s.io/api ``apps/v1/types.go``. Read when the first of them is needed.
"""

from __future__ import annotations

from webhook.api.compact import struct
from webhook.api.values import IntOrString
from webhook.schema import Default, Int, Nested, Text

_ROLLING = Text(default="RollingUpdate")
_IF_ROLLING = Default({}, {"type": ("RollingUpdate",)})

DeploymentStrategy = struct(
    "DeploymentStrategy",
    type=_ROLLING,
    rollingUpdate=Nested(
        struct(
            "RollingUpdateDeployment",
            maxUnavailable=IntOrString(pointer=True, default="25%"),
            maxSurge=IntOrString(pointer=True, default="25%"),
        ),
        pointer=True,
        default=_IF_ROLLING,
    ),
)
DaemonSetUpdateStrategy = struct(
    "DaemonSetUpdateStrategy",
    type=_ROLLING,
    rollingUpdate=Nested(
        struct(
            "RollingUpdateDaemonSet",
            maxUnavailable=IntOrString(pointer=True, default=1),
            maxSurge=IntOrString(pointer=True, default=0),
        ),
        pointer=True,
        default=_IF_ROLLING,
    ),
)
StatefulSetUpdateStrategy = struct(
    "StatefulSetUpdateStrategy",
    type=_ROLLING,
    rollingUpdate=Nested(
        struct(
            "RollingUpdateStatefulSetStrategy",
            partition=Int(go="int32", pointer=True, default=0),
            maxUnavailable=IntOrString(pointer=True),
        ),
        pointer=True,
        default=_IF_ROLLING,
    ),
)
StatefulSetPersistentVolumeClaimRetentionPolicy = struct(
    "StatefulSetPersistentVolumeClaimRetentionPolicy",
    whenDeleted=Text(default="Retain"),
    whenScaled=Text(default="Retain"),
)
StatefulSetOrdinals = struct("StatefulSetOrdinals", start=Int(go="int32"))
