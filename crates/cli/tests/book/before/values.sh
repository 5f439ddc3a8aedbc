plimsoll terraform install
cat > service.yaml <<'EOF'
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
EOF
