{{/*
The servers with their fixed properties. A new one needs an entry here, one under `apps` in
values.yaml and one in values.schema.json, whose variables `npm run docs` generates.

  http        the port for clients; creates a Service
  host        the host of its Ingress
  database    true if it has a login in Postgres
  queue       true if it processes the queue of deletions, by which KEDA scales it
  egress      ports of other servers that it calls
  preStop     seconds that a pod sleeps before SIGTERM
  image       name of its image and container, if another app runs the same program
  fetches     true if it fetches feeds from any public address
  env         variables that derive from other values
  secretKeys  used keys of its Secret in addition to those of Postgres and the transport's Redis
*/}}
{{- define "podcast-sync.apps" -}}
{{- $events := ternary "on" "off" .Values.events.enabled -}}
gateway:
  http: 3000
  host: {{ .Values.ingress.host | quote }}
  # Ports of the identity providers' key sets; 443 also for those that discovery finds. The key set
  # of `account` comes through its Service: a network policy can see the port before or behind it.
  {{- $ports := .Values.accounts.enabled | ternary (list 443 80 3002) (list 443) }}
  {{- with .Values.apps.gateway.env }}
  egress: {{ include "podcast-sync.urlPorts" (dict "ports" $ports "texts" (list .AUTH_ISSUER .AUTH_JWKS_URL)) }}
  {{- end }}
  # Seconds before a stop, in which load balancers remove this pod. Then the gateway becomes unready
  # and continues to serve for DRAIN_SECONDS.
  preStop: 5
  env:
    PORT: '3000'
    DRAIN_SECONDS: '5'
    {{- if .Values.ingress.enabled }}
    PUBLIC_URL: https://{{ .Values.ingress.host }}
    {{- end }}
    FEEDS: {{ .Values.feeds.mode | quote }}
    {{- if .Values.accounts.enabled }}
    AUTH_OWN_ISSUER: {{ .Values.accounts.url | quote }}
    AUTH_JWKS_URL: {{ printf "%s=http://account/jwks" .Values.accounts.url | quote }}
    AUTH_SERVERS: {{ .Values.accounts.url | quote }}
    SITE_URL: {{ .Values.accounts.url | quote }}
    # Allows the console, which the account app serves, to call the API.
    CORS_ORIGINS: {{ .Values.accounts.url | quote }}
    AUTH_APP_PASSWORDS: 'on'
    {{- end }}
  secretKeys: [CURSOR_KEY]
{{- if .Values.gpodder.enabled }}
{{- $url := .Values.gpodder.url | default .Values.accounts.url }}
gpodder:
  http: 3001
  host: {{ (urlParse $url).hostname | quote }}
  # Seconds before a stop, as in the gateway.
  preStop: 5
  env:
    PORT: '3001'
    DRAIN_SECONDS: '5'
    PUBLIC_URL: {{ $url | quote }}
    SITE_URL: {{ .Values.accounts.url | quote }}
    FEEDS: {{ .Values.feeds.mode | quote }}
  secretKeys: [SESSION_KEY]
{{- end }}
subscription:
  database: true
  preStop: 2
  env:
    EVENTS: {{ $events | quote }}
episode:
  database: true
  preStop: 2
  env:
    EVENTS: {{ $events | quote }}
    FEEDS: {{ .Values.feeds.mode | quote }}
# The deletion worker also answers requests, so it always has two replicas or more.
deletion-worker:
  database: true
  queue: true
  preStop: 2
  env:
    EVENTS: {{ $events | quote }}
    {{- include "podcast-sync.otherRedisEnv" . | trim | nindent 4 }}
  secretKeys: {{ include "podcast-sync.otherRedisKeys" . }}
{{- if ne .Values.feeds.mode "off" }}
feed:
  database: true
  preStop: 2
  env:
    FEEDS: {{ .Values.feeds.mode | quote }}
    FEEDS_ROLE: answers
{{- end }}
{{- if eq .Values.feeds.mode "fetched" }}
# The feed fetcher is the only app that connects to the publishers of feeds.
feed-fetcher:
  image: feed
  database: true
  fetches: true
  preStop: 2
  env:
    FEEDS: fetched
    FEEDS_ROLE: fetches
    {{- if .Values.ingress.enabled }}
    PUBLIC_URL: https://{{ .Values.ingress.host }}
    {{- end }}
{{- end }}
{{- if .Values.accounts.enabled }}
account:
  http: 3002
  host: {{ (urlParse .Values.accounts.url).hostname | quote }}
  database: true
  egress: {{ .Values.accounts.ports | toJson }}
  preStop: 5
  env:
    PORT: '3002'
    PUBLIC_URL: {{ .Values.accounts.url | quote }}
    {{- if .Values.ingress.enabled }}
    API_URLS: https://{{ .Values.ingress.host }}
    {{- end }}
    KEYS_DIRECTORY: /run/secrets/podcast-sync
  secretKeys: [SECRETS_KEY]
{{- end }}
{{- end }}

{{/* An app with the values of the operator, which override its variables. */}}
{{- define "podcast-sync.app" -}}
{{- $facts := index (include "podcast-sync.apps" .root | fromYaml) .name -}}
{{- mergeOverwrite $facts (deepCopy (index .root.Values.apps .name)) | toYaml -}}
{{- end }}
