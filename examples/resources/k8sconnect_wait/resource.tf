resource "k8sconnect_object" "widgets" {
  yaml_body = <<-YAML
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata:
      name: widgets.example.com
    spec:
      group: example.com
      scope: Namespaced
      names:
        plural: widgets
        kind: Widget
      versions:
      - name: v1
        served: true
        storage: true
        schema:
          openAPIV3Schema:
            type: object
            x-kubernetes-preserve-unknown-fields: true
  YAML
}

resource "k8sconnect_wait" "established" {
  object_ref = k8sconnect_object.widgets.object_ref

  wait_for = {
    condition = "Established"
    timeout   = "1m"
  }
}

resource "k8sconnect_wait" "kind" {
  object_ref = k8sconnect_object.widgets.object_ref
  wait_for   = { field = "status.acceptedNames.kind" }
}

output "kind" {
  value = k8sconnect_wait.kind.result.status.acceptedNames.kind
}
