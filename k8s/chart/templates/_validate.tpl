{{/* What no schema can say, as it is about several values at once: the first of these ends a rendering. */}}
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
{{- fail (printf "%s: latest is no tag of its own, by which releases could be told apart" $path) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "podcast-sync.validateRedis" -}}
{{- $places := list "url" "cluster" "sentinels" -}}
{{- $redis := include "podcast-sync.given" (dict "values" .Values.redis "keys" (prepend $places "enabled")) -}}
{{- if ne (splitList ", " $redis | compact | len) 1 -}}
{{- $given := $redis | default "none" -}}
{{- fail (printf "redis: exactly one of enabled, url, cluster and sentinels says where Redis is; given: %s" $given) -}}
{{- end -}}
{{- range $name, $values := dict "queue" .Values.queue "events" .Values.events -}}
{{- $given := include "podcast-sync.given" (dict "values" $values.redis "keys" $places) -}}
{{- if contains "," $given -}}
{{- fail (printf "%s.redis: only one of url, cluster and sentinels says where it is; given: %s" $name $given) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Which of some keys are set, separated by commas. Given: values, keys. */}}
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
{{- fail "accounts.url: is required where accounts.enabled; accounts.enabled: false makes a bare API" -}}
{{- end -}}
{{- $issuers := splitList "," .Values.apps.gateway.env.AUTH_ISSUER -}}
{{- if not (has .Values.accounts.url $issuers) -}}
{{- $why := "the gateway would refuse the tokens of accounts" -}}
{{- fail (printf "apps.gateway.env.AUTH_ISSUER: does not name accounts.url, %s; %s" .Values.accounts.url $why) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "podcast-sync.validateGpodder" -}}
{{- if and .Values.gpodder.enabled (not .Values.accounts.enabled) -}}
{{- fail "gpodder.enabled: needs accounts.enabled, whose app passwords its clients sign in with" -}}
{{- end -}}
{{- end }}

{{- define "podcast-sync.validateIngress" -}}
{{- if .Values.ingress.enabled -}}
{{- if not .Values.ingress.host -}}
{{- fail "ingress.host: is required where ingress.enabled" -}}
{{- end -}}
{{- with .Values.apps.gateway.env -}}
{{- if and .RATE_LIMIT_PER_ADDRESS (not .TRUSTED_PROXIES) -}}
{{- $why := "without it all clients have the address of the Ingress controller" -}}
{{- fail (printf "apps.gateway.env: RATE_LIMIT_PER_ADDRESS behind an Ingress needs TRUSTED_PROXIES; %s" $why) -}}
{{- end -}}
{{- end -}}
{{- range $name, $isOn := dict "account" .Values.accounts.enabled "gpodder" .Values.gpodder.enabled -}}
{{- if and $isOn (not (get (index $.Values.apps $name).env "TRUSTED_PROXIES")) -}}
{{- $why := "without it all people have the address of the Ingress controller, and share its limits" -}}
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
Postgres has a connection for everything that may run at once: every replica that there can be, one more of each app in
a rollout, 4 of `migrate`, and 3 that Postgres keeps for its superuser.
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
{{- $help := "Lower poolSize or replicas.max, or raise it to what Postgres or the pooler really takes" -}}
{{- fail (printf "postgres.maxConnections: is %d, but %d connections may be wanted: %s. %s" $most $wanted $sum $help) -}}
{{- end -}}
{{- end }}
