cat > crds.yaml <<'EOF'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: cakes.shop.example.org}
spec:
  group: shop.example.org
  scope: Namespaced
  names: {kind: Cake, plural: cakes}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: bakery}
EOF
cat > objects.yaml <<'EOF'
apiVersion: shop.example.org/v1
kind: Cake
metadata: {name: a, namespace: bakery}
EOF
cat > main.tf <<'EOF'
resource "k8sconnect_object" "cake" {
  yaml_body = <<-YAML
    apiVersion: shop.example.org/v1
    kind: Cake
    metadata: {name: a, namespace: kitchen}
  YAML
}
resource "k8sconnect_object" "kitchen" {
  yaml_body = <<-YAML
    apiVersion: v1
    kind: Namespace
    metadata: {name: kitchen}
  YAML
}
EOF
plimsoll terraform install
terraform init
sed s/Deployment/Deploymnet/ shop.yaml > typo.yaml
