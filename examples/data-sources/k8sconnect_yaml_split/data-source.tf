data "k8sconnect_yaml_split" "settings" {
  pattern = "${path.module}/manifests/**/*.yaml"
}

# One resource for each document, under a key that does not depend on their order:
# k8sconnect_object.settings["configmap.default.example-colours"]
resource "k8sconnect_object" "settings" {
  for_each  = data.k8sconnect_yaml_split.settings.manifests
  yaml_body = each.value
}
