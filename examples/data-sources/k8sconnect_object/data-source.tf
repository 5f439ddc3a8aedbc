data "k8sconnect_object" "api" {
  api_version = "v1"
  kind        = "Service"
  name        = "kubernetes"
  namespace   = "default"
}

output "port" {
  value = data.k8sconnect_object.api.object.spec.ports[0].port
}
