{{/*
The pod of an app, a server or a task: the `template` of a Deployment or a Job.
Input: root, name, component (`server` or `task`), app (as in `podcast-sync.app`), secretKeys (keys
of its Secret that are variables), command (of `podcast-sync`, for a task).
*/}}
{{- define "podcast-sync.pod" -}}
{{- $server := eq .component "server" -}}
metadata:
  labels:
    {{- include "podcast-sync.labels" . | nindent 4 }}
spec:
  {{- if not $server }}
  restartPolicy: OnFailure
  {{- end }}
  serviceAccountName: {{ .name }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- if $server }}
  # Maximum seconds of a stop: `preStop`, the drain of the gateway and 70 s for the stop of an app.
  terminationGracePeriodSeconds: 90
  {{- if .root.Values.topologySpread.enabled }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          app.kubernetes.io/name: {{ $.name }}
    {{- end }}
  {{- end }}
  {{- end }}
  {{- with include "podcast-sync.scheduling" .root | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with .root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- include "podcast-sync.podSecurity" (dict "user" 1000) | nindent 2 }}
  containers:
    {{- $image := .app.image | default .name }}
    - name: {{ $image }}
      image: {{ .root.Values.image.repository }}/{{ $server | ternary $image "podcast-sync" }}:{{ include "podcast-sync.tag" . }}
      {{- with .command }}
      args: [{{ . }}]
      {{- end }}
      {{- if $server }}
      ports:
        {{- with .app.http }}
        - name: http
          containerPort: {{ int . }}
        {{- end }}
        - name: ops
          containerPort: 9090
      {{- end }}
      env:
        {{- include "podcast-sync.env" . | trim | nindent 8 }}
      {{- if $server }}
      {{- include "podcast-sync.probes" . | nindent 6 }}
      lifecycle:
        preStop:
          sleep:
            seconds: {{ int .app.preStop }}
      {{- end }}
      resources:
        {{- toYaml .app.resources | nindent 8 }}
      {{- include "podcast-sync.containerSecurity" . | nindent 6 }}
      volumeMounts:
        - name: secrets
          mountPath: /run/secrets/podcast-sync
          readOnly: true
  volumes:
    - name: secrets
      secret:
        secretName: {{ .app.secret }}
        # File mode 0440 in decimal, because YAML 1.2 reads 0440 as a decimal number.
        defaultMode: 288
{{- end }}

{{/*
The variables of an app. They are in the pod and not in ConfigMaps: a changed value restarts the
pods that use it, one by one, and pods of the previous release keep their values after a restart.
Input: as for the pod.
*/}}
{{- define "podcast-sync.env" -}}
{{- $server := eq .component "server" -}}
{{- $others := mergeOverwrite (deepCopy .root.Values.env) (.app.env | default dict) -}}
{{- if .app.database -}}
{{- $_ := set $others "DATABASE_POOL_SIZE" (.app.poolSize | int | toString) -}}
{{- end -}}
{{- if and $server .root.Values.tracing.enabled -}}
{{- $_ := set $others "OTEL_EXPORTER_OTLP_ENDPOINT" .root.Values.tracing.endpoint -}}
{{- $_ := set $others "OTEL_TRACES_SAMPLER_ARG" .root.Values.tracing.share -}}
{{- end -}}
# Limits Node's heap to three quarters of the memory limit: buffers and code need the rest.
- name: NODE_OPTIONS
  value: --max-old-space-size={{ include "podcast-sync.heap" .app.resources.limits.memory }}
{{- if $server }}
{{- range $name, $value := include "podcast-sync.redisEnv" (dict "redis" .root.Values.redis "prefix" "") | fromYaml }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- range .secretKeys }}
- name: {{ . }}_FILE
  value: /run/secrets/podcast-sync/{{ . }}
{{- end }}
{{- range $name, $value := $others }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* The probes of a server, all on its ops port. */}}
{{- define "podcast-sync.probes" -}}
startupProbe:
  httpGet:
    path: /livez
    port: ops
  periodSeconds: 1
  failureThreshold: 120
livenessProbe:
  httpGet:
    path: /livez
    port: ops
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet:
    path: /readyz
    port: ops
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}
