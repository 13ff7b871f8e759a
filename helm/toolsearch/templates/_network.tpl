{{- define "toolsearch.metricsIngress" -}}
- ports:
    - {protocol: TCP, port: {{ .Values.ports.http }}}
  {{- with .Values.networkPolicy.metricsFrom }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "toolsearch.dnsEgress" -}}
- ports:
    {{- range .Values.networkPolicy.dnsPorts }}
    - {protocol: UDP, port: {{ . }}}
    - {protocol: TCP, port: {{ . }}}
    {{- end }}
{{- end -}}

{{/* DNS, Redis and the collector of traces. */}}
{{- define "toolsearch.commonEgress" -}}
{{ include "toolsearch.dnsEgress" . }}
{{- if .Values.redis.bundled.enabled }}
- ports:
    - {protocol: TCP, port: 6379}
  to:
    - podSelector:
        matchLabels:
          {{- include "toolsearch.selector" (dict "context" . "component" "redis") | nindent 10 }}
{{- else if .Values.redis.url }}
- ports:
    {{- range include "toolsearch.redisPorts" . | fromYamlArray }}
    - {protocol: TCP, port: {{ . }}}
    {{- end }}
  {{- with .Values.networkPolicy.redisTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- range include "toolsearch.urlPorts" (list .Values.tracing.otlp) | fromYamlArray }}
- ports:
    - {protocol: TCP, port: {{ . }}}
{{- end }}
{{- end -}}

{{/* Sentinels tell where Redis is, which is at its usual port unless networkPolicy.redisPorts says otherwise. */}}
{{- define "toolsearch.redisPorts" -}}
{{- if .Values.networkPolicy.redisPorts -}}
{{- toYaml .Values.networkPolicy.redisPorts -}}
{{- else -}}
{{- $sentinel := contains "+sentinel" .Values.redis.url -}}
{{- $hosts := regexReplaceAll "[/?].*$" (regexReplaceAll "^[a-z+]+://" .Values.redis.url "") "" -}}
{{- $ports := list -}}
{{- range splitList "," $hosts -}}
{{- $port := regexFind ":[0-9]+$" . | trimPrefix ":" | default (ternary "26379" "6379" $sentinel) -}}
{{- $ports = append $ports (atoi $port) -}}
{{- end -}}
{{- if $sentinel -}}
{{- $ports = append $ports 6379 -}}
{{- end -}}
{{- toYaml (uniq $ports) -}}
{{- end -}}
{{- end -}}

{{- define "toolsearch.urlPorts" -}}
{{- $ports := list -}}
{{- range compact . -}}
{{- $url := urlParse . -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "443" "80" (eq $url.scheme "https")) -}}
{{- $ports = append $ports (atoi $port) -}}
{{- end -}}
{{- toYaml (uniq $ports) -}}
{{- end -}}
