# terraform apply -invoke=action.k8sconnect_delete.web
action "k8sconnect_delete" "web" {
  config {
    api_version = "apps/v1"
    kind        = "Deployment"
    name        = "web"
    namespace   = "default"
    timeout     = "5m"
  }
}
