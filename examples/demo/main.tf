terraform {
  required_providers {
    k8sconnect = { source = "jmorris0x0/k8sconnect" }
  }
}

variable "compartment" {
  type = string
}

provider "k8sconnect" {
  cluster = {} # KUBECONFIG
}

resource "k8sconnect_object" "definition" {
  yaml_body = file("${path.module}/definition.yaml")
}

resource "k8sconnect_object" "composition" {
  yaml_body = file("${path.module}/composition.yaml")
}

resource "k8sconnect_object" "orders" {
  yaml_body = templatefile("${path.module}/claim.yaml", { compartment = var.compartment })
  wait_for  = { field = "status.endpoint" }
}

resource "k8sconnect_object" "front" {
  yaml_body = file("${path.module}/front.yaml")
  wait_for  = { rollout = true }
}

output "endpoint" {
  value = k8sconnect_object.orders.status.endpoint
}
