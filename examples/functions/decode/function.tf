output "is_boolean" {
  # As Kubernetes reads it: true.
  value = provider::k8sconnect::decode("enabled: yes").enabled
}
