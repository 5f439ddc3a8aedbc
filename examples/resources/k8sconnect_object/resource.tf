resource "k8sconnect_object" "namespace" {
  yaml_body = <<-YAML
    apiVersion: v1
    kind: Namespace
    metadata:
      name: example-shop
  YAML

  # `status` holds what was waited for, and nothing else.
  wait_for = { field = "status.phase" }
}

# Its namespace comes with the same apply. Nothing has to be ordered.
resource "k8sconnect_object" "web" {
  yaml_body = <<-YAML
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
      namespace: example-shop
    spec:
      replicas: 2
      selector:
        matchLabels: {app: web}
      template:
        metadata:
          labels: {app: web}
        spec:
          containers:
          - name: web
            image: nginx:1.29
  YAML

  # Set once, and then left to an autoscaler.
  ignore_fields = ["spec.replicas"]
}

output "phase" {
  value = k8sconnect_object.namespace.status.phase
}
