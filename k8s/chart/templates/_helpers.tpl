{{/* Labels of an object. Input: name. */}}
{{- define "podcast-sync.labels" -}}
app.kubernetes.io/name: {{ .name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
app.kubernetes.io/part-of: podcast-sync
{{- end }}

{{/* Selector of the pods of an app. Input: name. */}}
{{- define "podcast-sync.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: podcast-sync
{{- end }}

{{/* Selector of the pods of all servers. */}}
{{- define "podcast-sync.servers" -}}
app.kubernetes.io/component: server
app.kubernetes.io/part-of: podcast-sync
{{- end }}

{{/* The service account of a workload, without permissions. Input: name. */}}
{{- define "podcast-sync.account" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  labels:
    app.kubernetes.io/part-of: podcast-sync
automountServiceAccountToken: false
{{- end }}

{{/* The tag of an app's image. Input: root, app. */}}
{{- define "podcast-sync.tag" -}}
{{ .app.tag | default .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{/* Three quarters of a memory limit in MiB: buffers and code need the rest. Input: Mi or Gi. */}}
{{- define "podcast-sync.heap" -}}
{{- $mebibytes := mul (regexFind "^[0-9]+" .) (ternary 1024 1 (hasSuffix "Gi" .)) -}}
{{ div (mul $mebibytes 3) 4 }}
{{- end }}

{{/* The ports of URLs in texts, as a JSON list. Input: ports (further ones), texts (can be empty). */}}
{{- define "podcast-sync.urlPorts" -}}
{{- $ports := .ports -}}
{{- range .texts -}}
{{- range regexFindAll "https?://[^/,[:space:]]+" (. | default "") -1 -}}
{{- $standard := hasPrefix "https:" . | ternary 443 80 -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" . | trimPrefix ":" | default $standard | int) -}}
{{- end -}}
{{- end -}}
{{ $ports | uniq | toJson }}
{{- end }}

{{/* Fields of every pod. Input: user. */}}
{{- define "podcast-sync.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  fsGroup: {{ .user }}
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/* Fields of every container. */}}
{{- define "podcast-sync.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* Scheduling and priority of pods. */}}
{{- define "podcast-sync.scheduling" -}}
{{- with .Values.scheduling.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.scheduling.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.scheduling.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* `true` if an autoscaler sets the replicas of an app, else empty. Input: root, app. */}}
{{- define "podcast-sync.isScaled" -}}
{{- if or .root.Values.autoscaling.enabled (and .root.Values.keda.enabled .app.queue) }}true{{ end }}
{{- end }}
