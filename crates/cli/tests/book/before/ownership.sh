plimsoll apply -f shop.yaml --applyset shop --quiet
kubectl patch deploy/web --field-manager kubectl --patch '{"spec":{"replicas":5}}'
