data "k8sconnect_yaml_scoped" "app" {
  content = <<-YAML
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: settings
      namespace: example-scoped
    ---
    apiVersion: v1
    kind: Namespace
    metadata:
      name: example-scoped
  YAML
}

resource "k8sconnect_object" "crds" {
  for_each  = data.k8sconnect_yaml_scoped.app.crds
  yaml_body = each.value
}

resource "k8sconnect_object" "cluster_scoped" {
  for_each   = data.k8sconnect_yaml_scoped.app.cluster_scoped
  yaml_body  = each.value
  depends_on = [k8sconnect_object.crds]
}

resource "k8sconnect_object" "namespaced" {
  for_each   = data.k8sconnect_yaml_scoped.app.namespaced
  yaml_body  = each.value
  depends_on = [k8sconnect_object.cluster_scoped]
}
