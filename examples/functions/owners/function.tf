data "k8sconnect_object" "kubernetes" {
  api_version = "v1"
  kind        = "Service"
  name        = "kubernetes"
  namespace   = "default"
}

output "port_owners" {
  value = provider::k8sconnect::owners(
    provider::k8sconnect::decode(data.k8sconnect_object.kubernetes.yaml_body)
  )["spec.clusterIP"]
}
