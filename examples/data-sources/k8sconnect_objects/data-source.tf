data "k8sconnect_objects" "accounts" {
  api_version = "v1"
  kind        = "ServiceAccount"
  namespace   = "default"
}

output "accounts" {
  value = keys(data.k8sconnect_objects.accounts.objects)
}
