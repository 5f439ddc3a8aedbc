kubectl apply --server-side -f shop.yaml
plimsoll terraform install
terraform init
