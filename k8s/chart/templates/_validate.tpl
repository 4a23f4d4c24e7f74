{{/* Rules across several values, which no schema can express. The first violation ends a rendering. */}}
{{- define "podcast-sync.validate" -}}
{{- include "podcast-sync.validateTags" . -}}
{{- include "podcast-sync.validateRedis" . -}}
{{- include "podcast-sync.validateAccounts" . -}}
{{- include "podcast-sync.validateGpodder" . -}}
{{- include "podcast-sync.validateIngress" . -}}
{{- include "podcast-sync.validateReplicas" . -}}
{{- include "podcast-sync.validateConnections" . -}}
{{- end }}

{{- define "podcast-sync.validateTags" -}}
{{- $tags := dict "image.tag" .Values.image.tag "migrate.tag" .Values.migrate.tag -}}
{{- range $name, $app := .Values.apps -}}
{{- $_ := set $tags (printf "apps.%s.tag" $name) $app.tag -}}
{{- end -}}
{{- range $path, $tag := $tags -}}
{{- if eq $tag "latest" -}}
{{- fail (printf "%s: latest does not identify a release; set the tag of a release" $path) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "podcast-sync.validateRedis" -}}
{{- $places := list "url" "cluster" "sentinels" -}}
{{- $redis := include "podcast-sync.given" (dict "values" .Values.redis "keys" (prepend $places "enabled")) -}}
{{- if ne (splitList ", " $redis | compact | len) 1 -}}
{{- $given := $redis | default "none" -}}
{{- fail (printf "redis: set exactly one of enabled, url, cluster and sentinels; given: %s" $given) -}}
{{- end -}}
{{- range $name, $values := dict "queue" .Values.queue "events" .Values.events -}}
{{- $given := include "podcast-sync.given" (dict "values" $values.redis "keys" $places) -}}
{{- if contains "," $given -}}
{{- fail (printf "%s.redis: set only one of url, cluster and sentinels; given: %s" $name $given) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The keys that are set, separated by commas. Input: values, keys. */}}
{{- define "podcast-sync.given" -}}
{{- $given := list -}}
{{- range .keys -}}
{{- if index $.values . -}}{{- $given = append $given . -}}{{- end -}}
{{- end -}}
{{ join ", " $given }}
{{- end }}

{{- define "podcast-sync.validateAccounts" -}}
{{- if .Values.accounts.enabled -}}
{{- if not .Values.accounts.url -}}
{{- fail "accounts.url: is required with accounts.enabled; set it, or accounts.enabled: false" -}}
{{- end -}}
{{- $issuers := splitList "," .Values.apps.gateway.env.AUTH_ISSUER -}}
{{- if not (has .Values.accounts.url $issuers) -}}
{{- $why := "the gateway would reject the tokens of accounts" -}}
{{- fail (printf "apps.gateway.env.AUTH_ISSUER: does not contain accounts.url, %s; %s" .Values.accounts.url $why) -}}
{{- end -}}
{{- if not (or .Values.ingress.enabled .Values.apps.account.env.API_URLS) -}}
{{- $why := "set it to the URL of the gateway, for which apps request tokens" -}}
{{- fail (printf "apps.account.env.API_URLS: is required without an Ingress of the chart; %s" $why) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "podcast-sync.validateGpodder" -}}
{{- if and .Values.gpodder.enabled (not .Values.accounts.enabled) -}}
{{- fail "gpodder.enabled: needs accounts.enabled, as its clients use app passwords" -}}
{{- end -}}
{{- end }}

{{- define "podcast-sync.validateIngress" -}}
{{- if .Values.ingress.enabled -}}
{{- if not .Values.ingress.host -}}
{{- fail "ingress.host: is required with ingress.enabled" -}}
{{- end -}}
{{- with .Values.apps.gateway.env -}}
{{- if and .RATE_LIMIT_PER_ADDRESS (not .TRUSTED_PROXIES) -}}
{{- $why := "without it all clients have the address of the Ingress controller" -}}
{{- fail (printf "apps.gateway.env: RATE_LIMIT_PER_ADDRESS behind an Ingress needs TRUSTED_PROXIES; %s" $why) -}}
{{- end -}}
{{- end -}}
{{- range $name, $isOn := dict "account" .Values.accounts.enabled "gpodder" .Values.gpodder.enabled -}}
{{- if and $isOn (not (get (index $.Values.apps $name).env "TRUSTED_PROXIES")) -}}
{{- $why := "without it all clients have the address of the Ingress controller, and share its limits" -}}
{{- fail (printf "apps.%s.env.TRUSTED_PROXIES: is required behind an Ingress; %s" $name $why) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "podcast-sync.validateReplicas" -}}
{{- range $name, $app := .Values.apps -}}
{{- with $app.replicas -}}
{{- if gt (int .min) (int .max) -}}
{{- fail (printf "apps.%s.replicas: min (%d) is more than max (%d)" $name (int .min) (int .max)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/*
Postgres needs connections for the maximum number of replicas, one more replica of each app during
a rollout, 4 for `migrate`, and 3 that it reserves for its superuser.
*/}}
{{- define "podcast-sync.validateConnections" -}}
{{- $root := . -}}
{{- $wanted := 7 -}}
{{- $terms := list -}}
{{- range $name, $facts := include "podcast-sync.apps" . | fromYaml -}}
{{- if $facts.database -}}
{{- $app := include "podcast-sync.app" (dict "root" $root "name" $name) | fromYaml -}}
{{- $isScaled := include "podcast-sync.isScaled" (dict "root" $root "app" $app) -}}
{{- $replicas := empty $isScaled | ternary $app.replicas.min $app.replicas.max | int -}}
{{- $wanted = add $wanted (mul (int $app.poolSize) (add1 $replicas)) -}}
{{- $terms = append $terms (printf "%s (%d + 1) x %d" $name $replicas (int $app.poolSize)) -}}
{{- end -}}
{{- end -}}
{{- $most := int .Values.postgres.maxConnections -}}
{{- if gt $wanted $most -}}
{{- $sum := printf "%s, and 7 for migrate and the superuser" (join ", " $terms) -}}
{{- $help := "Lower poolSize or replicas.max, or set the real limit of Postgres or the pooler" -}}
{{- fail (printf "postgres.maxConnections: is %d, but %d connections are possible: %s. %s" $most $wanted $sum $help) -}}
{{- end -}}
{{- end }}
