use cluster::{Class, PatchType, Selection, Write};
use serde_json::json;

use super::*;

const US: &str = "k8sconnect";

#[tokio::test]
async fn a_dry_run_reports_creation_and_changes_nothing() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("apply").await);
    let object = config_map(&namespace, "a", &json!({ "k": "v" }));
    let target = reference(&object);
    let planned = session.apply(&target, &object, Write::by(US).dry_run()).await.unwrap();
    assert!(planned.created());
    assert!(session.read(&target).await.unwrap().is_none());

    let created = session.apply(&target, &object, Write::by(US)).await.unwrap();
    assert!(created.created());
    let read = session.read(&target).await.unwrap().unwrap();
    assert_eq!(created.object, read.object, "the response is the object, so nothing has to be read back");

    let planned = session.apply(&target, &object, Write::by(US).dry_run()).await.unwrap();
    assert!(!planned.created());
}

#[tokio::test]
async fn unknown_fields_are_rejected_in_built_in_and_custom_kinds() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("strict").await);
    let mut object = deployment(&namespace, "web", 1);
    object["spec"]["replicaz"] = json!(3);
    let error = session.apply(&reference(&object), &object, Write::by(US).dry_run()).await.unwrap_err();
    assert_eq!(error.class(), Class::FieldValidation, "{error:?}");
    assert!(error.retries().is_empty() && !error.is_server_fault());
    assert_eq!(error.diagnostic("Plan").field.as_deref(), Some("spec.replicaz"));

    // Without the query parameter, the server would drop it silently.
    let group = group_of(&namespace);
    let spec = json!({ "type": "object", "properties": { "size": { "type": "integer" } } });
    let definition = crd(&group, "Widget", &spec);
    session.apply(&reference(&definition), &definition, Write::by(US)).await.unwrap();
    let widget = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Widget",
        "metadata": { "name": "w", "namespace": namespace.name() }, "spec": { "sise": 3 },
    });
    let error = session.apply_when_possible(&reference(&widget), &widget, Write::by(US)).await.unwrap_err();
    assert_eq!(error.class(), Class::FieldValidation, "{error:?}");
}

#[tokio::test]
async fn a_conflict_names_field_and_manager_and_force_overrides_it() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("conflict").await);
    let object = deployment(&namespace, "conflict-web", 1);
    let target = reference(&object);
    session.apply(&target, &object, Write::by(US)).await.unwrap();
    namespace.merge_as("hpa", &object, &json!({ "spec": { "replicas": 5 } })).await;

    let error = session.apply(&target, &object, Write::by(US)).await.unwrap_err();
    assert_eq!(error.class(), Class::FieldManagerConflict);
    let conflicts = error.field_conflicts();
    assert_eq!((conflicts[0].field.as_str(), conflicts[0].manager.as_str()), ("spec.replicas", "hpa"));

    let taken = session.apply(&target, &object, Write::by(US).force()).await.unwrap();
    assert_eq!(taken.object["spec"]["replicas"], 1);
}

#[tokio::test]
async fn the_server_s_warnings_are_part_of_the_reply() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("warning").await);
    let metadata = json!({ "name": "e", "namespace": namespace.name() });
    let deprecated = json!({ "apiVersion": "v1", "kind": "Endpoints", "metadata": metadata });
    let reply = session.apply(&reference(&deprecated), &deprecated, Write::by(US)).await.unwrap();
    assert!(reply.warnings.iter().any(|warning| warning.contains("deprecated")), "{:?}", reply.warnings);
    let object = config_map(&namespace, "a", &json!({}));
    let reply = session.apply(&reference(&object), &object, Write::by(US)).await.unwrap();
    assert_eq!(reply.warnings, Vec::<String>::new());
}

#[tokio::test]
async fn patches_of_all_types_are_previewed_and_applied() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("patch").await);
    let object = config_map(&namespace, "a", &json!({ "k": "0" }));
    let target = reference(&object);
    namespace.apply_as("argocd", &object).await;
    for (patch_type, patch, value) in [
        (PatchType::Json, json!([{ "op": "replace", "path": "/data/k", "value": "1" }]), "1"),
        (PatchType::Merge, json!({ "data": { "k": "2" } }), "2"),
        (PatchType::Strategic, json!({ "data": { "k": "3" } }), "3"),
    ] {
        let by = Write::by("k8sconnect-patch-1");
        let before = session.read(&target).await.unwrap().unwrap().object;
        let preview = session.patch(&target, patch_type, &patch, by.dry_run()).await.unwrap();
        assert_eq!(preview.object["data"]["k"], value);
        assert_eq!(session.read(&target).await.unwrap().unwrap().object, before);
        let made = session.patch(&target, patch_type, &patch, by).await.unwrap();
        assert_eq!(made.object["data"]["k"], value);
        let managers = made.object["metadata"]["managedFields"].as_array().unwrap();
        assert!(managers.iter().any(|entry| entry["manager"] == "k8sconnect-patch-1"));
    }
}

