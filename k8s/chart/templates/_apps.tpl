{{/*
The servers, and what of each is no operator's choice. A new one is an entry here, one under `apps` in values.yaml and
one in values.schema.json (its variables there are written by `npm run docs`).

  http        the port on which clients are answered; makes a Service
  host        under which the Ingress leads to it
  database    it has a login in Postgres
  queue       it works on the queue of deletions, by which KEDA scales it
  egress      ports of other servers that it calls
  preStop     seconds that a pod sleeps before it is told to stop
  env         variables that follow from other values
  secretKeys  keys of its Secret that it reads, besides those of Postgres and the transport's Redis
*/}}
{{- define "podcast-sync.apps" -}}
{{- $events := ternary "on" "off" .Values.events.enabled -}}
gateway:
  http: 3000
  host: {{ .Values.ingress.host | quote }}
  # The key sets of identity providers; discovery may name others than these. That of `account` comes through its Service;
  # a network policy may look at the port before or behind that.
  {{- $ports := .Values.accounts.enabled | ternary (list 443 80 3002) (list 443) }}
  {{- with .Values.apps.gateway.env }}
  egress: {{ include "podcast-sync.urlPorts" (dict "ports" $ports "texts" (list .AUTH_ISSUER .AUTH_JWKS_URL)) }}
  {{- end }}
  # The time in which load balancers learn that this pod is leaving; after it, the gateway itself turns unready and
  # serves on for DRAIN_SECONDS.
  preStop: 5
  env:
    PORT: '3000'
    DRAIN_SECONDS: '5'
    {{- if .Values.ingress.enabled }}
    PUBLIC_URL: https://{{ .Values.ingress.host }}
    {{- end }}
    {{- if .Values.accounts.enabled }}
    AUTH_OWN_ISSUER: {{ .Values.accounts.url | quote }}
    AUTH_JWKS_URL: {{ printf "%s=http://account/jwks" .Values.accounts.url | quote }}
    AUTH_SERVERS: {{ .Values.accounts.url | quote }}
    # The console, which the account app serves.
    CORS_ORIGINS: {{ .Values.accounts.url | quote }}
    AUTH_APP_PASSWORDS: 'on'
    {{- end }}
{{- if .Values.gpodder.enabled }}
{{- $url := .Values.gpodder.url | default .Values.accounts.url }}
gpodder:
  http: 3001
  host: {{ (urlParse $url).hostname | quote }}
  # As of the gateway.
  preStop: 5
  env:
    PORT: '3001'
    DRAIN_SECONDS: '5'
    PUBLIC_URL: {{ $url | quote }}
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
# It answers requests, too, and so never has fewer than two replicas.
deletion-worker:
  database: true
  queue: true
  preStop: 2
  env:
    EVENTS: {{ $events | quote }}
    {{- include "podcast-sync.otherRedisEnv" . | trim | nindent 4 }}
  secretKeys: {{ include "podcast-sync.otherRedisKeys" . }}
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

{{/* What an app is together with what the operator says of it, who has the last word about a variable. */}}
{{- define "podcast-sync.app" -}}
{{- $facts := index (include "podcast-sync.apps" .root | fromYaml) .name -}}
{{- mergeOverwrite $facts (deepCopy (index .root.Values.apps .name)) | toYaml -}}
{{- end }}
