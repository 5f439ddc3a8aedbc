# Reads a Secret at plan and at apply, and hands its value on without storing it.
ephemeral "k8sconnect_object" "ca" {
  api_version = "v1"
  kind        = "ConfigMap"
  name        = "kube-root-ca.crt"
  namespace   = "default"
  wait_for    = { field = "data" }
}

resource "k8sconnect_object" "copy" {
  yaml_body = <<-YAML
    apiVersion: v1
    kind: Secret
    metadata:
      name: copied-ca
      namespace: default
  YAML
  yaml_body_wo = provider::k8sconnect::encode({
    stringData = { "ca.crt" = ephemeral.k8sconnect_object.ca.object.data["ca.crt"] }
  })
  yaml_body_wo_version = "1"
}
