{{- define "draguard.secretName" -}}
{{- if eq .Values.certificates.source "secret" -}}
{{ required "certificates.secret.name: name the Secret that holds the serving certificate" .Values.certificates.secret.name }}
{{- else -}}
{{ include "draguard.fullname" . }}-tls
{{- end -}}
{{- end -}}

{{- define "draguard.dnsNames" -}}
{{- $service := include "draguard.fullname" . -}}
- {{ $service }}.{{ .Release.Namespace }}.svc
- {{ $service }}.{{ .Release.Namespace }}.svc.cluster.local
{{- end -}}

{{- /*
The data of the generated Secret, as YAML: that in the cluster if there is any, else a new certificate.
Kept in the root context, since the Secret and both webhook configurations must agree on it.
*/ -}}
{{- define "draguard.generated" -}}
{{- if not (hasKey $ "draguardGenerated") -}}
{{- $found := lookup "v1" "Secret" .Release.Namespace (include "draguard.secretName" .) -}}
{{- $data := dict -}}
{{- if and $found (dig "data" "ca.crt" "" $found) -}}
{{- $data = pick $found.data "ca.crt" "tls.crt" "tls.key" -}}
{{- else -}}
{{- $days := int .Values.certificates.generated.days -}}
{{- $names := include "draguard.dnsNames" . | fromYamlArray -}}
{{- $ca := genCA (printf "%s-ca" (include "draguard.fullname" .)) $days -}}
{{- $pair := genSignedCert (first $names) nil $names $days $ca -}}
{{- $data = dict "ca.crt" (b64enc $ca.Cert) "tls.crt" (b64enc $pair.Cert) "tls.key" (b64enc $pair.Key) -}}
{{- end -}}
{{- $_ := set $ "draguardGenerated" (toYaml $data) -}}
{{- end -}}
{{- $.draguardGenerated -}}
{{- end -}}

{{- /* The caBundle of a webhook, base64; empty where cert-manager writes it. */ -}}
{{- define "draguard.caBundle" -}}
{{- if eq .Values.certificates.source "generated" -}}
{{ get (include "draguard.generated" . | fromYaml) "ca.crt" }}
{{- else if eq .Values.certificates.source "secret" -}}
{{ required "certificates.secret.caBundle: give the authority's certificate, --set-file certificates.secret.caBundle=ca.crt" .Values.certificates.secret.caBundle | b64enc }}
{{- end -}}
{{- end -}}
