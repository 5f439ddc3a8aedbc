# terraform apply -invoke=action.k8sconnect_scale.web
action "k8sconnect_scale" "web" {
  config {
    api_version = "apps/v1"
    kind        = "Deployment"
    name        = "web"
    namespace   = "default"
    replicas    = 3
    timeout     = "5m"
  }
}
