//! Workloads run in a sandbox.

use std::collections::BTreeMap;

use sandbox::audit;

use crate::harness::User;

const APPLICATION: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers:
      - {name: prepare, image: busybox}
      - {name: sidecar, image: proxy, restartPolicy: Always}
      containers:
      - {name: web, image: "nginx:1.27"}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
      - {name: db, image: postgres, volumeMounts: [{name: data, mountPath: /data}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: shop}
spec:
  completions: 2
  template:
    spec: {restartPolicy: Never, containers: [{name: migrate, image: migrate}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: at-once, namespace: shop}
spec: {storageClassName: immediate, accessModes: [ReadWriteMany], resources: {requests: {storage: 5Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: unused, namespace: shop}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: broken, namespace: shop}
spec:
  selector: {matchLabels: {app: broken}}
  template:
    metadata: {labels: {app: broken}}
    spec:
      containers:
      - {name: app, image: "registry.example/not-found:1"}
"#;

#[test]
fn an_application_starts_and_is_removed() {
    let user = User::new();
    user.run(&["up", "--name", "work", "--detach", "--audit"]).succeeded();
    let kubectl = |arguments: &[&str]| user.kubectl("work", &[&["-n", "shop"], arguments].concat());
    let wait = |condition: &str, object: &str| {
        kubectl(&["wait", "--timeout=120s", &format!("--for={condition}"), object]);
    };
    user.apply("work", APPLICATION);

    kubectl(&["rollout", "status", "deployment/web", "--timeout=120s"]);
    kubectl(&["rollout", "status", "statefulset/db", "--timeout=120s"]);
    wait("condition=Complete", "job/migrate");
    wait("jsonpath={.status.phase}=Bound", "pvc/at-once");
    wait("jsonpath={.status.loadBalancer.ingress[0].ip}", "service/web");
    wait("jsonpath={.status.loadBalancer.ingress[0].ip}", "ingress/web");
    let broken = "jsonpath={.status.containerStatuses[0].state.waiting.reason}=ImagePullBackOff";
    kubectl(&["wait", "--timeout=120s", &format!("--for={broken}"), "pod", "-l", "app=broken"]);

    let get = |object: &str, path: &str| kubectl(&["get", object, "-o", &format!("jsonpath={{{path}}}")]);
    let cluster_ip = get("service/web", ".spec.clusterIP");
    let address = get("service/web", ".status.loadBalancer.ingress[0].ip");
    assert_eq!(address.strip_prefix("198.18."), cluster_ip.strip_prefix("10.0."), "no other Service has it");
    assert_eq!(get("ingress/web", ".status.loadBalancer.ingress[0].ip"), "203.0.113.1");
    assert_eq!(get("pvc/unused", ".status.phase"), "Pending", "no pod uses its volume yet");
    assert_eq!(get("pvc/data-db-1", ".status.phase"), "Bound");
    assert_eq!(get("pvc/at-once", ".status.capacity.storage"), "5Gi");
    let addresses =
        kubectl(&["get", "endpointslices", "-o", "jsonpath={.items[*].endpoints[*].addresses[0]}"]);
    assert_eq!(addresses.split(' ').count(), 3, "{addresses}");

    collects_garbage(&user);
    deletes_the_namespace_and_its_content(&user);
    counts_requests(&user);
}

fn collects_garbage(user: &User) {
    user.kubectl("work", &["-n", "shop", "delete", "deployment", "web", "--wait=false"]);
    for kind in ["replicaset", "pod"] {
        user.kubectl(
            "work",
            &["-n", "shop", "wait", "--timeout=120s", "--for=delete", kind, "-l", "app=web"],
        );
    }
}

fn deletes_the_namespace_and_its_content(user: &User) {
    let volumes = user.kubectl("work", &["get", "pv", "-o", "name"]);
    assert_eq!(volumes.lines().count(), 3, "{volumes}");
    user.kubectl("work", &["delete", "namespace", "shop", "--timeout=120s"]);
    for volume in volumes.lines() {
        user.kubectl("work", &["wait", "--timeout=120s", "--for=delete", volume]);
    }
}

fn counts_requests(user: &User) {
    let status = user.status("work");
    let mut log = audit::Reader::new(status["auditLog"].as_str().unwrap());
    log.read_new().unwrap();
    user.kubectl("work", &["create", "configmap", "counted"]);
    user.kubectl("work", &["get", "configmap", "counted"]);
    let requests = log.read_new().unwrap();
    let by_kubectl = audit::count(&requests, |request| {
        let counts = request.user_agent.starts_with("kubectl/") && request.resource == "configmaps";
        counts.then_some(request.verb.as_str())
    });
    assert_eq!(by_kubectl, BTreeMap::from([("create", 1), ("get", 1)]));
}
