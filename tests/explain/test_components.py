"""Texts of components are explained by the component that wrote them."""

from __future__ import annotations

import re

import pytest

from tests.command import draguard
from tests.rows import each_row
from webhook.explain.components import components
from webhook.explain.query import explain_answer

SCHEDULER = "kube-scheduler"
KUBELET = "kubelet"
CLAIMS = "resource claim controller of kube-controller-manager"
DEVICE_TAINTS = "device taint eviction controller of kube-controller-manager"
TAINTS = "taint eviction controller of kube-controller-manager"
WORKLOAD = "controller of the workload (ReplicaSet, StatefulSet, DaemonSet, Job)"
QUOTA = "ResourceQuota of the API server"
RBAC = "RBAC or the node authorizer of the API server"
WEBHOOK = "admission webhook"
PREPARE = "Failed to prepare dynamic resources: prepare dynamic resources: "

SAID = [
    # The scheduler's reasons, each once.
    ("0/1 nodes are available: 1 cannot allocate all claims. still not schedulable", [SCHEDULER], "draguard simulate"),
    (
        "0/1 nodes are available: request gpu: device class nvidia-gpu does not exist.",
        [SCHEDULER],
        "DeviceClass nvidia-gpu",
    ),
    ('pod "ml/p": ResourceClaim not created yet', [SCHEDULER], "FailedResourceClaimCreation"),
    ('resourceclaim "gpu" not found', [SCHEDULER], "ResourceClaim gpu, which is not in its namespace"),
    ('resourceclaim "gpu" is being deleted', [SCHEDULER], "deletionTimestamp"),
    ("ResourceClaim ml/gpu was not created for Pod ml/p (Pod is not owner)", [SCHEDULER], "another owner"),
    ("resourceclaim in use", [SCHEDULER], "256"),
    (
        "0/2 nodes are available: resource claim ml/gpu is in the process of being allocated.",
        [SCHEDULER],
        "another pod",
    ),
    ("0/1 nodes are available: 1 resourceclaim not available on the node.", [SCHEDULER], "allocated already"),
    (
        (
            'running "DynamicResources" filter plugin: claim ml/p, request r: asks for all devices, '
            "but resource pool a.io/p is "
            "currently being updated"
        ),
        [SCHEDULER],
        "pool a.io/p",
    ),
    ("0/1 nodes are available: 1 invalid resource pools were encountered.", [SCHEDULER], "contradict"),
    (
        (
            'running "DynamicResources" filter plugin: claim nfv/vfs: number of requested devices 40 '
            "exceeds the claim limit of 32"
        ),
        [SCHEDULER],
        "asks for 40 devices, and a claim can have 32",
    ),
    (
        (
            'running "DynamicResources" filter plugin: claim telco/nic: selector #0: CEL runtime '
            "error: no such key: ifName"
        ),
        [SCHEDULER],
        "has(device.attributes",
    ),
    ("no such key: health", [SCHEDULER], "has(device.attributes"),
    ('running "DynamicResources" filter plugin: class c: selector #0: CEL compile error: x', [SCHEDULER], "compile"),
    ('running "DynamicResources" filter plugin: node n: timed out trying to allocate devices', [SCHEDULER], "10 s"),
    ("waiting for binding conditions for device on node node-1", [SCHEDULER], "attached"),
    ("Normal  BindingConditionsPending  5s  default-scheduler  waiting for it", [SCHEDULER], "attached"),
    (
        (
            "0/1 nodes are available: resource claim a/b, request r: has subrequests, but the "
            "DRAPrioritizedList feature is "
            "disabled."
        ),
        [SCHEDULER],
        "`draguard explain DRAPrioritizedList`",
    ),
    ("0/1 nodes are available: 1 cannot schedule extended resource claim.", [SCHEDULER], "left over"),
    ("0/1 nodes are available: 1 cannot fit resource.", [SCHEDULER], "extendedResourceName"),
    ("Scheduling is blocked due to non-empty scheduling gates", [SCHEDULER], "schedulingGates"),
    ("pod group is unschedulable, waiting for minCount pods from a gang to be scheduled", [SCHEDULER], "PodGroup"),
    ("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.", [SCHEDULER], "not enough nvidia.com/gpu left"),
    ("2 node(s) had untolerated taint {a: b}", [SCHEDULER], "tolerations"),
    ("0/8 nodes are available: 1 node(s) were unschedulable.", [SCHEDULER], "cordoned"),
    ("6 node(s) didn't match Pod's node affinity/selector", [SCHEDULER], "nodeSelector"),
    ("Preempted by pod e1d4a232-d498 on node node-1", [SCHEDULER], "e1d4a232-d498 is its UID"),
    ("default-scheduler: preempting to accommodate a higher priority pod", [SCHEDULER], "higher priority"),
    ('running PreBind plugin "DynamicResources": nil or empty request mappings', [SCHEDULER], "draguard simulate"),
    (
        (
            'running PreBind plugin "DynamicResources": add reservation to claim a/b: '
            'ResourceClaim.resource.k8s.io "b" is '
            "invalid: status.reservedFor: Too many: 257: must have at most 256 items"
        ),
        [SCHEDULER, "API server"],
        "reserved for 256 pods",
    ),
    # kubelet's; a driver or device plugin that it quotes may say anything.
    (f"{PREPARE}DRA driver dra.net is not registered", [KUBELET], "no pod of driver dra.net has registered"),
    (
        (
            f"{PREPARE}failed to get gRPC client for driver a.io: plugin name a.io not found in "
            "the list of registered DRA plugins"
        ),
        [KUBELET],
        "no pod of driver a.io has registered",
    ),
    (
        "plugin dra.net not found in the list of registered DRA plugins or not connected",
        [KUBELET],
        "no pod of driver dra.net has registered",
    ),
    ("DRA driver dra.net is not registered", [KUBELET], "no pod of driver dra.net has registered"),
    (
        f"{PREPARE}pod gpu-debug (f9fceb93) is not allowed to use ResourceClaim gpu-x (99a2c050)",
        [KUBELET],
        "ResourceClaim gpu-x is not reserved for pod gpu-debug",
    ),
    (
        f"{PREPARE}pod gpu-debug(f9fceb93) is not allowed to use resource claim gpu-x(99a2c050)",
        [KUBELET],
        "ResourceClaim gpu-x is not reserved for pod gpu-debug",
    ),
    (
        (
            f"{PREPARE}failed to fetch ResourceClaim gpu-x referenced by pod gpu-debug: the server could not find the "
            "requested resource"
        ),
        [KUBELET, "API server"],
        "kubelet up to 1.33 asks for one of them",
    ),
    (
        "failed to fetch ResourceClaim gpu-x referenced by pod p: the server could not find the requested resource",
        [KUBELET, "API server"],
        "it cannot read ResourceClaim gpu-x",
    ),
    (
        (
            'Error creating: Pod "d-tz69j" is invalid: spec.resourceClaims[0]: Invalid value: {"Name":"demo"}: must '
            "specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        ),
        [WORKLOAD, "API server"],
        "moves it out of `source`",
    ),
    (
        (
            f'{PREPARE}NodePrepareResources failed for ResourceClaim c: Pod "p" is invalid: spec.x: 0/1 '
            f"nodes are available: "
            "cannot allocate all claims, DRA driver dra.net is not registered"
        ),
        [KUBELET],
        "refuses to prepare the devices of ResourceClaim c",
    ),
    ("NodePrepareResources failed for claim ml/c: no such device", [KUBELET], "devices of ResourceClaim ml/c"),
    (
        f"{PREPARE}NodePrepareResources: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
        [KUBELET],
        "did not answer in time",
    ),
    (f"{PREPARE}NodePrepareResources: rpc error: code = Unavailable desc = x", [KUBELET], "does not answer"),
    (f"{PREPARE}NodePrepareResources: something else", [KUBELET], "see the log of kubelet"),
    ("unprepare dynamic resources: NodeUnprepareResources failed", [KUBELET], "release devices"),
    (
        'unprepare dynamic resources: pod "default/virt-launcher": ResourceClaim not created yet',
        [KUBELET],
        "the driver is not the cause",
    ),
    (f"{PREPARE}old ResourceClaim with same name c and different UID u still exists", [KUBELET], "deleted by force"),
    (
        (
            f'{PREPARE}fetch ResourceClaim c: resourceclaims.resource.k8s.io "c" is forbidden: User '
            f'"system:node:n" cannot get '
            'resource "resourceclaims" in API group "resource.k8s.io" in the namespace "ml": no '
            "relationship found between "
            "node 'n' and this object"
        ),
        [KUBELET, RBAC],
        "node n may read only what its pods use",
    ),
    (f"{PREPARE}ResourceClaim ml/c was not created for pod ml/p (pod is not owner)", [KUBELET], "another owner"),
    (f"{PREPARE}ResourceClaim c: claim ml/c not allocated", [KUBELET], "spec.nodeName"),
    (
        (
            "Warning  UnexpectedAdmissionError  1s  kubelet  Allocate failed due to requested number of "
            "devices unavailable for "
            "nvidia.com/gpu. Requested: 2, Available: 1, which is unexpected"
        ),
        [KUBELET],
        "has 1 devices free, the pod wants 2",
    ),
    (
        (
            "Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy "
            "devices a.io/gpu"
        ),
        [KUBELET],
        "all devices of a.io/gpu are unhealthy",
    ),
    (
        (
            "Allocate failed due to previously allocated devices are no longer healthy; cannot allocate "
            "unhealthy devices a.io/b"
        ),
        [KUBELET],
        "is unhealthy now",
    ),
    ("Allocate failed due to cannot allocate unregistered device a.io/gpu", [KUBELET], "has registered a.io/gpu"),
    (
        "Allocate failed due to rpc error: code = Unknown desc = request for 'nvidia.com/gpu: 2' too large",
        [KUBELET],
        "a device plugin refused",
    ),
    (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 4000, used: 1000, capacity: 4000",
        [KUBELET],
        "wants 4000 cpu, and of 4000 on the node 1000 are used",
    ),
    ("Resources cannot be allocated with Topology locality", [KUBELET], "Topology Manager"),
    (
        'MountVolume.SetUp failed for volume "prompts" : configmap "prompts-v3" not found',
        [KUBELET],
        'configmap "prompts-v3"',
    ),
    ("Back-off restarting failed container main in pod cart_shop(c43a)", [KUBELET], "kubectl logs --previous"),
    ('Failed to pull image "a:1": failed to resolve reference "a:1": DRA driver x', [KUBELET], "imagePullSecrets"),
    ("containers with unready status: [main side]", [KUBELET], "not ready: main side"),
    # Controllers, and what the API server says to them.
    (
        (
            'PodResourceClaim gpu: resource claim template "single": '
            'resourceclaimtemplate.resource.k8s.io "single" not found'
        ),
        [CLAIMS],
        "ResourceClaimTemplate single, which is not in its namespace",
    ),
    (
        (
            'PodResourceClaim gpu: create ResourceClaim : resourceclaims.resource.k8s.io "n-gpu-6jcdq" '
            "is forbidden: exceeded "
            "quota: gpu-budget, requested: a.io.deviceclass.resource.k8s.io/devices=1, used: "
            "a.io.deviceclass.resource.k8s.io/devices=2, limited: a.io.deviceclass.resource.k8s.io/devices=2"
        ),
        [CLAIMS, QUOTA],
        "ResourceQuota gpu-budget",
    ),
    (
        (
            'PodResourceClaim gpus: create ResourceClaim : ResourceClaim.resource.k8s.io "d-zk54t" is invalid: '
            "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the "
            "`resource.kubernetes.io/admin-access: true` label on the containing namespace"
        ),
        [CLAIMS, "API server"],
        "kubectl label namespace",
    ),
    ("PodResourceClaim g: admin access is requested, but the feature is disabled", [CLAIMS], "DRAAdminAccess"),
    ("PodResourceClaim g: reserve claim ml/c for pod: Operation cannot be fulfilled", [CLAIMS], "reserve claim ml/c"),
    ("unsupported ReservedFor entry: {a b c d}", [CLAIMS], "not a pod"),
    ("Warning  FailedResourceClaimCreation  1s  resource_claim  something new", [CLAIMS], "tries again"),
    (
        "Warning  DeviceTaintManagerEviction  1s  device-taint-eviction-controller  Marking for deletion",
        [DEVICE_TAINTS],
        "NoExecute",
    ),
    ("Device Taint manager: deleting due to NoExecute taint", [DEVICE_TAINTS], "a device of the pod has a taint"),
    ("2 pods need to be evicted in 1 namespace.", [DEVICE_TAINTS], "that use its devices: 2 left"),
    (
        (
            "1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace "
            "if the effect was "
            "NoExecute."
        ),
        [DEVICE_TAINTS],
        "what NoExecute would evict: 1",
    ),
    ("Eviction only happens for the NoExecute effect.", [DEVICE_TAINTS], "leaves running ones alone"),
    ("DeviceTaintManagerEviction Cancelling deletion", [DEVICE_TAINTS], "the pod stays"),
    ("Marking for deletion", [DEVICE_TAINTS], "NoExecute"),
    ("Marking for deletion Pod ml/p", [TAINTS], "the pod's node has a taint"),
    (
        "TaintManagerEviction  1s  taint-eviction-controller  Marking for deletion Pod ml/p",
        [TAINTS],
        "the pod's node has a taint",
    ),
    ("Normal TaintManagerEviction Cancelling deletion of Pod ml/p", [TAINTS], "the pod stays"),
    (
        (
            'Error creating: pods "n-5548" is forbidden: exceeded quota: compute, requested: requests.cpu=4, used: '
            "requests.cpu=0, limited: requests.cpu=2"
        ),
        [WORKLOAD, QUOTA],
        (
            "ResourceQuota compute of the namespace is used up: requests.cpu=4 wanted, requests.cpu=0 used, "
            "requests.cpu=2 allowed"
        ),
    ),
    (
        "Error creating: insufficient quota to match these scopes: [{PriorityClass In [system-node-critical]}]",
        [WORKLOAD, QUOTA],
        "none here is: {PriorityClass In [system-node-critical]}",
    ),
    ('pods "p" is forbidden: insufficient quota to consume: cpu,memory', [QUOTA], "admits cpu,memory only where"),
    (
        "Error: internal error: unable to get claim info for ResourceClaim shared",
        [KUBELET],
        "kubelet has not prepared ResourceClaim shared for this pod",
    ),
    ("Job has reached the specified backoff limit", [WORKLOAD], "backoffLimit"),
    ("Warning  FailedCreate  1s  job-controller  something new", [WORKLOAD], "could not create a pod"),
    (
        'Error creating: pods "p" is forbidden: failed quota: q: must specify requests.cpu for: main',
        [WORKLOAD, QUOTA],
        "ResourceQuota q limits requests.cpu",
    ),
    (
        'Error creating: admission webhook "w.io" denied the request: no such pod',
        [WORKLOAD, WEBHOOK],
        "webhook w.io refuses",
    ),
    ('failed calling webhook "w.io": failed to call webhook: connection refused', [WEBHOOK], "failurePolicy is Fail"),
    ("status unknown for quota: q, resources: cpu", [QUOTA], "kubectl describe resourcequota"),
    (
        (
            "failed to generate spec: failed to inject CDI devices: unresolvable CDI devices "
            "k8s.gpu.nvidia.com/claim=a-gpu-0: "
            "unknown"
        ),
        ["container runtime"],
        "describes k8s.gpu.nvidia.com/claim=a-gpu-0",
    ),
    ("pod didn't trigger scale-up: 1 cannot allocate all claims", ["cluster-autoscaler"], "no node group"),
    (
        ("ValidatingAdmissionPolicy 'a' with binding 'b' denied request: 0/1 nodes are available: exceeded quota: x"),
        ["API server, for its policies"],
        "`draguard validate --policies POLICIES MANIFESTS`",
    ),
    (
        (
            'resourceclaims.resource.k8s.io is forbidden: User "jane" cannot create resource '
            '"resourceclaims" in API group '
            '"resource.k8s.io" in the namespace "ml"'
        ),
        [RBAC],
        'apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"], verbs: ["create"]',
    ),
]


def speakers(out: str) -> list[str]:
    return re.findall(r"^SAID BY: +(.*)", out, re.MULTILINE)


@each_row(("answer", "by", "says"), SAID)
def test_the_speaker_decides(answer: str, by: list[str], says: str) -> None:
    out = explain_answer(answer)
    assert speakers(out) == by
    assert says in " ".join(out.split())
    assert speakers(explain_answer(f'message: "{answer}"')) == by


def test_each_text_is_said() -> None:
    answers = [answer for answer, _, _ in SAID]
    sayings = [saying for each in components() for saying in each.sayings]
    assert [each.pattern.pattern for each in sayings if not any(map(each.pattern.search, answers))] == []


def test_all_reasons_of_the_scheduler_are_told() -> None:
    out = explain_answer("0/2 nodes are available: 1 Insufficient cpu, 1 cannot allocate all claims. no new claims")
    assert [line.split()[0] for line in out.splitlines() if line and line[0] != " "] == [
        "SAID",
        "MEANING:",
        "TRY:",
        "MEANING:",
        "TRY:",
    ]


def test_events_are_told_one_by_one() -> None:
    events = (
        "Events:\n  Type     Reason                         Age  From     Message\n  ----     ------  "
        "----  ----  -------\n"
        "  Warning  FailedScheduling  9s  default-scheduler  0/1 nodes are available: 1 cannot "
        "allocate\n    all claims.\n"
        f"  Warning  FailedPrepareDynamicResources  1s  kubelet  {PREPARE}DRA driver a.io is not registered\n"
        '3s  Warning  FailedCreate  job/x  Error creating: pods "x" is forbidden: exceeded quota: q, '
        "requested: pods=1, "
        "used: pods=1, limited: pods=1\n"
    )
    done = draguard("explain", "-", stdin=events.encode())
    assert (done.code, speakers(done.out)) == (0, [SCHEDULER, KUBELET, WORKLOAD, QUOTA])
    assert "constraint or counter" in " ".join(done.out.split())


def test_the_last_of_many_events_is_told_too() -> None:
    events = (
        "Events:\n" + "  Normal  Pulled  1s  kubelet  pulled\n" * 50 + f"  Warning  Failed  1s  kubelet  {PREPARE}x\n"
    )
    assert speakers(explain_answer(events)) == [KUBELET]


def test_a_pod_is_told_by_its_events() -> None:
    described = "Name: train\nStatus: Pending\n" + "x: y\n" * 2000
    described += "Events:\n  Warning  Failed  1s  kubelet  Error: ErrImagePull\n"
    assert speakers(draguard("explain", "-", stdin=described.encode()).out) == [KUBELET]


@pytest.mark.parametrize(
    ("reason", "by"),
    [
        ("UnexpectedAdmissionError", KUBELET),
        ("FailedResourceClaimCreation", CLAIMS),
        ("DeviceTaintManagerEviction", DEVICE_TAINTS),
    ],
)
def test_a_reason_is_told_by_its_name(reason: str, by: str) -> None:
    assert speakers(draguard("explain", reason).out) == [by]


def test_a_refusal_that_a_component_quotes_is_described_too() -> None:
    out = explain_answer('Error creating: Pod "p" is invalid: spec.nodeName: Forbidden: may not be changed')
    assert speakers(out) == [WORKLOAD]
    assert "FIELD:       spec.nodeName  <string>" in out
