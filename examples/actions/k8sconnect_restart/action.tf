# By hand: terraform apply -invoke=action.k8sconnect_restart.web
action "k8sconnect_restart" "web" {
  config {
    api_version = "apps/v1"
    kind        = "Deployment"
    name        = "web"
    namespace   = "default"
    timeout     = "5m"
  }
}

# Whenever its settings have changed.
resource "k8sconnect_object" "settings" {
  yaml_body = <<-YAML
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: settings
      namespace: default
    data:
      level: info
  YAML

  lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.k8sconnect_restart.web]
    }
  }
}
