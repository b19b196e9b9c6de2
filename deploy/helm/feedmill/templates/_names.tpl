{{- define "feedmill.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "feedmill.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "feedmill.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "feedmill.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "feedmill.dispatcher" -}}
{{- include "feedmill.fullname" . }}-dispatcher
{{- end -}}

{{- define "feedmill.worker" -}}
{{- include "feedmill.fullname" . }}-worker
{{- end -}}

{{- /* host:port of the dispatcher, resolved by every pod of the cluster. */ -}}
{{- define "feedmill.service" -}}
{{- printf "%s.%s.svc:%v" (include "feedmill.dispatcher" .) .Release.Namespace .Values.dispatcher.port -}}
{{- end -}}

{{- define "feedmill.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "feedmill.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "feedmill.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{- define "feedmill.selector" -}}
app.kubernetes.io/name: {{ include "feedmill.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "feedmill.labels" -}}
{{ include "feedmill.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "feedmill.secured" -}}
{{- if .Values.keys.secret -}}true{{- else if not .Values.keys.insecure -}}
{{- fail "give keys.secret the name of a Secret with keys of 'feedmill keygen' (README.md), or set keys.insecure=true" -}}
{{- end -}}
{{- end -}}

{{- /* Flags of both services. */ -}}
{{- define "feedmill.commonArgs" -}}
- --host={{ .Values.bindAddress }}
{{- if eq (include "feedmill.secured" .) "true" }}
- --keys=/etc/feedmill/keys
{{- else }}
- --insecure-bind
{{- end }}
{{- with .Values.clusterId }}
- --cluster-id={{ . }}
{{- end }}
- --http={{ ternary "[::]" .Values.bindAddress (eq .Values.bindAddress "::") }}:{{ .Values.http.port }}
- --http-open
- --log-format={{ .Values.log.format }}
- --log-level={{ .Values.log.level }}
- --log-name=$(POD_NAME)
{{- end -}}

{{- define "feedmill.commonEnv" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{- end -}}

{{- /* The argument is the path of the readiness probe. */ -}}
{{- define "feedmill.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 1
  failureThreshold: 60
readinessProbe:
  httpGet: {path: {{ . }}, port: http}
  periodSeconds: 2
  timeoutSeconds: 2
livenessProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{- /* Volume of the keys that a role needs: list of root context, role. */ -}}
{{- define "feedmill.keyVolume" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
name: keys
secret:
  secretName: {{ $root.Values.keys.secret }}
  defaultMode: 0400
  items:
    - {key: dispatcher.pub, path: dispatcher.pub}
    - {key: {{ $role }}.key, path: {{ $role }}.key}
    {{- if has $role (list "dispatcher" "worker") }}
    - {key: client.pub, path: clients/client.pub}
    {{- range $root.Values.keys.clients }}
    - {key: {{ . }}.pub, path: clients/{{ . }}.pub}
    {{- end }}
    {{- end }}
    {{- if eq $role "dispatcher" }}
    - {key: worker.pub, path: workers/worker.pub}
    - {key: operator.pub, path: operators/operator.pub}
    {{- end }}
{{- end -}}
