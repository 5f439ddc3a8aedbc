//! Compositions get revisions with numbers, revisions say whether they can run, and claims follow them or stay.

use cluster::Selection;
use composition::protocol::Resource;
use functions::{FunctionError, RunRequest, RunResponse, response};
use serde_json::{Value, json};

use crate::fixture::{
    apply, composition, condition, condition_line, get, group, is_true, legacy_xrd, session, until, world,
};
use crate::platform::Platform;

/// The revisions of a Composition: name, number, hash.
async fn revisions(session: &cluster::Session, composition: &str) -> Vec<(String, i64, String)> {
    let gvk = "apiextensions.crossplane.io/v1/CompositionRevision".parse().unwrap();
    let labels = Some(format!("crossplane.io/composition-name={composition}"));
    let listing = session.list(&gvk, &Selection { labels, ..Selection::default() }).await.unwrap();
    let mut all: Vec<_> = listing
        .items
        .iter()
        .map(|revision| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let hash = text(&revision["metadata"]["labels"]["crossplane.io/composition-hash"]);
            (text(&revision["metadata"]["name"]), revision["spec"]["revision"].as_i64().unwrap(), hash)
        })
        .collect();
    all.sort_by_key(|(_, number, _)| *number);
    all
}

fn named(name: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositionRevision", "metadata": {"name": name},
    })
}

/// Waits until the newest revision of a Composition has this number, and returns all.
async fn until_numbered(
    session: &cluster::Session,
    composition: &str,
    newest: i64,
) -> Vec<(String, i64, String)> {
    let gvk = "apiextensions.crossplane.io/v1/CompositionRevision".parse().unwrap();
    let labels = Some(format!("crossplane.io/composition-name={composition}"));
    let selection = Selection { labels, ..Selection::default() };
    let mut watch = session.watch(&gvk, selection, None).await.unwrap();
    let coming = async {
        loop {
            let all = revisions(session, composition).await;
            if all.last().is_some_and(|(_, number, _)| *number == newest) {
                return all;
            }
            watch.next().await.unwrap();
        }
    };
    tokio::time::timeout(crate::fixture::PATIENCE, coming).await.unwrap()
}

#[tokio::test]
async fn each_content_is_one_revision_and_going_back_makes_the_old_one_the_newest() {
    world();
    let (session, group) = (session(), group("revisions"));
    let name = format!("app-{}", group.split('.').next().unwrap());
    let mut first = composition(&name, &group, &["function-auto-ready"]);
    first["metadata"]["labels"] = json!({"channel": "stable"});
    apply(&session, &first).await;
    let one = until_numbered(&session, &name, 1).await;
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].2.len(), 63);
    assert_eq!(one[0].0, format!("{name}-{}", &one[0].2[..7]));
    let revision =
        until(&session, &named(&one[0].0), "it is valid", |one| is_true(one, "ValidPipeline")).await;
    assert_eq!(condition_line(&revision, "Synced"), "Synced=True ReconcileSuccess");
    assert_eq!(condition_line(&revision, "ValidPipeline"), "ValidPipeline=True ValidPipeline");
    assert_eq!(revision["metadata"]["labels"]["channel"], "stable");
    assert_eq!(revision["metadata"]["ownerReferences"][0]["kind"], "Composition");

    let mut second = first.clone();
    second["spec"]["pipeline"][0]["step"] = "another".into();
    apply(&session, &second).await;
    let two = until_numbered(&session, &name, 2).await;
    assert_eq!(two.len(), 2);
    apply(&session, &first).await;
    let back = until_numbered(&session, &name, 3).await;
    assert_eq!(back.len(), 2, "{back:?}");
    assert_eq!(back[1].0, one[0].0);
}

