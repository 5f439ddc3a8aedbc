resource "k8sconnect_object" "all" {
  for_each = provider::k8sconnect::yaml_split(<<-YAML
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: first
      namespace: default
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: second
      namespace: default
  YAML
  )
  yaml_body = each.value
}