#[tokio::test]
async fn releasing_a_field_keeps_its_value() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("release").await);
    let object = deployment(&namespace, "web", 3);
    let target = reference(&object);
    session.apply(&target, &object, Write::by(US)).await.unwrap();
    let edited = session
        .edit_managed_fields(&target, Write::by(US), None, |live| {
            let entries = live["metadata"]["managedFields"].as_array()?;
            let at = entries.iter().position(|entry| entry["manager"] == US)?;
            Some(vec![json!({ "op": "remove", "path": format!("/metadata/managedFields/{at}/fieldsV1/f:spec/f:replicas") })])
        })
        .await
        .unwrap();
    assert!(edited.is_some());
    let mut without = object.clone();
    without["spec"].as_object_mut().unwrap().remove("replicas");
    let applied = session.apply(&target, &without, Write::by(US)).await.unwrap();
    assert_eq!(applied.object["spec"]["replicas"], 3, "an apply without it would have reset it to 1");
}

#[tokio::test]
async fn a_stale_edit_of_managed_fields_is_repeated() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("race").await);
    let object = config_map(&namespace, "a", &json!({ "k": "v" }));
    let target = reference(&object);
    session.apply(&target, &object, Write::by(US)).await.unwrap();
    let mut looks = 0;
    let edited = session
        .edit_managed_fields(&target, Write::by(US), None, |live| {
            looks += 1;
            if looks == 1 {
                // Another client writes first.
                namespace.kubectl(&["annotate", "configmap", "a", "by=another-client"]).unwrap();
            }
            assert_eq!(live["metadata"]["annotations"]["by"] == "another-client", looks == 2);
            Some(vec![json!({ "op": "remove", "path": "/metadata/managedFields/0/fieldsV1/f:data/f:k" })])
        })
        .await
        .unwrap();
    assert_eq!(looks, 2);
    assert_eq!(edited.unwrap().object["data"]["k"], "v");
}

#[tokio::test]
async fn lists_are_paged_and_selected() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("list").await);
    for number in 0..3 {
        let mut object = config_map(&namespace, &format!("m{number}"), &json!({}));
        object["metadata"]["labels"] = json!({ "even": (number % 2 == 0).to_string() });
        session.apply(&reference(&object), &object, Write::by(US)).await.unwrap();
    }
    let gvk = "v1/ConfigMap".parse().unwrap();
    let selection = Selection {
        namespace: Namespace::new(namespace.name()),
        labels: Some("even=true".to_owned()),
        ..Selection::default()
    };
    let listing = session.list(&gvk, &selection).await.unwrap();
    let names: Vec<_> = listing.items.iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["m0", "m2"]);
    assert_eq!(
        (&listing.items[0]["kind"], &listing.items[0]["apiVersion"]),
        (&json!("ConfigMap"), &json!("v1"))
    );
    let one = session.list(&gvk, &Selection { limit: Some(1), ..selection }).await.unwrap();
    assert_eq!(one.items.len(), 1);
    assert!(!one.resource_version.is_empty());
}

#[tokio::test]
async fn an_object_of_the_greatest_depth_round_trips() {
    let (session, namespace) = (session(), Sandbox::shared().namespace("deep").await);
    let group = group_of(&namespace);
    let definition =
        crd(&group, "Well", &json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }));
    session.apply(&reference(&definition), &definition, Write::by("us")).await.unwrap();
    let nested = |levels: usize| (1..levels).fold(json!({ "end": 1 }), |inner, _| json!({ "a": inner }));
    let well = |levels: usize| {
        let metadata = json!({ "name": "w", "namespace": namespace.name() });
        // The object itself is the level around its spec.
        json!({ "apiVersion": format!("{group}/v1"), "kind": "Well", "metadata": metadata, "spec": nested(levels - 1) })
    };
    let target = reference(&well(256));
    let applied = session.apply_when_possible(&target, &well(256), Write::by("us")).await.unwrap();
    assert_eq!(applied.object["spec"], nested(255));
    let read = session.read(&target).await.unwrap().unwrap();
    assert_eq!(read.object["spec"], nested(255));
    let deeper = session.apply(&target, &well(257), Write::by("us")).await.unwrap_err();
    assert!(deeper.diagnostic("Update").detail.contains("257 levels deep"), "{deeper:?}");
    session.delete(&reference(&definition), &cluster::Delete::of(&reference(&definition))).await.unwrap();
}
