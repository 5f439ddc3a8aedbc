use std::time::Duration;

use cluster::{Delete, Deletion, Write};
use serde_json::json;

use super::*;

fn within(seconds: u64) -> Delete {
    let anything = reference(&json!({ "apiVersion": "v1", "kind": "ConfigMap" }));
    Delete { timeout: Duration::from_secs(seconds), ..Delete::of(&anything) }
}

fn gone() -> Deletion {
    Deletion::Gone { forced: Vec::new() }
}

#[tokio::test]
async fn deleting_a_missing_object_succeeds() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("delete").await);
    for object in [config_map(&namespace, "a", &json!({})), deployment(&namespace, "web", 2)] {
        let target = reference(&object);
        session.apply(&target, &object, Write::by("us")).await.unwrap();
        assert_eq!(session.delete(&target, &within(60)).await.unwrap(), gone());
        assert!(session.read(&target).await.unwrap().is_none());
        assert_eq!(session.delete(&target, &within(60)).await.unwrap(), gone());
    }
}

#[tokio::test]
async fn an_object_of_another_uid_is_left_alone() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("uid").await);
    let object = config_map(&namespace, "a", &json!({}));
    let target = reference(&object);
    session.apply(&target, &object, Write::by("us")).await.unwrap();
    let how = Delete { uid: Some("00000000-0000-0000-0000-000000000000".to_owned()), ..within(60) };
    assert_eq!(session.delete(&target, &how).await.unwrap(), Deletion::Recreated);
    assert!(session.read(&target).await.unwrap().is_some());
}

#[tokio::test]
async fn finalizers_block_a_deletion_until_force_removes_them() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("finalizer").await);
    let mut object = config_map(&namespace, "a", &json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/keep"]);
    let target = reference(&object);
    session.apply(&target, &object, Write::by("us")).await.unwrap();
    let Deletion::Stuck(stuck) = session.delete(&target, &within(1)).await.unwrap() else {
        panic!("it has gone")
    };
    assert_eq!(stuck.finalizers(), ["example.com/keep"]);
    assert_eq!(stuck.diagnostic().summary, "Deletion Blocked by Finalizers");

    let how = Delete { force: true, ..within(1) };
    let forced = session.delete(&target, &how).await.unwrap();
    assert_eq!(forced, Deletion::Gone { forced: vec!["example.com/keep".to_owned()] });
    assert!(session.read(&target).await.unwrap().is_none());
}

#[tokio::test]
async fn a_job_s_pods_are_deleted_with_it() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("job").await);
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "j", "namespace": namespace.name() },
        "spec": { "template": { "spec": {
            "restartPolicy": "Never", "containers": [{ "name": "main", "image": "registry.example.com/job:1" }],
        } } },
    });
    let target = reference(&job);
    session.apply(&target, &job, Write::by("us")).await.unwrap();
    let active = |job: Option<&Value>| job.is_some_and(|job| !job["status"]["startTime"].is_null());
    namespace.until(&job, "the job has begun", active).await;
    assert_eq!(session.delete(&target, &within(60)).await.unwrap(), gone());
    let pods = namespace.kubectl(&["wait", "pod", "-l", "job-name=j", "--for=delete", "--timeout=60s"]);
    assert!(pods.is_ok(), "{pods:?}");
}

#[tokio::test]
async fn a_stuck_namespace_lists_what_holds_it() {
    let (session, scratch) = (session(), Sandbox::shared().namespace("held").await);
    let mut held = config_map(&scratch, "a", &json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/keep"]);
    session.apply(&reference(&held), &held, Write::by("us")).await.unwrap();
    let namespace = reference(
        &json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": scratch.name() } }),
    );
    let Deletion::Stuck(stuck) = session.delete(&namespace, &within(5)).await.unwrap() else {
        panic!("it has gone")
    };
    let diagnostic = stuck.diagnostic();
    assert_eq!(diagnostic.summary, "Namespace Deletion Timeout");
    assert!(diagnostic.detail.contains("ConfigMap a: example.com/keep"), "{}", diagnostic.detail);

    let how = Delete { force: true, ..within(1) };
    assert!(matches!(session.delete(&reference(&held), &how).await.unwrap(), Deletion::Gone { .. }));
    assert_eq!(session.delete(&namespace, &within(60)).await.unwrap(), gone());
}

#[tokio::test]
async fn an_object_is_deleted_with_its_crd() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("kind-gone").await);
    let group = group_of(&namespace);
    let definition = crd(&group, "Widget", &json!({ "type": "object" }));
    let widget = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Widget", "metadata": { "name": "w", "namespace": namespace.name() },
    });
    session.apply(&reference(&definition), &definition, Write::by("us")).await.unwrap();
    session.apply_when_possible(&reference(&widget), &widget, Write::by("us")).await.unwrap();
    // One session has cached the kind, another deletes it behind its back.
    namespace.kubectl(&["delete", "crd", &format!("widgets.{group}"), "--timeout=60s"]).unwrap();
    assert_eq!(session.delete(&reference(&widget), &within(60)).await.unwrap(), gone());
}
