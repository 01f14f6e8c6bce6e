"""The fields of DRA objects, with how lists and maps merge.

Facts of the OpenAPI schemas that kube-apiserver publishes (k8s.io/api ``resource``), with the fields of all releases.
See :mod:`webhook.policy.schemas` for the notation.
"""

from typing import Final

TYPES: Final = """
ResourceClaim: apiVersion=s kind=s metadata=ObjectMeta spec=ResourceClaimSpec status=ResourceClaimStatus
ResourceClaimTemplate: apiVersion=s kind=s metadata=ObjectMeta spec=ResourceClaimTemplateSpec
ResourceClaimTemplateSpec: metadata=ObjectMeta spec=ResourceClaimSpec
ResourceClaimSpec: devices=DeviceClaim
DeviceClaim: config=[DeviceClaimConfiguration] constraints=[DeviceConstraint] requests=[DeviceRequest]
DeviceRequest: exactly=ExactDeviceRequest firstAvailable=[DeviceSubRequest] name=s
ExactDeviceRequest: adminAccess=b allocationMode=s capacity=CapacityRequirements count=i deviceClassName=s
  selectors=[DeviceSelector] tolerations=[DeviceToleration]
DeviceSubRequest: allocationMode=s capacity=CapacityRequirements count=i deviceClassName=s name=s
  selectors=[DeviceSelector] tolerations=[DeviceToleration]
CapacityRequirements: requests={q}
DeviceSelector: cel=CELDeviceSelector
CELDeviceSelector: expression=s
DeviceToleration: effect=s key=s operator=s tolerationSeconds=i value=s
DeviceConstraint: distinctAttribute=s matchAttribute=s requests=[s]
DeviceClaimConfiguration: opaque=OpaqueDeviceConfiguration requests=[s]
DeviceAllocationConfiguration: opaque=OpaqueDeviceConfiguration requests=[s] source=s
OpaqueDeviceConfiguration: driver=s parameters=?
ResourceClaimStatus: allocation=AllocationResult devices=[AllocatedDeviceStatus]driver,device,pool,shareID
  reservedFor=[ResourceClaimConsumerReference]uid
AllocationResult: allocationTimestamp=t devices=DeviceAllocationResult nodeSelector=NodeSelector
DeviceAllocationResult: config=[DeviceAllocationConfiguration] results=[DeviceRequestAllocationResult]
DeviceRequestAllocationResult: adminAccess=b bindingConditions=[s] bindingFailureConditions=[s] consumedCapacity={q}
  device=s driver=s pool=s request=s shareID=s tolerations=[DeviceToleration]
AllocatedDeviceStatus: conditions=[Condition]type data=? device=s driver=s networkData=NetworkDeviceData pool=s
  shareID=s
NetworkDeviceData: hardwareAddress=s interfaceName=s ips=[s]
ResourceClaimConsumerReference: apiGroup=s name=s resource=s uid=s

DeviceClass: apiVersion=s kind=s metadata=ObjectMeta spec=DeviceClassSpec
DeviceClassSpec: config=[DeviceClassConfiguration] extendedResourceName=s selectors=[DeviceSelector]
DeviceClassConfiguration: opaque=OpaqueDeviceConfiguration

ResourceSlice: apiVersion=s kind=s metadata=ObjectMeta spec=ResourceSliceSpec
ResourceSliceSpec: allNodes=b devices=[Device] driver=s nodeName=s nodeSelector=NodeSelector perDeviceNodeSelection=b
  pool=ResourcePool sharedCounters=[CounterSet]
ResourcePool: generation=i name=s resourceSliceCount=i
CounterSet: counters={Counter} name=s
Counter: value=q
Device: allNodes=b allowMultipleAllocations=b attributes={DeviceAttribute} bindingConditions=[s]
  bindingFailureConditions=[s] bindsToNode=b capacity={DeviceCapacity} consumesCounters=[DeviceCounterConsumption]
  name=s nodeAllocatableResourceMappings={NodeAllocatableResourceMapping} nodeName=s nodeSelector=NodeSelector
  taints=[DeviceTaint]
DeviceAttribute: bool=b bools=[b] int=i ints=[i] string=s strings=[s] version=s versions=[s]
DeviceCapacity: requestPolicy=CapacityRequestPolicy value=q
CapacityRequestPolicy: default=q validRange=CapacityRequestPolicyRange validValues=[q]
CapacityRequestPolicyRange: max=q min=q step=q
DeviceCounterConsumption: counterSet=s counters={Counter}
NodeAllocatableResourceMapping: allocationMultiplier=q capacityKey=s
DeviceTaint: effect=s key=s timeAdded=t value=s

DeviceTaintRule: apiVersion=s kind=s metadata=ObjectMeta spec=DeviceTaintRuleSpec status=DeviceTaintRuleStatus
DeviceTaintRuleSpec: deviceSelector=DeviceTaintSelector taint=DeviceTaint
DeviceTaintSelector: device=s driver=s pool=s
DeviceTaintRuleStatus: conditions=[Condition]type
"""

V1BETA1: Final = """
DeviceRequest: adminAccess=b allocationMode=s capacity=CapacityRequirements count=i deviceClassName=s
  firstAvailable=[DeviceSubRequest] name=s selectors=[DeviceSelector] tolerations=[DeviceToleration]
Device: basic=BasicDevice name=s
BasicDevice: allNodes=b allowMultipleAllocations=b attributes={DeviceAttribute} bindingConditions=[s]
  bindingFailureConditions=[s] bindsToNode=b capacity={DeviceCapacity} consumesCounters=[DeviceCounterConsumption]
  nodeAllocatableResourceMappings={NodeAllocatableResourceMapping} nodeName=s nodeSelector=NodeSelector
  taints=[DeviceTaint]
"""

KINDS: Final = {
    "resource.k8s.io/v1": "ResourceClaim ResourceClaimTemplate DeviceClass ResourceSlice",
    "resource.k8s.io/v1beta2": "ResourceClaim ResourceClaimTemplate DeviceClass ResourceSlice DeviceTaintRule",
    "resource.k8s.io/v1beta1": "ResourceClaim ResourceClaimTemplate DeviceClass ResourceSlice",
}
