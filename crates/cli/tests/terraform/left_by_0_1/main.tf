variable "kubeconfig" { type = string }
provider "k8sconnect" {
  cluster = { kubeconfig = file(var.kubeconfig) }
}
locals { cluster = { kubeconfig = file(var.kubeconfig) } }
resource "k8sconnect_object" "ns" {
  yaml_body = <<-YAML
    apiVersion: v1
    kind: Namespace
    metadata: {name: legacy}
  YAML
}
resource "k8sconnect_object" "settings" {
  depends_on = [k8sconnect_object.ns]
  yaml_body  = <<-YAML
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: settings
      namespace: legacy
      labels: {team: shop}
    data:
      app.properties: "a=1"
      level: info
  YAML
}
resource "k8sconnect_object" "web" {
  cluster       = local.cluster
  depends_on    = [k8sconnect_object.ns]
  ignore_fields = ["spec.replicas"]
  yaml_body     = <<-YAML
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, namespace: legacy}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          containers:
          - name: app
            image: nginx:1.27
            ports: [{containerPort: 80, name: http}]
            env: [{name: MODE, value: "on"}]
            resources: {limits: {cpu: 500m, memory: 128Mi}, requests: {cpu: 0.1}}
  YAML
}
resource "k8sconnect_object" "service" {
  depends_on = [k8sconnect_object.ns]
  yaml_body  = <<-YAML
    apiVersion: v1
    kind: Service
    metadata: {name: web, namespace: legacy}
    spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80, targetPort: http}]}
  YAML
  wait_for   = { field = "status.loadBalancer.ingress" }
}
resource "k8sconnect_object" "secret" {
  depends_on = [k8sconnect_object.ns]
  yaml_body  = <<-YAML
    apiVersion: v1
    kind: Secret
    metadata: {name: key, namespace: legacy}
    stringData: {password: "hunter2"}
  YAML
}
resource "k8sconnect_object" "crd" {
  yaml_body = <<-YAML
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: widgets.legacy.example.com}
    spec:
      group: legacy.example.com
      names: {kind: Widget, plural: widgets}
      scope: Namespaced
      versions:
      - name: v1
        served: true
        storage: true
        schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
  YAML
}
resource "k8sconnect_object" "widget" {
  depends_on = [k8sconnect_object.crd, k8sconnect_object.ns]
  yaml_body  = <<-YAML
    apiVersion: legacy.example.com/v1
    kind: Widget
    metadata: {name: one, namespace: legacy}
    spec: {size: 3, parts: [a, b]}
  YAML
}
resource "k8sconnect_wait" "address" {
  cluster    = local.cluster
  object_ref = k8sconnect_object.service.object_ref
  wait_for   = { field = "status.loadBalancer.ingress" }
}
resource "k8sconnect_wait" "rollout" {
  object_ref = k8sconnect_object.web.object_ref
  wait_for   = { rollout = true }
}
resource "k8sconnect_patch" "label" {
  cluster = local.cluster
  target  = { api_version = "apps/v1", kind = "Deployment", name = "foreign", namespace = "default" }
  patch   = yamlencode({ metadata = { labels = { patched = "yes" } }, spec = { template = { metadata = { annotations = { note = "x" } } } } })
}
resource "k8sconnect_patch" "merge" {
  target      = { api_version = "v1", kind = "ConfigMap", name = "foreign", namespace = "default" }
  merge_patch = jsonencode({ data = { added = "1" } })
}
resource "k8sconnect_patch" "json" {
  target     = { api_version = "v1", kind = "ConfigMap", name = "foreign-json", namespace = "default" }
  json_patch = jsonencode([{ op = "add", path = "/data/added", value = "1" }])
}
output "address" { value = k8sconnect_wait.address.result }
output "status" { value = k8sconnect_object.service.status }
