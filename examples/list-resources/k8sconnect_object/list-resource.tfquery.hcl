# terraform query -generate-config-out=generated.tf
list "k8sconnect_object" "deployments" {
  provider = k8sconnect
  config {
    api_version    = "apps/v1"
    kind           = "Deployment"
    namespaces     = ["default"]
    label_selector = "team=shop"
  }
}
