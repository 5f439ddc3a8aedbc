grep '^resource "k8sconnect_object"' generated.tf
terraform plan -detailed-exitcode
