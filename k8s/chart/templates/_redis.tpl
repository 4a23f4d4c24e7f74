{{/* The URL of a Redis, inside or outside of the cluster. */}}
{{- define "podcast-sync.redisUrl" -}}
{{ if .enabled }}redis://redis:6379{{ else }}{{ .url }}{{ end }}
{{- end }}

{{/* The variables of a Redis; empty if its address is not set. Input: redis, prefix. */}}
{{- define "podcast-sync.redisEnv" -}}
{{- $url := include "podcast-sync.redisUrl" .redis -}}
{{- if $url }}
{{ .prefix }}REDIS_URL: {{ $url }}
{{- else if .redis.cluster }}
{{ .prefix }}REDIS_CLUSTER: {{ .redis.cluster }}
{{- else if .redis.sentinels }}
{{ .prefix }}REDIS_SENTINELS: {{ .redis.sentinels }}
{{ .prefix }}REDIS_SENTINEL_MASTER: {{ .redis.sentinelMaster }}
{{- end }}
{{- with .redis.username }}
{{ $.prefix }}REDIS_USERNAME: {{ . | quote }}
{{- end }}
{{- if .redis.tls }}
{{ .prefix }}REDIS_TLS: 'true'
{{- end }}
{{- end }}

{{/* `host:port` of each server of a Redis, separated by commas. */}}
{{- define "podcast-sync.redisAddresses" -}}
{{- $url := include "podcast-sync.redisUrl" . -}}
{{- if $url -}}
{{- $host := regexReplaceAll "^rediss?://([^/]+).*$" $url "${1}" -}}
{{ regexMatch ":[0-9]+$" $host | ternary $host (printf "%s:6379" $host) }}
{{- else -}}
{{ .cluster | default .sentinels }}
{{- end -}}
{{- end }}

{{/* `true` if the address of a Redis is set, else empty. Input: a Redis of values. */}}
{{- define "podcast-sync.isNamed" -}}
{{ if or .url .cluster .sentinels }}true{{ end }}
{{- end }}

{{/* The Redis of the queue: a separate one, or the transport's. */}}
{{- define "podcast-sync.hasOwnQueue" -}}
{{ include "podcast-sync.isNamed" .Values.queue.redis }}
{{- end }}

{{/* The Redis servers other than the transport's, by prefix of their variables. */}}
{{- define "podcast-sync.otherRedis" -}}
{{- $others := dict -}}
{{- if include "podcast-sync.hasOwnQueue" . -}}{{- $_ := set $others "QUEUE_" .Values.queue.redis -}}{{- end -}}
{{- if and .Values.events.enabled (include "podcast-sync.isNamed" .Values.events.redis) -}}
{{- $_ := set $others "EVENTS_" .Values.events.redis -}}
{{- end -}}
{{ toJson $others }}
{{- end }}

{{/* The variables of the servers in `otherRedis`. */}}
{{- define "podcast-sync.otherRedisEnv" -}}
{{- range $prefix, $redis := include "podcast-sync.otherRedis" . | fromJson }}
{{ include "podcast-sync.redisEnv" (dict "redis" $redis "prefix" $prefix) | trim }}
{{- end }}
{{- end }}

{{/* The keys of the Secrets of the servers in `otherRedis`, as a JSON list. */}}
{{- define "podcast-sync.otherRedisKeys" -}}
{{- $keys := list -}}
{{- range include "podcast-sync.otherRedis" . | fromJson -}}{{- $keys = concat $keys .secretKeys -}}{{- end -}}
{{ toJson $keys }}
{{- end }}

{{/* The ports of all Redis servers, as a JSON list. */}}
{{- define "podcast-sync.redisPorts" -}}
{{- $ports := list -}}
{{- $servers := list .Values.redis -}}
{{/* `range` iterates by name; the function `values` returns a random order. */}}
{{- range include "podcast-sync.otherRedis" . | fromJson -}}{{- $servers = append $servers . -}}{{- end -}}
{{- range $servers -}}
{{- range splitList "," (include "podcast-sync.redisAddresses" .) -}}
{{- with . -}}{{- $ports = append $ports (regexFind "[0-9]+$" . | int) -}}{{- end -}}
{{- end -}}
{{- if .sentinels -}}{{- $ports = append $ports 6379 -}}{{- end -}}
{{- end -}}
{{ $ports | uniq | toJson }}
{{- end }}
