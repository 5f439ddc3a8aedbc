locals {
  manifests = provider::k8sconnect::yaml_scoped(<<-YAML
    apiVersion: v1
    kind: Namespace
    metadata:
      name: scoped
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: settings
      namespace: scoped
  YAML
  )
}

output "cluster_scoped" {
  value = keys(local.manifests.cluster_scoped)
}
