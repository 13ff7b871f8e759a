{{- define "toolsearch.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Short enough that what is added to it still fits into 63 characters. */}}
{{- define "toolsearch.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains (include "toolsearch.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "toolsearch.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "toolsearch.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "toolsearch.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Called with the context and a component: what pods are selected by, for ever. */}}
{{- define "toolsearch.selector" -}}
app.kubernetes.io/name: {{ include "toolsearch.name" .context }}
app.kubernetes.io/instance: {{ .context.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Without versions: pods would roll for a chart that only differs in its texts. */}}
{{- define "toolsearch.podLabels" -}}
{{ include "toolsearch.selector" . }}
app.kubernetes.io/part-of: toolsearch
{{- with .context.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "toolsearch.labels" -}}
{{ include "toolsearch.podLabels" . }}
app.kubernetes.io/version: {{ .context.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .context.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .context.Chart.Name .context.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Called with the context, a component, a name's ending, and annotations of this object. */}}
{{- define "toolsearch.metadata" -}}
metadata:
  name: {{ include "toolsearch.fullname" .context }}{{ .suffix }}
  namespace: {{ .context.Release.Namespace }}
  labels:
    {{- include "toolsearch.labels" . | nindent 4 }}
    {{- with .labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with merge (dict) (default (dict) .annotations) .context.Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "toolsearch.image" -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag }}
{{- end -}}
{{- end -}}

{{- define "toolsearch.serverImage" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{- include "toolsearch.image" (dict "repository" .Values.image.repository "tag" $tag "digest" .Values.image.digest) -}}
{{- end -}}

{{- define "toolsearch.keysSecret" -}}
{{- if .Values.auth.keys.existingSecret -}}
{{ .Values.auth.keys.existingSecret }}
{{- else if .Values.auth.generateKey -}}
{{ include "toolsearch.fullname" . }}-trial
{{- else if not .Values.auth.jwt.issuer -}}
{{ include "toolsearch.fullname" . }}-keys
{{- end -}}
{{- end -}}

{{- define "toolsearch.keysKey" -}}
{{- if and .Values.auth.generateKey (not .Values.auth.keys.existingSecret) -}}
keys.json
{{- else -}}
{{ .Values.auth.keys.key }}
{{- end -}}
{{- end -}}

{{- define "toolsearch.tlsSecret" -}}
{{- if .Values.tls.certManager.enabled -}}
{{ default (printf "%s-tls" (include "toolsearch.fullname" .)) .Values.tls.existingSecret }}
{{- else -}}
{{ .Values.tls.existingSecret }}
{{- end -}}
{{- end -}}

{{- define "toolsearch.hasRedis" -}}
{{- if or .Values.redis.url .Values.redis.bundled.enabled }}true{{ end -}}
{{- end -}}

{{- define "toolsearch.mcpSecret" -}}
{{- default (printf "%s-mcp" (include "toolsearch.fullname" .)) .Values.watcher.existingSecret -}}
{{- end -}}

{{- define "toolsearch.mcpKey" -}}
{{- ternary .Values.watcher.key "mcp.json" (not (empty .Values.watcher.existingSecret)) -}}
{{- end -}}

{{- define "toolsearch.testSecret" -}}
{{- if .Values.test.existingSecret -}}
{{ .Values.test.existingSecret }}
{{- else if .Values.auth.generateKey -}}
{{ include "toolsearch.fullname" . }}-trial
{{- end -}}
{{- end -}}

{{- define "toolsearch.testKey" -}}
{{- ternary .Values.test.key "api-key" (not (empty .Values.test.existingSecret)) -}}
{{- end -}}

{{- define "toolsearch.manyReplicas" -}}
{{- if .Values.autoscaling.enabled -}}
{{- if gt (int .Values.autoscaling.maxReplicas) 1 }}true{{ end -}}
{{- else if gt (int .Values.replicas) 1 -}}
true
{{- end -}}
{{- end -}}
