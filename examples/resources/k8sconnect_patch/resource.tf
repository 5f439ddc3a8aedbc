resource "k8sconnect_object" "namespace" {
  yaml_body = <<-YAML
    apiVersion: v1
    kind: Namespace
    metadata:
      name: example-patched
  YAML
}

# Kubernetes itself creates this account in every namespace.
resource "k8sconnect_wait" "account" {
  object_ref = {
    api_version = "v1"
    kind        = "ServiceAccount"
    name        = "default"
    namespace   = k8sconnect_object.namespace.object_ref.name
  }
  wait_for = { field = "metadata.uid" }
}

resource "k8sconnect_patch" "account" {
  target = k8sconnect_wait.account.object_ref

  patch = <<-YAML
    metadata:
      labels:
        example.com/team: shop
    automountServiceAccountToken: false
  YAML
}
