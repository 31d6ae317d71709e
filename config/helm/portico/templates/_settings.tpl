{{/* "true" if the setting is in the configuration, as a key of a section or with a dot. */}}
{{- define "portico.isSet" -}}
{{- $parts := splitList "." .setting -}}
{{- $section := get .config (first $parts) -}}
{{- if or (hasKey .config .setting) (and (gt (len $parts) 1) (kindIs "map" $section) (hasKey (ternary $section dict (kindIs "map" $section)) (last $parts))) -}}
true
{{- end -}}
{{- end -}}

{{/* "true" if the database is SQLite. */}}
{{- define "portico.sqlite" -}}
{{- if not (hasKey .Values.existingSecret.keys "sql.dsn") }}true{{ end -}}
{{- end -}}

{{/* "true" if only one pod at a time can have /data. */}}
{{- define "portico.exclusive" -}}
{{- if or (include "portico.sqlite" .) (and .Values.persistence.enabled (not (has "ReadWriteMany" .Values.persistence.accessModes))) }}true{{ end -}}
{{- end -}}

{{/* "true" if a job migrates the database. SQLite has its file on the volume of the pod. */}}
{{- define "portico.migrates" -}}
{{- if and .Values.migration.enabled (not (include "portico.sqlite" .)) }}true{{ end -}}
{{- end -}}

{{/* A value of a setting. Helm reads whole numbers as floats, and would print 4e+07. */}}
{{- define "portico.value" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}
{{ int64 . }}
{{- else -}}
{{ toJson . }}
{{- end -}}
{{- end -}}

{{/* portico.yaml */}}
{{- define "portico.config" -}}
{{- $own := dict
  "server.drain_delay" (printf "%ds" (int .Values.drain.delaySeconds))
  "server.shutdown_timeout" (printf "%ds" (int .Values.drain.shutdownTimeoutSeconds))
  "sql.migrate" (ternary "off" "auto" (eq "true" (include "portico.migrates" .))) -}}
{{- if not (include "portico.isSet" (dict "config" .Values.config "setting" "sql.media_dir")) }}
{{- $_ := set $own "sql.media_dir" "/data/media" }}
{{- end }}
{{- range $name, $value := merge $own .Values.config }}
{{- if kindIs "map" $value }}
{{ $name }}:
{{- range $part, $of := $value }}
  {{ $part }}: {{ include "portico.value" $of }}
{{- else }} {}
{{- end }}
{{- else }}
{{ $name }}: {{ include "portico.value" $value }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The environment of a container. The image sets two settings itself. */}}
{{- define "portico.env" -}}
- {name: PORTICO_CONFIG, value: /etc/portico/portico.yaml}
- {name: PORTICO_LISTEN, value: ":8080"}
- {name: PORTICO_OPS_LISTEN, value: ":9464"}
- name: PORTICO_LOG_FORMAT
  value: {{ get .Values.config "log.format" | default (dig "log" "format" "json" .Values.config) | quote }}
{{- range $setting, $key := .Values.existingSecret.keys }}
- name: PORTICO_{{ $setting | upper | replace "." "_" }}_FILE
  value: /run/portico/secrets/{{ $key }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