#[tokio::test]
async fn a_function_that_cannot_compose_makes_the_pipeline_invalid_until_it_can() {
    world();
    let (session, group) = (session(), group("capabilities"));
    let name = format!("app-{}", group.split('.').next().unwrap());
    let function = format!("function-{}", group.split('.').next().unwrap());
    let mut installed = json!({
        "apiVersion": "pkg.crossplane.io/v1", "kind": "FunctionRevision",
        "metadata": {"name": format!("{function}-1"), "labels": {"pkg.crossplane.io/package": function}},
        "spec": {"desiredState": "Active", "image": "xpkg.example.org/test/function:v1", "revision": 1},
    });
    apply(&session, &installed).await;
    installed["status"] = json!({"capabilities": ["operation"]});
    let status = cluster::Write::by("packages").force().status();
    session.apply(&crate::fixture::reference(&installed), &installed, status).await.unwrap();
    apply(&session, &composition(&name, &group, &[&function])).await;
    let revisions = until_numbered(&session, &name, 1).await;
    let revision = named(&revisions[0].0);
    let invalid = until(&session, &revision, "it is invalid", |revision| {
        condition(revision, "ValidPipeline").is_some_and(|valid| valid["status"] == "False")
    })
    .await;
    assert_eq!(condition_line(&invalid, "ValidPipeline"), "ValidPipeline=False MissingCapabilities");
    installed["status"] = json!({"capabilities": ["operation", "composition"]});
    session.apply(&crate::fixture::reference(&installed), &installed, status).await.unwrap();
    until(&session, &revision, "it is valid", |revision| is_true(revision, "ValidPipeline")).await;
}

/// Says what the step's input says.
async fn say(request: RunRequest) -> Result<RunResponse, FunctionError> {
    let mut rsp = response::to(&request);
    let text = request.input.as_ref().and_then(|input| input.get("say")).cloned().unwrap_or_default();
    rsp.desired.composite = Resource::of(json!({"status": {"coolerField": text}}));
    Ok(rsp)
}

/// The Composition of a platform whose step says `text`, as a release of this number.
fn release(platform: &Platform, number: &str, text: &str) -> Value {
    let mut saying = composition(&platform.group, &platform.group, &[&platform.function]);
    saying["metadata"]["labels"] = json!({"release": number});
    let input = json!({"apiVersion": "example.org/v1", "kind": "Input", "say": text});
    saying["spec"]["pipeline"][0]["input"] = input;
    saying
}

#[tokio::test]
async fn a_claim_follows_its_composition_or_stays_with_the_revision_it_has_chosen() {
    let default = |group: &str| {
        let mut xrd = legacy_xrd(group);
        xrd["spec"]["defaultCompositionRef"] = json!({"name": group});
        xrd
    };
    let platform = Platform::with("choosing", say, default, &[]).await;
    let session = session();
    apply(&session, &release(&platform, "1", "one")).await;
    let claim = |name: &str, spec: Value| platform.object("App", name, Some("default"), &spec);
    let following = claim("following", json!({}));
    let selector = json!({"compositionRevisionSelector": {"matchLabels": {"release": "1"}}});
    let (selecting, mut manual) =
        (claim("selecting", selector), claim("manual", json!({"compositionUpdatePolicy": "Manual"})));
    let says = |text: &'static str| move |claim: &Value| claim["status"]["coolerField"] == text;
    for claim in [&following, &selecting, &manual] {
        apply(&session, claim).await;
        let shown = until(&session, claim, "it says one", says("one")).await;
        let chosen = |claim: &Value| claim["spec"]["compositionRef"]["name"] == platform.group;
        until(&session, &shown, "it shows the XRD's choice", chosen).await;
    }
    apply(&session, &release(&platform, "2", "two")).await;
    until(&session, &following, "it says two", says("two")).await;
    for claim in [&selecting, &manual] {
        assert_eq!(get(&session, claim).await.unwrap()["status"]["coolerField"], "one");
    }
    let newest = revisions(&session, &platform.group).await.pop().unwrap().0;
    manual["spec"]["compositionRevisionRef"] = json!({"name": newest});
    apply(&session, &manual).await;
    until(&session, &manual, "it says two", says("two")).await;
}

#[tokio::test]
async fn an_enforced_composition_beats_the_claims_choice() {
    let enforced = |group: &str| {
        let mut xrd = legacy_xrd(group);
        xrd["spec"]["enforcedCompositionRef"] = json!({"name": group});
        xrd
    };
    let platform = Platform::with("enforced", say, enforced, &[]).await;
    let session = session();
    apply(&session, &release(&platform, "1", "enforced")).await;
    let mut other = release(&platform, "1", "other");
    other["metadata"]["name"] = format!("other-{}", platform.group).into();
    apply(&session, &other).await;
    let wish = json!({"compositionRef": {"name": other["metadata"]["name"]}});
    let claim = platform.object("App", "enforced", Some("default"), &wish);
    apply(&session, &claim).await;
    let reported = |claim: &Value| claim["status"]["coolerField"] == "enforced";
    until(&session, &claim, "it says what is enforced", reported).await;
    let shown = |claim: &Value| claim["spec"]["compositionRef"]["name"] == platform.group;
    until(&session, &claim, "it shows what is enforced", shown).await;
}
