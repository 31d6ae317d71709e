{{/* Settings that the chart makes from other values. */}}
{{- define "portico.ownSettings" -}}
listen: the pods listen on port 8080, and service.port says what clients see
ops.listen: the pods listen on port 9464
server.drain_delay: set drain.delaySeconds
server.shutdown_timeout: set drain.shutdownTimeoutSeconds
sql.migrate: set migration.enabled
{{- end -}}

{{/* Secret settings: a test compares the list with those of the program. */}}
{{- define "portico.secretSettings" -}}
auth.secret_key cache.redis_url follow.dsn legacy.consumer_secret legacy.token_secret media.access_key media.secret_key ops.token rest.secret sql.direct_dsn sql.dsn tracing.headers
{{- end -}}

{{/* Fails with everything that is wrong with the values and that the schema cannot say. */}}
{{- define "portico.check" -}}
{{- $faults := list -}}
{{- range $setting, $instead := include "portico.ownSettings" . | fromYaml -}}
{{- if include "portico.isSet" (dict "config" $.Values.config "setting" $setting) -}}
{{- $faults = append $faults (printf "config: leave out %s: %s" $setting $instead) -}}
{{- end -}}
{{- end -}}
{{- range $setting := concat (include "portico.secretSettings" . | splitList " ") (keys .Values.existingSecret.keys) | uniq | sortAlpha -}}
{{- if include "portico.isSet" (dict "config" $.Values.config "setting" $setting) -}}
{{- $faults = append $faults (printf "config: leave out %s, which is a secret: put it into the Secret %s, and name its key in existingSecret.keys" $setting $.Values.existingSecret.name) -}}
{{- end -}}
{{- end -}}
{{- $several := or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) -}}
{{- if include "portico.sqlite" . -}}
{{- if $several -}}
{{- $faults = append $faults "SQLite is for a single process: set replicaCount to 1 and autoscaling.enabled to false, or name the key with the DSN of a database server in existingSecret.keys, as sql.dsn" -}}
{{- end -}}
{{- if not .Values.persistence.enabled -}}
{{- $faults = append $faults "SQLite without a volume loses all data when the pod ends: set persistence.enabled to true, or name the key with the DSN of a database server in existingSecret.keys, as sql.dsn" -}}
{{- end -}}
{{- else if and $several (include "portico.exclusive" .) (not (include "portico.isSet" (dict "config" .Values.config "setting" "media.bucket"))) -}}
{{- $faults = append $faults "several replicas share the images in /data: set persistence.accessModes to [ReadWriteMany], of a storage class that can do so, or config: {media.bucket: …} to store them in a bucket, or persistence.enabled to false if no images are stored" -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- $faults = append $faults "autoscaling.maxReplicas is below autoscaling.minReplicas" -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (eq .Values.autoscaling.metric "cpu") (not (dig "requests" "cpu" "" .Values.resources)) -}}
{{- $faults = append $faults "autoscaling by cpu compares with what a pod requests: set resources.requests.cpu" -}}
{{- end -}}
{{- if $faults -}}
{{- fail (printf "\n  %s" (join "\n  " $faults)) -}}
{{- end -}}
{{- end -}}
