//! 5 MB of mixed manifests: values with spans, compared with what serde-saphyr makes of the same bytes without spans.
//!
//! Bar: at least as fast.

use bench::{Outcome, Role, Run, compare};
use diag::Source;
use manifest::Limits;
use serde_json::Value;

const SIZE: usize = 5 << 20;

fn main() -> Outcome<()> {
    let mut run = Run::begin()?;
    let text = manifests(SIZE);
    let source = Source::new("mixed.yaml", text.as_str());
    let yardstick = || {
        let options = serde_saphyr::options! { budget: None, legacy_octal_numbers: true };
        serde_saphyr::from_multiple_with_options::<Value>(&text, options)
            .expect("the manifests are well formed")
    };
    let subject =
        || manifest::read(&source, &Limits::default()).all().expect("the manifests are well formed");
    assert_eq!(yardstick().len(), subject().len(), "both read every document");
    let yardstick = ("serde-saphyr without spans", Role::Yardstick, yardstick);
    compare(&mut run, "5 MB of manifests with spans", 1.0, yardstick, subject)?;
    run.end()
}

/// What people keep in repositories: workloads, configuration with long texts, lists of rules, a schema, some JSON.
fn manifests(size: usize) -> String {
    let mut text = String::with_capacity(size + 10_000);
    for number in 0.. {
        if text.len() >= size {
            break;
        }
        text.push_str(&DEPLOYMENT.replace("NUMBER", &number.to_string()));
        text.push_str(&CONFIG_MAP.replace("NUMBER", &number.to_string()));
        text.push_str(&CLUSTER_ROLE.replace("NUMBER", &number.to_string()));
        text.push_str(&SERVICE_JSON.replace("NUMBER", &number.to_string()));
    }
    text
}

const DEPLOYMENT: &str = r#"---
# The web front end.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-NUMBER
  namespace: shop
  labels: &labels
    app.kubernetes.io/name: web
    app.kubernetes.io/instance: web-NUMBER
  annotations:
    prometheus.io/scrape: "true"
    description: 'serves the shop, see https://example.com/docs?page=1'
spec:
  replicas: 3
  selector:
    matchLabels: *labels
  template:
    metadata:
      labels: *labels
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 1000, fsGroup: 2000}
      containers:
      - name: web
        image: registry.example.com/shop/web:1.2.3
        args: ["--listen=:8080", "--log-level=info"]
        env:
        - name: DATABASE_URL
          valueFrom:
            secretKeyRef:
              name: database
              key: url
        - name: WORKERS
          value: "4"
        ports:
        - containerPort: 8080
          name: http
          protocol: TCP
        resources:
          limits: {cpu: 500m, memory: 256Mi}
          requests:
            cpu: 100m
            memory: 128Mi
        readinessProbe:
          httpGet:
            path: /healthz
            port: http
          periodSeconds: 5
          failureThreshold: 3
        volumeMounts:
        - mountPath: /etc/web
          name: config
          readOnly: true
      volumes:
      - name: config
        configMap:
          name: web-NUMBER
          defaultMode: 0644
"#;

const CONFIG_MAP: &str = r#"---
apiVersion: v1
kind: ConfigMap
metadata:
  name: web-NUMBER
  namespace: shop
data:
  nginx.conf: |
    worker_processes auto;
    events { worker_connections 1024; }
    http {
      server {
        listen 8080;
        location / {
          proxy_pass http://backend:9000;
          proxy_set_header Host $host;
        }
        location /static/ {
          root /var/www;
          expires 30d;
        }
      }
    }
  app.properties: |
    color=blue
    retries=3
    # Words in several languages: grüße, 日本語, привет
    greeting=hello
  folded: >-
    This text goes on
    over several lines, but is
    one line when it is read.
  empty: ""
"#;

const CLUSTER_ROLE: &str = r#"---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: reader-NUMBER
rules:
- apiGroups: [""]
  resources: ["pods", "services", "configmaps"]
  verbs: ["get", "list", "watch"]
- apiGroups:
  - apps
  - batch
  resources:
  - deployments
  - jobs
  verbs:
  - get
  - list
"#;

const SERVICE_JSON: &str = r#"---
{
  "apiVersion": "v1",
  "kind": "Service",
  "metadata": {"name": "web-NUMBER", "namespace": "shop", "labels": {"app": "web"}},
  "spec": {
    "selector": {"app.kubernetes.io/instance": "web-NUMBER"},
    "ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}],
    "sessionAffinity": "None",
    "ratio": 0.75
  }
}
"#;
