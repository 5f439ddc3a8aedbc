export TF_CLI_ARGS_apply=-auto-approve
cat > providers.tf <<'EOF'
terraform {
  required_providers {
    k8sconnect = { source = "jmorris0x0/k8sconnect" }
  }
}
provider "k8sconnect" {
  cluster = {}
}
EOF
