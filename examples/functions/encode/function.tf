resource "k8sconnect_object" "encoded" {
  yaml_body = provider::k8sconnect::encode({
    apiVersion = "v1"
    kind       = "ConfigMap"
    metadata   = { name = "encoded", namespace = "default" }
    data       = { enabled = "yes" }
  })
}
