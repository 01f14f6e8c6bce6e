"""What the components of a cluster say about pods and claims, why, and what to do.

Texts are those of kubernetes/kubernetes, 1.26 to 1.37: pkg/scheduler/framework/plugins, pkg/kubelet/cm/dra,
pkg/kubelet/cm/devicemanager, pkg/kubelet/lifecycle, pkg/controller/resourceclaim, pkg/controller/devicetainteviction,
pkg/controller/tainteviction and apiserver/pkg/admission. A component is recognized by the first of its texts in an
answer; what it quotes of another one comes later.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from webhook.records import NamedTuple


class Saying(NamedTuple):
    """A text of a component.

    Args:
        pattern: Finds it. A group ``answer`` is the answer of another component that it quotes; a group ``quoted`` is
            a text that is not read any further.
        meaning: Why the component says it, with references to groups of the pattern.
        cure: What to do, likewise; empty if the quoted answer tells.
    """

    pattern: re.Pattern[str]
    meaning: str
    cure: str


class Component(NamedTuple):
    """A component of a cluster.

    Args:
        head: Finds what all its texts have in common, such as the reasons of its events.
        general: The meaning and the cure of a text that is not among its sayings; empty if nothing can be said of it.
    """

    name: str
    head: re.Pattern[str]
    general: Sequence[tuple[str, str]]
    sayings: Sequence[Saying]


def _sayings(*rows: tuple[str, str, str]) -> list[Saying]:
    return [Saying(re.compile(pattern), meaning, cure) for pattern, meaning, cure in rows]


_NAME: Final = r'"?([\w./-]+?)"?'
_WHY_PENDING: Final = "`draguard simulate --cluster CLUSTER` explains why the pod stays pending"
_SIMULATE: Final = "`draguard simulate --cluster CLUSTER` names"
_DRIVER_PODS: Final = "`kubectl get pods --all-namespaces --output wide --field-selector spec.nodeName=NODE`"
_DRIVER_LOG: Final = "see the log of the driver's pod on the node, found by " + _DRIVER_PODS

API_SERVER: Final = Component(
    "API server",
    re.compile(
        r'\b\w+(?:\.[\w.-]+)? "[^"]*" is invalid:\s|\b\w+ in version "[\w./-]+" cannot be handled as a |'
        r'no matches for kind "\w+" in version "'
    ),
    (),
    _sayings(
        (
            r"the server could not find the requested resource",
            (
                "the API server does not serve the API version that is asked for: those that are not v1 are off by "
                "default, and kubelet up to 1.33 asks for one of them"
            ),
            (
                "`kubectl api-versions` shows what is served: update kubelet (or the driver), or switch the version on "
                "by --runtime-config of kube-apiserver"
            ),
        ),
        (
            r"must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            (
                "an entry of spec.resourceClaims names neither a claim nor a template; up to 1.30 the names are below "
                "`source`, which newer API servers drop"
            ),
            "state one of them beside the entry's name; `draguard validate --fix MANIFESTS` moves it out of `source`",
        ),
        (
            r"status\.reservedFor: Too many: \d+",
            "a ResourceClaim can be reserved for 256 pods, and this one is",
            "use one claim per pod (a ResourceClaimTemplate), or a further claim",
        ),
        (
            r"adminAccess: Forbidden: admin access to devices requires the `([^`]+)` label",
            r"a claim asks for adminAccess, and its namespace has not the label \1",
            (
                r"`kubectl label namespace NAMESPACE resource.kubernetes.io/admin-access=true`, or leave out "
                r"adminAccess"
            ),
        ),
    ),
)
"""Its answers name fields."""

COMPONENTS: Final = (
    Component(
        "kube-scheduler",
        re.compile(
            r"\bFailedScheduling\b|\bBindingConditionsPending\b|\b\d+/\d+ nodes are available: |"
            r'\brunning "\w+" (?:pre)?filter plugin|\brunning \w+ plugin "\w+"|\bnode\(s\) |'
            r"\b(?:deallocation|deletion) of ResourceClaim completed"
        ),
        [("no node suits the pod, or an error ended the search", _WHY_PENDING)],
        _sayings(
            (
                r"add reservation to claim [^:]+: (?P<answer>.*)",
                "it allocated a claim, or found it allocated, and could not reserve it for the pod",
                "",
            ),
            (
                r"cannot allocate all claims",
                (
                    "a node's devices do not suit the claims: none matches, they are in use, tainted or too "
                    "few, or a "
                    "constraint or counter excludes them"
                ),
                f"{_SIMULATE} the first cause on each node, who holds the devices, and what would help",
            ),
            (
                rf"device class {_NAME} does not exist",
                (
                    r"a request names DeviceClass \1, which the cluster does not have; in firstAvailable, one "
                    r"such alternative "
                    "blocks the pod"
                ),
                "correct the name (`kubectl get deviceclasses`), or install the driver that brings the class",
            ),
            (
                r"ResourceClaim not created yet",
                "no claim has been made from the pod's ResourceClaimTemplate",
                (
                    "see the pod's events for FailedResourceClaimCreation, which has the reason: the "
                    "template is missing, a "
                    "quota is used up, or the API server refuses the claim"
                ),
            ),
            (
                rf"resourceclaim {_NAME} not found",
                r"the pod names ResourceClaim \1, which is not in its namespace",
                "create it there before the pod, or name a ResourceClaimTemplate instead",
            ),
            (
                rf"resourceclaim {_NAME} is being deleted",
                r"ResourceClaim \1 has a deletionTimestamp, and may not be used by further pods",
                "wait until the pods that use it have ended, then create it again",
            ),
            (
                r"ResourceClaim (\S+) was not created for [Pp]od (\S+) \(\w+ is not owner\)",
                r"ResourceClaim \1 has the name of the pod's claim, and another owner",
                "delete or rename that claim: the pod's own is made then",
            ),
            (
                r"resourceclaim in use",
                "the claim is reserved for 256 pods, which is the limit, or for another consumer",
                "use one claim per pod (a ResourceClaimTemplate), or a further claim",
            ),
            (
                r"(?i)resource ?claim (\S+) is in the process of being allocated",
                r"another pod that shares ResourceClaim \1 is being scheduled",
                "wait a few seconds; if it lasts, see why that pod is not bound",
            ),
            (
                r"resourceclaim not available on the node",
                (
                    "the claim is allocated already, with devices that this node cannot reach, or whose "
                    "binding conditions "
                    "failed"
                ),
                f"{_SIMULATE} the claim, its node, and the pods that keep it there",
            ),
            (
                r"asks for all devices, but resource pool (\S+) is (currently being updated|invalid)",
                (
                    r"a request with allocationMode All needs pool \1 as a whole; slices of it are missing or "
                    r"contradict each other"
                ),
                (
                    "wait for the driver to publish the pool; `draguard validate --cluster CLUSTER` says "
                    "what is wrong with it"
                ),
            ),
            (
                r"invalid resource pools were encountered",
                ("slices of a pool contradict each other: a device's name is used twice, or a counter set is missing"),
                "`draguard validate --cluster CLUSTER` says which: it is the driver's to mend",
            ),
            (
                r"number of requested devices (\d+) exceeds the claim limit of (\d+)",
                r"the claim asks for \1 devices, and a claim can have \2",
                "split it into several claims",
            ),
            (
                r"CEL runtime error(?:: no such key: ([\w./-]+))?",
                (
                    "a selector of the claim or its class fails on a device, which ends the search on all "
                    "nodes, also on those "
                    "that would do"
                ),
                (
                    "guard the attribute: has(device.attributes['DOMAIN'].NAME) && …; "
                    "`draguard match --cluster CLUSTER MANIFESTS` names the devices"
                ),
            ),
            (
                r"CEL compile error",
                "a selector of the claim or its class does not compile in this release",
                "`draguard validate --kubernetes-version RELEASE MANIFESTS` shows where",
            ),
            (
                r"timed out trying to allocate",
                "the search for devices took longer than 10 s on a node",
                "ask for fewer devices per claim, with narrower selectors and fewer constraints",
            ),
            (
                r"waiting for binding conditions|\bBindingConditionsPending\b|binding conditions",
                ("devices are allocated, and the driver has not yet confirmed that they are attached to the node"),
                (
                    f"{_SIMULATE} the device, the condition and the time left; the log of the driver's "
                    f"controller has the cause"
                ),
            ),
            (
                r"the (\w+) feature (?:gate )?is disabled",
                r"the claim needs feature gate \1, which is off in the scheduler",
                r"`draguard explain \1` says when it is on; enable it in kube-scheduler, too",
            ),
            (
                r"cannot schedule extended resource claim",
                "the claim that was made for the pod's extended resources is left over from an earlier attempt",
                ("wait; if it stays, delete that claim (annotation resource.kubernetes.io/extended-resource-claim)"),
            ),
            (
                r"cannot fit resource",
                "neither the node nor a DeviceClass offers the extended resource",
                "see spec.extendedResourceName of the DeviceClasses, and status.allocatable of the nodes",
            ),
            (
                r"(?i)scheduling is blocked due to non-empty scheduling gates|\bSchedulingGated\b",
                "the pod has spec.schedulingGates, and is not looked at until they are removed",
                "find the controller that set the gate: Kueue, or an autoscaler of the driver",
            ),
            (
                r"pod group is unschedulable|waiting for minCount pods from a gang",
                "the pods of a PodGroup are bound together, and one of them found no node",
                f"{_SIMULATE} the pod that finds none, and why: it need not be this one",
            ),
            (
                r"\bInsufficient ([\w./-]*\w)",
                (
                    r"a node has not enough \1 left; a resource such as nvidia.com/gpu comes from a device "
                    r"plugin, or from a "
                    "DeviceClass with that extendedResourceName"
                ),
                f"{_SIMULATE} what is free on each node; a node that has devices may lack something else",
            ),
            (
                r"node\(s\) had (?:un\w+ )?taint",
                "nodes have taints that the pod does not tolerate",
                (
                    "add tolerations to the pod, or remove the taints; devices have taints, too, and claims "
                    "tolerate those"
                ),
            ),
            (
                r"node\(s\) didn't match [Pp]od's node affinity",
                "the labels of nodes do not match nodeSelector or nodeAffinity of the pod",
                f"{_SIMULATE} the label that differs",
            ),
            (
                r"node\(s\) were unschedulable",
                "nodes are cordoned",
                "`kubectl uncordon NODE`, once the reason is gone",
            ),
            (
                r"\bPreempted by pod (\S+)",
                r"a pod with a higher priority took the place; \1 is its UID",
                ("give the workload a higher priority, or the cluster more room; devices alone never cause preemption"),
            ),
            (
                r"preempting to accommodate a higher priority pod",
                "a pod with a higher priority took the place",
                ("give the workload a higher priority, or the cluster more room; devices alone never cause preemption"),
            ),
        ),
    ),
    Component(
        "kubelet",
        re.compile(
            r"\bFailed(?:Un)?[pP]repareDynamicResources\b|"
            r"(?i:\b(?:un)?prepare dynamic resources\b)|\bUnexpectedAdmissionError\b|"
            r"\bunable to get claim info for ResourceClaim\b|"
            r"\bOutOf[\w./-]+|\bTopologyAffinityError\b|\bNode(?:Un)?[pP]repareResources\b|"
            r"\bPod was rejected: |\bFailedMount\b|\bMountVolume\.\w+ failed|\b[Bb]ack-off |"
            r"\bErrImagePull\b|\bImagePullBackOff\b|\bFailed to pull image\b|\bcontainers with unready status: "
        ),
        [
            (
                "it does not start the pod, which is bound to its node",
                "see the log of kubelet on that node, and of the driver's pod there",
            )
        ],
        _sayings(
            (
                (
                    rf"(?:DRA driver|plugin(?: name)?) {_NAME} "
                    r"(?:is not registered|not found in the list of registered DRA plugins)"  # before 1.34
                ),
                (
                    r"no pod of driver \1 has registered with kubelet on the pod's node: it is not there, not "
                    r"ready, or restarting"
                ),
                (
                    f"see whether the driver's DaemonSet has a pod on the node, by {_DRIVER_PODS}: node "
                    f"selector, taints, crashes; "
                    "kubelet tries again by itself"
                ),
            ),
            (
                rf"pod {_NAME} ?\(\S+\) is not allowed to use (?:ResourceClaim|resource claim) {_NAME} ?\(",
                (
                    r"ResourceClaim \2 is not reserved for pod \1: the pod has spec.nodeName set, so that the "
                    r"scheduler never saw "
                    "it, or the claim was released"
                ),
                "remove spec.nodeName (use nodeSelector or affinity), and create the pod again",
            ),
            (
                r"NodePrepareResources failed for (?:ResourceClaim|claim) (\S+?): (?P<quoted>.*)",
                (
                    r"the DRA driver refuses to prepare the devices of ResourceClaim \1, in its own words: "
                    r"often a parameter in "
                    "`opaque` that it does not take, or a device that is gone"
                ),
                "`draguard validate` checks the parameters of known drivers; else " + _DRIVER_LOG,
            ),
            (
                r"NodePrepareResources:? .*\bDeadlineExceeded\b",
                (
                    "the DRA driver did not answer in time; drivers that wait for other nodes, such as for a "
                    "ComputeDomain, say this "
                    "until those are ready"
                ),
                _DRIVER_LOG,
            ),
            (
                r"NodePrepareResources:? .*\bcode = Unavailable\b|NodePrepareResources:? .*connection refused",
                "the DRA driver is registered, and its socket does not answer: it is restarting or has crashed",
                _DRIVER_LOG,
            ),
            (
                r"unprepare dynamic resources: pod \S+: ResourceClaim not created yet",
                (
                    "kubelet finds no claim in the pod's status, and so releases nothing; the pod stays Terminating, "
                    "and the driver is not the cause"
                ),
                "update kubelet: 1.36.0 is known to say this of pods whose devices were never all prepared",
            ),
            (
                r"unprepare dynamic resources: (?P<quoted>.*)",
                (
                    "the DRA driver fails to release devices of a pod that has ended; the pod stays "
                    "Terminating until it does"
                ),
                _DRIVER_LOG,
            ),
            (
                r"unable to get claim info for ResourceClaim ([\w.-]*\w)",
                (
                    r"kubelet has not prepared ResourceClaim \1 for this pod, which may be its own fault: where "
                    "another pod of the node uses one of several claims, it forgets the others (kubernetes#135901)"
                ),
                "start the pod that uses all of these claims first, or give it claims of its own from a template",
            ),
            (
                r"old ResourceClaim with same name (\S+)",
                r"a claim named \1 was deleted by force and made again, and kubelet still has the old one",
                ("wait until the old pod has ended on the node; give the new claim another name if it never does"),
            ),
            (
                r"fetch ResourceClaim (\S+?)(?: referenced by pod \S+?)?: (?P<answer>.*)",
                r"it cannot read ResourceClaim \1",
                "a claim that is gone was deleted while its pod waited: create the pod again",
            ),
            (
                r"ResourceClaim (\S+) was not created for [Pp]od (\S+) \(\w+ is not owner\)",
                r"ResourceClaim \1 has the name of the pod's claim, and another owner",
                "delete or rename that claim: the pod's own is made then",
            ),
            (
                r"ResourceClaim \S+: (?:claim \S+ )?not allocated",
                "the claim has no devices, as the pod has spec.nodeName set, or the claim was released",
                "remove spec.nodeName (use nodeSelector or affinity), and create the pod again",
            ),
            (
                (
                    r"(?:Allocate failed due to )?requested number of devices unavailable for ([\w./-]+)\. "
                    r"Requested: (\d+), Available: (\d+)"
                ),
                (
                    r"the device plugin of \1 has \3 devices free, the pod wants \2: the plugin restarted, a "
                    r"device became "
                    "unhealthy, or something else took it after the pod was scheduled"
                ),
                (
                    "create the pod again (its controller does so); do not offer devices by DRA and by a "
                    "device plugin at once"
                ),
            ),
            (
                (
                    r"(?:Allocate failed due to )?no healthy devices present; cannot allocate unhealthy "
                    r"devices ([\w./-]+)"
                ),
                (
                    r"all devices of \1 are unhealthy, or their device plugin has not registered since "
                    r"kubelet started"
                ),
                "see the log of the device plugin's pod on the node, and create the pod again",
            ),
            (
                r"(?:Allocate failed due to )?previously allocated devices are no longer healthy[^:]*",
                "a device that the pod has is unhealthy now, and its containers may not start again",
                "see the log of the device plugin's pod on the node, and create the pod again",
            ),
            (
                (
                    r"(?:Allocate failed due to )?(?:(?:can't|cannot) allocate unregistered device|Unknown "
                    r"Device Plugin) ([\w./-]+)"
                ),
                r"no device plugin has registered \1 on the node",
                "see whether the device plugin's pod runs there, and create the pod again",
            ),
            (
                r"Allocate failed due to (?P<quoted>.*)",
                "a device plugin refused to allocate, in its own words; the pod has failed for good",
                (
                    "see the log of the device plugin's pod on the node, and create the pod again (its "
                    "controller does so)"
                ),
            ),
            (
                r"Node didn't have enough resource: ([\w./-]+), requested: (\d+), used: (\d+), capacity: (\d+)",
                (
                    r"the pod wants \2 \1, and of \4 on the node \3 are used: it was bound without the "
                    r"scheduler, or the node changed "
                    "after that"
                ),
                "create the pod again (its controller does so), without spec.nodeName",
            ),
            (
                r"TopologyAffinityError|cannot be allocated with Topology locality",
                (
                    "the node's Topology Manager finds no NUMA node with all resources; it does not know of "
                    "devices by DRA"
                ),
                ("ask for fewer resources, use a matchAttribute constraint for devices, or relax the node's policy"),
            ),
            (
                r"\b[Bb]ack-off (?:\S+ )?restarting failed container",
                "a container ended with an error again and again; its devices are there",
                "`kubectl logs --previous POD` shows its last words",
            ),
            (
                r"Failed to pull image (?P<quoted>.*)|\bErrImagePull\b|\bImagePullBackOff\b|Back-off pulling image",
                "the image of a container cannot be pulled; nothing is wrong with the devices",
                "correct its name and tag, or give the pod imagePullSecrets",
            ),
            (
                r"containers with unready status: \[([^\]]*)\]",
                r"containers are not ready: \1",
                "their state and the pod's events tell why: `kubectl describe pod POD`",
            ),
            (
                r'MountVolume\.SetUp failed for volume "([^"]+)" : (\w+) "([^"]+)" not found',
                (
                    r'volume \1 of the pod is from \2 "\3", which is not in its namespace; nothing is wrong '
                    r"with the devices"
                ),
                "create it: kubelet tries again by itself",
            ),
        ),
    ),
    Component(
        "resource claim controller of kube-controller-manager",
        re.compile(r"\bFailedResourceClaimCreation\b|\bPodResourceClaim [\w.-]+: "),
        [
            (
                "it could not make a claim for the pod, which stays pending without a word of the scheduler",
                "it tries again by itself, once the cause is gone",
            )
        ],
        _sayings(
            (
                rf'resource claim template "([^"]+)": [\w.]+ {_NAME} not found',
                r"the pod names ResourceClaimTemplate \1, which is not in its namespace",
                "create it there, or correct the name; the claim is made by itself then",
            ),
            (
                r"create ResourceClaim ?\S*: (?P<answer>.*)",
                "it could not make the pod's claim from its ResourceClaimTemplate",
                "",
            ),
            (
                r"admin access is requested, but the feature is disabled",
                "the ResourceClaimTemplate asks for adminAccess, and feature gate DRAAdminAccess is off",
                "`draguard explain DRAAdminAccess` says when it is on",
            ),
            (
                r"reserve claim (\S+) for pod: (?P<answer>.*)",
                r"it could not reserve claim \1 for a pod with spec.nodeName",
                "",
            ),
            (
                r"unsupported ReservedFor entry",
                "status.reservedFor of the claim names an object that is not a pod, which it never removes",
                "the controller that wrote the entry has to remove it",
            ),
        ),
    ),
    Component(
        "device taint eviction controller of kube-controller-manager",
        re.compile(
            r"\bDeviceTaintManagerEviction\b|\bDeletionByDeviceTaintManager\b|\bDevice Taint manager: |"
            r"\b(?:Marking for|Cancelling) deletion\W*\Z"
        ),
        [
            (
                (
                    "a device of the pod has a taint with effect NoExecute that the claim does not tolerate: "
                    "the pod is deleted"
                ),
                (
                    "see the taints of the device in its ResourceSlice, and the DeviceTaintRules; requests "
                    "have `tolerations`"
                ),
            )
        ],
        _sayings(
            (
                r"(\d+) pods? needs? to be evicted in",
                r"a DeviceTaintRule with effect NoExecute evicts the pods that use its devices: \1 left",
                "wait; claims whose requests tolerate the taint keep their pods",
            ),
            (
                r"(\d+) pods? would be evicted in",
                r"a DeviceTaintRule with effect None evicts nothing, and tells what NoExecute would evict: \1",
                "set effect NoExecute to evict them; make the rule anew to count again",
            ),
            (
                r"Eviction only happens for the NoExecute effect",
                "the effect of a DeviceTaintRule keeps new pods from its devices, and leaves running ones alone",
                "set effect NoExecute to evict them, too",
            ),
            (
                r"Cancelling deletion",
                "the taint of the pod's device is gone, or tolerated now: the pod stays",
                "nothing is to be done",
            ),
        ),
    ),
    Component(
        "taint eviction controller of kube-controller-manager",
        re.compile(
            r"\bTaintManagerEviction\b|\bDeletionByTaintManager\b|\bTaint manager: |"
            r"\b(?:Marking for deletion|Cancelling deletion of) Pod "
        ),
        [
            (
                ("the pod's node has a taint with effect NoExecute that the pod does not tolerate: the pod is deleted"),
                (
                    "`kubectl describe node NODE` shows the taint, such as node.kubernetes.io/unreachable; "
                    "pods have `tolerations`"
                ),
            )
        ],
        _sayings(
            (
                r"Cancelling deletion",
                "the taint of the pod's node is gone, or tolerated now: the pod stays",
                "nothing is to be done",
            ),
        ),
    ),
    Component(
        "controller of the workload (ReplicaSet, StatefulSet, DaemonSet, Job)",
        re.compile(r"\bFailedCreate\b|\bError creating: |\bcreate Pod \S+ in StatefulSet \S+ failed error: "),
        [("it could not create a pod", "it tries again by itself, once the cause is gone")],
        _sayings(
            (
                r"(?:Error creating|failed error): (?P<answer>.*)",
                "it could not create a pod; it tries again by itself, once the cause is gone",
                "",
            ),
            (
                r"Job has reached the specified backoff limit",
                "the Job's pods failed more often than spec.backoffLimit allows",
                "see the log and the status of its last pod",
            ),
        ),
    ),
    Component(
        "container runtime",
        re.compile(r"\bCDI devices?\b"),
        (),
        _sayings(
            (
                r"unresolvable CDI devices? ([^\s:\"']+)",
                (
                    r"no CDI specification on the node describes \1: the DRA driver has not written it, or "
                    r"writes it where the "
                    "runtime does not look"
                ),
                (
                    "compare the driver's cdi root with the runtime's (cdi_spec_dirs of containerd, /etc/cdi "
                    "and /var/run/cdi by "
                    "default), and see that CDI is on there"
                ),
            ),
        ),
    ),
    Component(
        "cluster-autoscaler",
        re.compile(r"\bNotTriggerScaleUp\b|\bpod didn't trigger scale-up\b"),
        [
            (
                (
                    "no node group would help the pod if it grew; of devices it knows only those of nodes "
                    "that are or were there"
                ),
                "keep a node of the group, so that its ResourceSlices are known; " + _WHY_PENDING,
            )
        ],
        _sayings(),
    ),
    Component(
        "ResourceQuota of the API server",
        re.compile(r"\b(?:exceeded|failed|status unknown for) quota: |\binsufficient quota to (?:match|consume)\b"),
        [
            (
                "a ResourceQuota of the namespace refuses it",
                "`kubectl describe resourcequota --namespace NAMESPACE` shows it",
            )
        ],
        _sayings(
            (
                r"exceeded quota: ([\w.-]+), requested: (\S+?), used: (\S+?), limited: ([\w./=,-]*\w)",
                r"ResourceQuota \1 of the namespace is used up: \2 wanted, \3 used, \4 allowed",
                (
                    "delete what is not needed any more (claims count until they are gone, whether they are "
                    "used or not), or raise "
                    r"spec.hard of ResourceQuota \1"
                ),
            ),
            (
                r"insufficient quota to match these scopes: \[(.+?)\](?!\})",
                r"kube-apiserver admits such pods only where a ResourceQuota is for them, and none here is: \1",
                (
                    "create a ResourceQuota in the namespace with that in spec.scopeSelector.matchExpressions, or give "
                    "the pods another priorityClassName"
                ),
            ),
            (
                r"insufficient quota to consume: ([\w./,-]*\w)",
                r"kube-apiserver admits \1 only where a ResourceQuota limits it, and none of the namespace does",
                r"create a ResourceQuota in the namespace with spec.hard for \1",
            ),
            (
                r"failed quota: ([\w.-]+): must specify ([^;]*?)(?= for: |;|$)",
                r"ResourceQuota \1 limits \2, so that each container has to state it",
                "state it in resources of each container, or give the namespace a LimitRange with defaults",
            ),
        ),
    ),
    Component(
        "API server, for its policies",
        re.compile(r"\b\w+AdmissionPolicy '?[\w.-]+'? with binding"),
        (),
        _sayings(
            (
                r"\b(\w+AdmissionPolicy) '?([\w.-]+)'? with binding(?P<quoted>.*)",
                r"\1 \2 of the cluster refuses the object, in the words of the policy",
                "`draguard validate --policies POLICIES MANIFESTS` shows the expression",
            ),
        ),
    ),
    Component(
        "RBAC or the node authorizer of the API server",
        re.compile(r'User "[^"]*" cannot '),
        (),
        _sayings(
            (
                r'User "system:node:([^"]+)" cannot \S+ resource .*no relationship found between node',
                r"node \1 may read only what its pods use, and none of them uses this object",
                "create the pod again; a claim has to be in the pod's spec or status",
            ),
            (
                r'User "([^"]*)" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"',
                r"no role of \1 allows it",
                r'give it a rule with apiGroups: ["\4"], resources: ["\3"], verbs: ["\2"]',
            ),
        ),
    ),
    Component(
        "admission webhook",
        re.compile(r'\badmission webhook "|\bfailed calling webhook "'),
        (),
        _sayings(
            (
                r'admission webhook "([^"]+)" denied the request(?:: (?P<answer>.*))?',
                r"webhook \1 refuses the object",
                "",
            ),
            (
                r'failed calling webhook "([^"]+)"(?P<quoted>.*)',
                r"the API server could not ask webhook \1, whose failurePolicy is Fail",
                "see whether its pods run, and whether its Service and caBundle are right",
            ),
        ),
    ),
    API_SERVER,
)
