ephemeral "k8sconnect_token" "deployer" {
  name      = "default"
  namespace = "default"
  lifetime  = "30m"
}

# The provider takes ephemeral values; nothing of them is in the state.
provider "k8sconnect" {
  alias = "deployer"
  cluster = {
    host                   = "https://kubernetes.example.com:6443"
    cluster_ca_certificate = "-----BEGIN CERTIFICATE-----\n…"
    token                  = ephemeral.k8sconnect_token.deployer.token
  }
}
