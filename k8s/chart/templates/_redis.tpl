{{/* The URL of a Redis, in the cluster or elsewhere. */}}
{{- define "podcast-sync.redisUrl" -}}
{{ if .enabled }}redis://redis:6379{{ else }}{{ .url }}{{ end }}
{{- end }}

{{/* How a Redis is reached, as variables. Given: redis, prefix (of the variables). Nothing where none is named. */}}
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

{{/* `host:port` of each server that is named for a Redis, separated by commas. */}}
{{- define "podcast-sync.redisAddresses" -}}
{{- $url := include "podcast-sync.redisUrl" . -}}
{{- if $url -}}
{{- $host := regexReplaceAll "^rediss?://([^/]+).*$" $url "${1}" -}}
{{ regexMatch ":[0-9]+$" $host | ternary $host (printf "%s:6379" $host) }}
{{- else -}}
{{ .cluster | default .sentinels }}
{{- end -}}
{{- end }}

{{/* Whether a Redis is named. Given: a Redis of values. */}}
{{- define "podcast-sync.isNamed" -}}
{{ if or .url .cluster .sentinels }}true{{ end }}
{{- end }}

{{/* The Redis that the queue is on: its own, or the transport's. */}}
{{- define "podcast-sync.hasOwnQueue" -}}
{{ include "podcast-sync.isNamed" .Values.queue.redis }}
{{- end }}

{{/* The servers other than the transport's, by the prefix of their variables. */}}
{{- define "podcast-sync.otherRedis" -}}
{{- $others := dict -}}
{{- if include "podcast-sync.hasOwnQueue" . -}}{{- $_ := set $others "QUEUE_" .Values.queue.redis -}}{{- end -}}
{{- if and .Values.events.enabled (include "podcast-sync.isNamed" .Values.events.redis) -}}
{{- $_ := set $others "EVENTS_" .Values.events.redis -}}
{{- end -}}
{{ toJson $others }}
{{- end }}

{{/* How they are reached, as variables. */}}
{{- define "podcast-sync.otherRedisEnv" -}}
{{- range $prefix, $redis := include "podcast-sync.otherRedis" . | fromJson }}
{{ include "podcast-sync.redisEnv" (dict "redis" $redis "prefix" $prefix) | trim }}
{{- end }}
{{- end }}

{{/* Their secrets' keys, as a list in JSON. */}}
{{- define "podcast-sync.otherRedisKeys" -}}
{{- $keys := list -}}
{{- range include "podcast-sync.otherRedis" . | fromJson -}}{{- $keys = concat $keys .secretKeys -}}{{- end -}}
{{ toJson $keys }}
{{- end }}

{{/* The ports of all that is named for Redis, as a list in JSON. */}}
{{- define "podcast-sync.redisPorts" -}}
{{- $ports := list -}}
{{- $servers := list .Values.redis -}}
{{/* By range, which goes by their names; the order of `values` is another one each time. */}}
{{- range include "podcast-sync.otherRedis" . | fromJson -}}{{- $servers = append $servers . -}}{{- end -}}
{{- range $servers -}}
{{- range splitList "," (include "podcast-sync.redisAddresses" .) -}}
{{- with . -}}{{- $ports = append $ports (regexFind "[0-9]+$" . | int) -}}{{- end -}}
{{- end -}}
{{- if .sentinels -}}{{- $ports = append $ports 6379 -}}{{- end -}}
{{- end -}}
{{ $ports | uniq | toJson }}
{{- end }}
