{{/* Parts of pods that the server, the watcher, the bundled Redis and the test share. */}}

{{- define "toolsearch.podSecurity" -}}
automountServiceAccountToken: false
{{- /* A Service named toolsearch would set variables that look like settings. */}}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  fsGroup: {{ .user }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{- define "toolsearch.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- define "toolsearch.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Values of a component that say where its pods may run. */}}
{{- define "toolsearch.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "toolsearch.spread" -}}
{{- range list (dict "key" "kubernetes.io/hostname") (dict "key" "topology.kubernetes.io/zone") }}
- maxSkew: 1
  topologyKey: {{ .key }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "toolsearch.selector" $ | nindent 6 }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end -}}

{{/* The store, for --store. Paths of files belong to the URL; credentials do not. */}}
{{- define "toolsearch.store" -}}
{{- if .Values.redis.bundled.enabled -}}
redis://{{ include "toolsearch.fullname" . }}-redis:6379
{{- else if .Values.redis.url -}}
{{- $url := .Values.redis.url -}}
{{- with .Values.redis.tls -}}
{{- if .existingSecret -}}
{{- $url = printf "%s%sca=/etc/toolsearch/redis/%s" $url (ternary "&" "?" (contains "?" $url)) .caKey -}}
{{- if .certificateKey -}}
{{- $url = printf "%s&certificate=/etc/toolsearch/redis/%s&key=/etc/toolsearch/redis/%s" $url .certificateKey .keyKey -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $url -}}
{{- else -}}
sqlite:/var/lib/toolsearch/toolsearch.db
{{- end -}}
{{- end -}}

{{- define "toolsearch.storeEnv" -}}
{{- if .Values.redis.bundled.enabled }}
- name: TOOLSEARCH_REDIS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ include "toolsearch.fullname" . }}-trial
      key: redis-password
{{- else if .Values.redis.existingSecret }}
{{- $redis := .Values.redis }}
{{- range $variable, $key := dict "TOOLSEARCH_REDIS_USERNAME" $redis.usernameKey "TOOLSEARCH_REDIS_PASSWORD" $redis.passwordKey "TOOLSEARCH_REDIS_SENTINEL_PASSWORD" $redis.sentinelPasswordKey }}
{{- if $key }}
- name: {{ $variable }}
  valueFrom:
    secretKeyRef:
      name: {{ $redis.existingSecret }}
      key: {{ $key }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Environment variables do not follow a Secret that changes: an upgrade rolls pods whose credentials did. */}}
{{- define "toolsearch.storeChecksum" -}}
{{- with .Values.redis.existingSecret -}}
checksum/redis-credentials: {{ dig "data" (dict) (lookup "v1" "Secret" $.Release.Namespace .) | toJson | sha256sum }}
{{- end -}}
{{- end -}}

{{/* How many bytes a quantity of memory is; 0 if it is written in a way that is not looked into. */}}
{{- define "toolsearch.bytes" -}}
{{- $text := toString . -}}
{{- if hasSuffix "Gi" $text -}}
{{- mulf (float64 (trimSuffix "Gi" $text)) 1073741824 | int64 -}}
{{- else if hasSuffix "Mi" $text -}}
{{- mulf (float64 (trimSuffix "Mi" $text)) 1048576 | int64 -}}
{{- else if hasSuffix "G" $text -}}
{{- mulf (float64 (trimSuffix "G" $text)) 1000000000 | int64 -}}
{{- else if hasSuffix "M" $text -}}
{{- mulf (float64 (trimSuffix "M" $text)) 1000000 | int64 -}}
{{- else -}}
0
{{- end -}}
{{- end -}}

{{/* 256 MiB are the process, and a fifth of the rest is reserve: what a catalog takes is estimated. */}}
{{- define "toolsearch.indexBytes" -}}
{{- $memory := include "toolsearch.bytes" (dig "limits" "memory" "" .Values.resources) | int64 -}}
{{- if gt $memory 0 -}}
{{- $bytes := div (mul (sub $memory 268435456) 4) 5 -}}
{{- if lt $bytes 67108864 -}}
{{- fail (printf "resources.limits.memory is %s, which leaves no room for catalogs: 352Mi is the least" .Values.resources.limits.memory) -}}
{{- end -}}
{{- $bytes -}}
{{- end -}}
{{- end -}}

{{- define "toolsearch.number" -}}
{{- if kindIs "float64" . -}}
{{- if eq . (floor .) }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- else -}}
{{ . }}
{{- end -}}
{{- end -}}

{{- define "toolsearch.limitArgs" -}}
{{- range $name, $value := . }}
- {{ printf "--limit=%s=%s" $name (include "toolsearch.number" $value) | quote }}
{{- end }}
{{- end -}}

{{/* kubelet's gRPC probes speak no TLS: with TLS they ask the HTTP port, which says the same. */}}
{{- define "toolsearch.probe" -}}
{{- if .tls }}
httpGet:
  path: {{ ternary "/readyz" "/livez" (eq .kind "readiness") }}
  port: http
{{- else }}
grpc:
  port: {{ .port }}
  service: {{ ternary "toolsearch.v1.ToolSearchService" "liveness" (eq .kind "readiness") }}
{{- end }}
{{ toYaml .timing }}
{{- end -}}

{{- define "toolsearch.redisVolume" -}}
- name: redis
  secret:
    secretName: {{ .Values.redis.tls.existingSecret }}
    defaultMode: 0440
    items:
      {{- range compact (list .Values.redis.tls.caKey .Values.redis.tls.certificateKey .Values.redis.tls.keyKey) }}
      - {key: {{ . }}, path: {{ . }}}
      {{- end }}
{{- end -}}
