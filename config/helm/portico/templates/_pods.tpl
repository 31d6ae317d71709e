{{/* What every pod of the chart has in common. */}}
{{- define "portico.pod" -}}
automountServiceAccountToken: false
# Or Kubernetes would add variables such as PORTICO_PORT, which look like settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* What every container of the chart has in common. */}}
{{- define "portico.container" -}}
image: {{ include "portico.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources: {{- toYaml .Values.resources | nindent 2 }}
{{- end -}}

{{- define "portico.volumeMounts" -}}
- {name: config, mountPath: /etc/portico, readOnly: true}
- {name: secrets, mountPath: /run/portico/secrets, readOnly: true}
- {name: temporary, mountPath: /tmp}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The argument has the root, and the name of the ConfigMap. */}}
{{- define "portico.volumes" -}}
- name: config
  configMap: {name: {{ .configMap }}}
- name: secrets
  secret:
    secretName: {{ .root.Values.existingSecret.name }}
    defaultMode: 0440
    items:
    {{- range $key := .root.Values.existingSecret.keys | values | uniq | sortAlpha }}
      - {key: {{ $key }}, path: {{ $key }}}
    {{- end }}
- name: temporary
  emptyDir: {sizeLimit: {{ .root.Values.temporary.sizeLimit }}}
{{- with .root.Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
