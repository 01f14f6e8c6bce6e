{{- /* What webhook configurations need in their metadata. */ -}}
{{- define "draguard.configuration" -}}
{{- if semverCompare "<1.28.0-0" .Capabilities.KubeVersion.Version }}
{{- fail "draguard needs Kubernetes 1.28 or later: earlier API servers drop matchConditions, and would send it every pod" }}
{{- end -}}
{{- $own := deepCopy (default dict .Values.webhooks.annotations) -}}
{{- if eq .Values.certificates.source "cert-manager" -}}
{{- $_ := set $own "cert-manager.io/inject-ca-from" (printf "%s/%s" .Release.Namespace (include "draguard.fullname" .)) -}}
{{- end -}}
name: {{ include "draguard.fullname" . }}
labels:
  {{- include "draguard.labelsWith" (list (include "draguard.labels" .) .Values.webhooks.labels) | nindent 2 }}
{{- with include "draguard.annotations" (list . $own) }}
{{ . }}
{{- end }}
{{- end -}}

{{- /* A webhook's failurePolicy. While nothing is to be refused, nothing is refused for want of an answer. Takes: root, name. */ -}}
{{- define "draguard.failurePolicy" -}}
{{- $values := (first .).Values -}}
{{- default (ternary "Fail" "Ignore" (eq $values.enforce.mode "deny")) (get $values.webhooks (last .)).failurePolicy -}}
{{- end -}}

{{- /*
What every webhook has. Its name is fully qualified; the audit log's annotations begin with it.
Its path lets draguard answer by the webhook's own failurePolicy if answering fails.
Takes: root, name (below `webhooks` in the values), path, conditions (a list, before those of the values).
*/ -}}
{{- define "draguard.webhook" -}}
{{- $webhooks := .root.Values.webhooks -}}
{{- $own := get $webhooks .name -}}
{{- $failurePolicy := include "draguard.failurePolicy" (list .root .name) -}}
name: {{ .name }}.draguard.github.io
admissionReviewVersions: [v1]
sideEffects: None
clientConfig:
  service:
    name: {{ include "draguard.fullname" .root }}
    namespace: {{ .root.Release.Namespace }}
    port: {{ .root.Values.service.port }}
    path: {{ .path }}/{{ lower $failurePolicy }}
  {{- with include "draguard.caBundle" .root }}
  caBundle: {{ . }}
  {{- end }}
failurePolicy: {{ $failurePolicy }}
timeoutSeconds: {{ $webhooks.timeoutSeconds }}
matchPolicy: {{ $webhooks.matchPolicy }}
namespaceSelector:
  matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values:
    {{- append (default list $webhooks.exemptNamespaces) .root.Release.Namespace | uniq | toYaml | nindent 4 }}
  {{- with $webhooks.exemptNamespaceLabel }}
  - key: {{ quote . }}
    operator: DoesNotExist
  {{- end }}
  {{- with $webhooks.namespaceMatchExpressions }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
matchConditions:
{{- concat .conditions $own.matchConditions | toYaml | nindent 0 }}
{{- end -}}

{{- /*
Match conditions: they are evaluated in the API server, and must not fail for any object of the kinds they see.
Optional fields (`object.?spec`) would be shorter, but are only usable from Kubernetes 1.29 on.
*/ -}}

{{- define "draguard.conditions.changed" -}}
# What is being deleted must be able to lose its finalizers, whatever is wrong with it. But anybody who may write an object
# may give it a finalizer and delete it, so that it stays: then every other change is judged like any update. On a create
# a deletionTimestamp means nothing. Takes: the fields that this webhook does not look at, a list in CEL.
- name: changes-more-than-finalizers
  expression: >-
    oldObject == null || !has(oldObject.metadata.deletionTimestamp)
    || object.exists(field, !(field in {{ . }}) && (!(field in oldObject) || object[field] != oldObject[field]))
    || oldObject.exists(field, !(field in {{ . }}) && !(field in object))
    || (has(object.metadata.labels) ? object.metadata.labels : {})
    != (has(oldObject.metadata.labels) ? oldObject.metadata.labels : {})
    || (has(object.metadata.annotations) ? object.metadata.annotations : {})
    != (has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {})
{{- end -}}

{{- define "draguard.conditions.claims" -}}
- name: uses-resource-claims
  expression: has(object.spec) && has(object.spec.resourceClaims) && size(object.spec.resourceClaims) > 0
{{- end -}}

{{- define "draguard.conditions.templates" -}}
- name: template-uses-resource-claims
  expression: >-
    has(object.spec) && has(object.spec.template) && has(object.spec.template.spec)
    && has(object.spec.template.spec.resourceClaims) && size(object.spec.template.spec.resourceClaims) > 0
    || has(object.spec) && has(object.spec.jobTemplate) && has(object.spec.jobTemplate.spec)
    && has(object.spec.jobTemplate.spec.template) && has(object.spec.jobTemplate.spec.template.spec)
    && has(object.spec.jobTemplate.spec.template.spec.resourceClaims)
    && size(object.spec.jobTemplate.spec.template.spec.resourceClaims) > 0
    || has(object.template) && has(object.template.spec)
    && has(object.template.spec.resourceClaims) && size(object.template.spec.resourceClaims) > 0
{{- end -}}

{{- define "draguard.conditions.prescheduled" -}}
- name: names-its-node
  expression: has(object.spec) && has(object.spec.nodeName) && object.spec.nodeName != ""
# Kubelets show the static pods that they run, on their own node; nothing in the pod itself proves that it is one of them.
- name: not-from-its-own-node
  expression: >-
    !(has(request.userInfo.groups) && "system:nodes" in request.userInfo.groups
    && has(request.userInfo.username) && has(object.spec) && has(object.spec.nodeName)
    && request.userInfo.username == "system:node:" + object.spec.nodeName)
{{- if eq .Values.serve.pods "claims" }}
{{ include "draguard.conditions.claims" . }}
{{- end }}
{{- end -}}

{{- /* Creates and updates of DRA's kinds, in every version: an object is judged in the one that it was written in. */ -}}
{{- define "draguard.rules.resources" -}}
- apiGroups: [resource.k8s.io]
  apiVersions: [v1, v1beta2, v1beta1, v1alpha3, v1alpha2]
  resources: [resourceclaims, resourceclaimtemplates, resourceslices]
  operations: [CREATE, UPDATE]
  scope: "*"
- apiGroups: [resource.k8s.io]
  apiVersions: [v1, v1beta2, v1beta1, v1alpha3]
  resources: [deviceclasses]
  operations: [CREATE, UPDATE]
  scope: Cluster
- apiGroups: [resource.k8s.io]
  apiVersions: [v1, v1beta2, v1alpha3]
  resources: [devicetaintrules]
  operations: [CREATE, UPDATE]
  scope: Cluster
- apiGroups: [resource.k8s.io]
  apiVersions: [v1alpha3]
  resources: [resourcepoolstatusrequests]
  operations: [CREATE, UPDATE]
  scope: Cluster
- apiGroups: [resource.k8s.io]
  apiVersions: [v1alpha3, v1alpha2]
  resources: [podschedulingcontexts]
  operations: [CREATE, UPDATE]
  scope: Namespaced
- apiGroups: [resource.k8s.io]
  apiVersions: [v1alpha2]
  resources: [resourceclasses, resourceclaimparameters, resourceclassparameters]
  operations: [CREATE, UPDATE]
  scope: "*"
{{- end -}}
