{{/* Contradictions, each with what to do. What a single value may be is in values.schema.json. */}}
{{- define "toolsearch.checks" -}}
{{- $v := .Values -}}
{{- $hasRedis := include "toolsearch.hasRedis" . -}}
{{- if and $v.redis.url $v.redis.bundled.enabled -}}
{{- fail "redis.url and redis.bundled.enabled contradict each other: set the URL of your Redis, or take the bundled one for a trial" -}}
{{- end -}}
{{- if and (not $v.autoscaling.enabled) (gt (int $v.replicas) 1) (not $hasRedis) -}}
{{- fail (printf "replicas is %d, but replicas without a shared store would each have catalogs of their own: set redis.url, or redis.bundled.enabled for a trial" (int $v.replicas)) -}}
{{- end -}}
{{- if and $v.autoscaling.enabled (not $hasRedis) -}}
{{- fail "autoscaling.enabled makes several replicas, which need a shared store: set redis.url" -}}
{{- end -}}
{{- if and $v.autoscaling.enabled (gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) -}}
{{- fail (printf "autoscaling.minReplicas is %d, above autoscaling.maxReplicas, which is %d" (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) -}}
{{- end -}}
{{- if and $v.autoscaling.enabled (not (dig "requests" "cpu" "" $v.resources)) -}}
{{- fail "autoscaling.enabled goes by the requested CPU: set resources.requests.cpu" -}}
{{- end -}}
{{- if and $v.redis.tls.existingSecret (not (hasPrefix "rediss" $v.redis.url)) -}}
{{- fail "redis.tls.existingSecret is set, but redis.url does not speak TLS: use rediss://, rediss+sentinel:// or rediss+cluster://" -}}
{{- end -}}
{{- if ne (empty $v.redis.tls.certificateKey) (empty $v.redis.tls.keyKey) -}}
{{- fail "redis.tls.certificateKey and redis.tls.keyKey belong together" -}}
{{- end -}}
{{- if and (or $v.redis.tls.certificateKey $v.redis.tls.keyKey) (not $v.redis.tls.existingSecret) -}}
{{- fail "redis.tls.certificateKey names a key of redis.tls.existingSecret, which is not set" -}}
{{- end -}}
{{- if and $v.redis.sentinelPasswordKey (not (contains "+sentinel" $v.redis.url)) -}}
{{- fail "redis.sentinelPasswordKey is set, but redis.url is not a redis+sentinel:// one" -}}
{{- end -}}
{{- if and (or $v.redis.usernameKey $v.redis.sentinelPasswordKey) (not $v.redis.existingSecret) -}}
{{- fail "redis.usernameKey and redis.sentinelPasswordKey name keys of redis.existingSecret, which is not set" -}}
{{- end -}}
{{- if and $v.redis.existingSecret (not $v.redis.url) -}}
{{- fail "redis.existingSecret has credentials for redis.url, which is not set" -}}
{{- end -}}
{{- if and $v.auth.generateKey $v.auth.keys.existingSecret -}}
{{- fail "auth.generateKey and auth.keys.existingSecret contradict each other: a key is generated only where there is no file of keys" -}}
{{- end -}}
{{- $jwt := list $v.auth.jwt.issuer $v.auth.jwt.audience $v.auth.jwt.keysUrl -}}
{{- if and (compact $jwt) (ne (len (compact $jwt)) 3) -}}
{{- fail "auth.jwt needs issuer, audience and keysUrl, all three" -}}
{{- end -}}
{{- if and $v.tls.certManager.enabled (not $v.tls.certManager.issuerRef.name) -}}
{{- fail "tls.certManager.enabled needs tls.certManager.issuerRef.name: who signs" -}}
{{- end -}}
{{- if and $v.tls.clientCa.existingSecret (not (include "toolsearch.tlsSecret" .)) -}}
{{- fail "tls.clientCa.existingSecret asks callers for certificates, which needs TLS: set tls.existingSecret or tls.certManager" -}}
{{- end -}}
{{- if and $v.search.embeddingsKey.existingSecret (not (hasPrefix "http" $v.search.embeddings)) -}}
{{- fail "search.embeddingsKey.existingSecret is for an embeddings endpoint: search.embeddings has to be its URL" -}}
{{- end -}}
{{- if and (hasPrefix "http" $v.search.embeddings) (not $v.search.embeddingsModel) -}}
{{- fail "search.embeddings is the URL of an endpoint: set search.embeddingsModel too" -}}
{{- end -}}
{{- $needed := add (int $v.drain.preStopSeconds) (int $v.drain.delaySeconds) (int $v.drain.graceSeconds) -}}
{{- if and (not (kindIs "invalid" $v.terminationGracePeriodSeconds)) (le (int $v.terminationGracePeriodSeconds) (int $needed)) -}}
{{- fail (printf "terminationGracePeriodSeconds is %d, but draining may take %d seconds (drain.preStopSeconds + delaySeconds + graceSeconds): give more" (int $v.terminationGracePeriodSeconds) (int $needed)) -}}
{{- end -}}
{{- if and (gt (int $v.drain.preStopSeconds) 0) (semverCompare "<1.30-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "drain.preStopSeconds needs Kubernetes 1.30, this is %s: use drain.delaySeconds" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if eq (int $v.ports.grpc) (int $v.ports.http) -}}
{{- fail (printf "ports.grpc and ports.http are both %d" (int $v.ports.grpc)) -}}
{{- end -}}
{{- if $v.watcher.enabled -}}
{{- if not $hasRedis -}}
{{- fail "watcher.enabled needs Redis, by which it and the server meet: set redis.url, or redis.bundled.enabled for a trial" -}}
{{- end -}}
{{- if and $v.watcher.existingSecret $v.watcher.mcpServers -}}
{{- fail "watcher.existingSecret and watcher.mcpServers contradict each other: the servers are in one of them" -}}
{{- end -}}
{{- if not (or $v.watcher.existingSecret $v.watcher.mcpServers) -}}
{{- fail "watcher.enabled needs servers to follow: set watcher.existingSecret or watcher.mcpServers" -}}
{{- end -}}
{{- if and $v.watcher.prune (gt (int $v.watcher.replicas) 1) -}}
{{- fail "watcher.prune is for one watcher: while replicas have different files, one would remove what the other follows" -}}
{{- end -}}
{{- end -}}
{{- if and $v.monitoring.serviceMonitor.enabled $v.monitoring.podMonitor.enabled -}}
{{- fail "monitoring.serviceMonitor and monitoring.podMonitor would read every figure twice: enable one of them" -}}
{{- end -}}
{{- if and $v.grpcRoute.enabled (not $v.grpcRoute.parentRefs) -}}
{{- fail "grpcRoute.enabled needs grpcRoute.parentRefs: the Gateway it belongs to" -}}
{{- end -}}
{{- if and $v.ingress.enabled (not $v.ingress.hosts) -}}
{{- fail "ingress.enabled needs ingress.hosts" -}}
{{- end -}}
{{- if and $v.tenantRouting.envoyGateway (not $v.grpcRoute.enabled) -}}
{{- fail "tenantRouting.envoyGateway is a policy for the GRPCRoute: set grpcRoute.enabled" -}}
{{- end -}}
{{- if and $v.tls.clientCa.existingSecret $v.test.enabled (include "toolsearch.testSecret" .) (not $v.test.clientCertificateSecret) -}}
{{- fail "tls.clientCa asks callers for certificates: the test needs test.clientCertificateSecret, or set test.enabled to false" -}}
{{- end -}}
{{- end -}}
