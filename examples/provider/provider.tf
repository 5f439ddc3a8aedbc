terraform {
  required_providers {
    k8sconnect = {
      source = "jmorris0x0/k8sconnect"
    }
  }
}

# The cluster of every resource that names none: what kubectl would use, so that no credentials are stored in the state.
provider "k8sconnect" {
  cluster = {}
}
