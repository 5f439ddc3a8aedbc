//! Credentials and places: nothing is concluded, created or deleted with an identity that a resource is not bound to.

use operations::{
    Action, Call, ConditionType, ExternalService as _, FinalizeReason, Identity, LocalState, Phase, Policy,
    Response, Scope, Status,
};
use serde_json::json;

use crate::harness::{Harness, accepted, found, json, refused, requeues, resource, work};
use crate::operator::UID;
use crate::services::STREAM;

#[expect(clippy::unnecessary_wraps, reason = "what an object desires may have no identity")]
fn identity(region: &str, tenancy: &str, secret: Option<&str>) -> Option<Identity> {
    let (region, tenancy) = (region.to_owned(), Some(tenancy.to_owned()));
    Some(Identity { region, tenancy, secret: secret.map(str::to_owned) })
}

fn own() -> Option<Identity> {
    identity("phx", "t1", Some("ocicredentials"))
}

/// A queue that was created and read in `phx` and `t1` with the namespace's Secret.
fn bound() -> Harness {
    let mut harness = Harness::queue();
    harness.desired.identity = own();
    let find = harness.reconcile();
    let create = harness.respond(find, found(&[]));
    harness.respond(create, Ok(accepted("wr-7")));
    let poll = harness.reconcile();
    let get = harness.respond(poll, work("CREATE_THING", "SUCCEEDED"));
    harness.respond(get, resource("ACTIVE", 1));
    assert_eq!(harness.condition(ConditionType::Ready), "True/Available");
    harness
}

#[test]
fn the_binding_is_recorded_with_the_intent_and_confirmed_by_reads() {
    let mut harness = Harness::queue();
    harness.desired.identity = own();
    let find = harness.reconcile();
    assert_eq!(harness.status.status.binding, None);
    harness.respond(find, found(&[]));
    assert_eq!(
        json!(harness.status.status.binding),
        json!({"region": "phx", "tenancy": "t1", "secret": "ocicredentials", "scope": {"pool": "0"}})
    );
    let harness = bound();
    assert_eq!(
        json!(harness.status.status.binding),
        json!({"region": "phx", "tenancy": "t1", "secret": "ocicredentials", "scope": {"compartment": "c"}})
    );
}

#[test]
fn another_identity_makes_no_call_whatever_the_object_asks_for() {
    let check = |now: Option<Identity>, deleting: bool, expected: &str| {
        let mut harness = bound();
        harness.desired.identity = now;
        harness.desired.deleting = deleting;
        (harness.spec.size, harness.desired.generation) = (2, 2);
        requeues(&harness.reconcile(), 300..=300);
        let stalled = harness.status.condition(ConditionType::Stalled).unwrap();
        assert_eq!(format!("{}: {}", stalled.reason, stalled.message), expected);
        assert_eq!(harness.condition(ConditionType::Ready), "False/CredentialsChanged");
        assert_eq!(harness.status.ocid(), Some("q1"), "it is still bound");
        // With the right credentials it goes on where it was.
        harness.desired.identity = own();
        let get = harness.reconcile();
        assert_eq!(get, Action::Call(Call::Get { id: "q1".to_owned(), listed: false }));
    };
    let alone = "it is left alone until the credentials match it again";
    let region = "CredentialsChanged: Queue q1 is in region phx, but the region is now iad";
    let tenancy = "CredentialsChanged: Queue q1 is in tenancy t1, but the credentials are of t2";
    let secret = "CredentialsChanged: Queue q1 was bound with the Secret ocicredentials, which is missing";
    let release = format!("to delete the object regardless, annotate it with plimsoll.dev/release: {UID}");
    let name = Some("ocicredentials");
    check(identity("iad", "t1", name), false, &format!("{region}; {alone}"));
    check(identity("phx", "t2", name), false, &format!("{tenancy}; {alone}"));
    check(identity("phx", "t1", None), false, &format!("{secret}; {alone}"));
    check(identity("iad", "t1", name), true, &format!("{region}; {alone}; {release}"));
    check(identity("phx", "t2", None), true, &format!("{tenancy}; {alone}; {release}"));
}

#[test]
fn a_create_without_a_response_is_not_repeated_elsewhere() {
    for streams in [false, true] {
        let mut harness = if streams { Harness::of(STREAM) } else { Harness::queue() };
        harness.desired.identity = own();
        let find = harness.reconcile();
        harness.respond(find, found(&[]));
        // The response never arrived, the operator restarts, and the Secret holds other credentials.
        harness.local = LocalState::default();
        harness.now += 1000;
        harness.desired.identity = identity("iad", "t1", Some("ocicredentials"));
        requeues(&harness.reconcile(), 300..=300);
        assert_eq!(harness.condition(ConditionType::Stalled), "True/CredentialsChanged");
        assert_eq!(harness.current().record.phase, Phase::Create, "the intent stays on record");
    }
}

#[test]
fn a_refused_create_binds_nothing() {
    for (status, code) in
        [(404, "NotAuthorizedOrNotFound"), (401, "NotAuthenticated"), (400, "LimitExceeded")]
    {
        let mut harness = Harness::queue();
        harness.desired.identity = own();
        let find = harness.reconcile();
        let create = harness.respond(find, found(&[]));
        let next = harness.respond(create, refused(status, code, None));
        assert!(matches!(next, Action::Requeue(_)), "{next:?}");
        assert_eq!((harness.status.current(), &harness.status.status.binding), (None, &None), "{code}");
        harness.desired.identity = identity("iad", "t2", None);
        harness.desired.generation += 1;
        let find = harness.reconcile();
        assert!(matches!(find, Action::Call(Call::Find { .. })), "other credentials may try: {find:?}");
    }
}

#[test]
fn an_object_of_an_older_version_is_bound_by_its_first_read_and_nothing_is_concluded_before() {
    for deleting in [false, true] {
        let mut harness = Harness::queue();
        harness.status = serde_json::from_value(json!({"status": {"ocid": "q1"}})).unwrap();
        harness.desired.identity = own();
        harness.desired.deleting = deleting;
        for _ in 0..3 {
            let get = harness.reconcile();
            let next = harness.respond(get, refused(404, "NotAuthorizedOrNotFound", None));
            assert!(matches!(next, Action::Requeue(_)), "no listing, no create, no release: {next:?}");
            assert_eq!(harness.condition(ConditionType::Stalled), "True/AccessOrAbsenceUnclear");
            harness.now += 1000;
        }
        let get = harness.reconcile();
        harness.respond(get, json(json!({"id": "q1", "lifecycleState": "ACTIVE", "size": 1})));
        assert_eq!(harness.status.status.binding.as_ref().unwrap().tenancy.as_deref(), Some("t1"));
        // From now on a listing is evidence.
        let get = harness.reconcile();
        let find = harness.respond(get, refused(404, "NotAuthorizedOrNotFound", None));
        assert!(matches!(find, Action::Call(Call::Find { .. })), "{find:?}");
    }
    // A work request that can be read is in the right place, too.
    let mut harness = Harness::creating();
    harness.desired.identity = own();
    harness.status.status.binding = None;
    let poll = harness.reconcile();
    harness.respond(poll, work("CREATE_THING", "IN_PROGRESS"));
    assert_eq!(harness.status.status.binding.as_ref().unwrap().region.as_deref(), Some("phx"));
}

#[test]
fn a_namespace_may_get_credentials_of_its_own() {
    let mut harness = bound();
    harness.status.status.binding.as_mut().unwrap().secret = None;
    let get = harness.reconcile();
    harness.respond(get, resource("ACTIVE", 1));
    assert_eq!(
        harness.status.status.binding.as_ref().unwrap().secret.as_deref(),
        Some("ocicredentials"),
        "and the operator's own are no longer used"
    );
}

#[test]
fn a_resource_that_is_proven_to_be_gone_may_be_created_elsewhere() {
    let mut harness = bound();
    let get = harness.reconcile();
    let find = harness.respond(get, refused(404, "NotAuthorizedOrNotFound", None));
    harness.respond(find, found(&[]));
    harness.now += 1000;
    let get = harness.reconcile();
    let find = harness.respond(get, refused(404, "NotAuthorizedOrNotFound", None));
    let find = harness.respond(find, found(&[]));
    assert!(matches!(find, Action::Call(Call::Find { id: None, .. })), "{find:?}");
    assert_eq!(harness.status.status.binding, None);
}

#[test]
fn a_create_is_searched_where_it_was_sent() {
    let pool = |pool: &str| Scope::from([("pool".to_owned(), pool.to_owned())]);
    let searched = |action: &Action| match action {
        Action::Call(Call::Find { scope, .. }) => scope.clone(),
        other => panic!("{other:?}"),
    };
    let edited = || {
        let mut harness = Harness::of(STREAM);
        let find = harness.reconcile();
        harness.respond(find, found(&[]));
        // The response is lost, and the user moves the stream.
        harness.spec.pool = 1;
        harness.desired.generation = 2;
        harness.desired.body = harness.service.create_body(&harness.spec, UID);
        harness.desired.scope = harness.service.scope(&harness.spec);
        harness.now += 1;
        harness
    };
    let mut harness = edited();
    let find = harness.reconcile();
    assert_eq!(searched(&find), pool("0"));
    let made =
        json!({"id": "q1", "lifecycleState": "ACTIVE", "size": 1, "pool": 0, "tags": {"plimsoll-uid": UID}});
    let get = harness.respond(find, found(std::slice::from_ref(&made)));
    let update = harness.respond(get, json(made));
    assert!(matches!(update, Action::Call(Call::Update { .. })), "it is moved, not made twice: {update:?}");

    // A create that came to nothing is given up only after the grace, and the new place is searched before it is used.
    let mut harness = edited();
    let find = harness.reconcile();
    requeues(&harness.respond(find, found(&[])), 100..=121);
    harness.now += 121;
    let find = harness.reconcile();
    assert_eq!(searched(&find), pool("0"));
    let find = harness.respond(find, found(&[]));
    assert_eq!(searched(&find), pool("1"));
    let create = harness.respond(find, found(&[]));
    assert!(matches!(create, Action::Call(Call::Create { replay: false, .. })), "{create:?}");
    assert_eq!(harness.status.status.binding.as_ref().unwrap().scope, pool("1"));

    // The same for an object that is deleted meanwhile.
    let mut harness = edited();
    harness.desired.deleting = true;
    harness.now += 121;
    let find = harness.reconcile();
    assert_eq!(searched(&find), pool("0"));
    // A restore may have undone the record of a create there.
    let find = harness.respond(find, found(&[]));
    assert_eq!(searched(&find), pool("1"));
    let released = harness.respond(find, found(&[]));
    assert_eq!(released, Action::RemoveFinalizer(FinalizeReason::AbsentFromListing));
}

#[test]
fn a_first_create_reads_no_listing() {
    let new = || {
        let mut harness = Harness::queue();
        harness.desired.identity = own();
        harness
    };
    let mut harness = new();
    harness.desired.has_finalizer = false;
    assert_eq!(harness.reconcile(), Action::AddFinalizer);
    harness.desired.has_finalizer = true;
    let create = harness.reconcile();
    assert!(matches!(create, Action::Call(Call::Create { replay: false, .. })), "{create:?}");

    // What was created before the operator started may have lost its record in a restore of the cluster, and so may what it
    // has handled before.
    let mut harness = new();
    harness.desired.created_in_term = false;
    harness.desired.has_finalizer = false;
    assert_eq!(harness.reconcile(), Action::AddFinalizer);
    harness.desired.has_finalizer = true;
    assert!(matches!(harness.reconcile(), Action::Call(Call::Find { .. })));

    let mut harness = bound();
    harness.status = Status::default();
    harness.desired.has_finalizer = false;
    assert_eq!(harness.reconcile(), Action::AddFinalizer);
    harness.desired.has_finalizer = true;
    assert!(matches!(harness.reconcile(), Action::Call(Call::Find { .. })));

    // What is not known to be the first create is searched for: after a restart, and after a finalizer was lost. Without
    // credentials there is no intent that could be sent.
    let mut harness = new();
    harness.desired.has_finalizer = false;
    harness.reconcile();
    harness.desired.has_finalizer = true;
    harness.local = LocalState::default();
    assert!(matches!(harness.reconcile(), Action::Call(Call::Find { .. })));

    let mut harness = Harness::queue();
    harness.desired.has_finalizer = false;
    harness.reconcile();
    harness.desired.has_finalizer = true;
    assert!(matches!(harness.reconcile(), Action::Call(Call::Find { .. })));

    let mut harness = new();
    let find = harness.reconcile();
    let create = harness.respond(find, found(&[]));
    harness.respond(create, refused(400, "InvalidParameter", None));
    harness.desired.has_finalizer = false;
    assert_eq!(harness.reconcile(), Action::AddFinalizer);
    harness.desired.has_finalizer = true;
    harness.desired.generation = 2;
    assert!(matches!(harness.reconcile(), Action::Call(Call::Find { .. })));
}

#[test]
fn an_object_without_a_record_is_let_go_when_no_listing_shows_its_resource() {
    let deleting = || {
        let mut harness = Harness::queue();
        harness.desired.identity = own();
        harness.desired.deleting = true;
        harness
    };
    let is_find = |action: &Action| matches!(action, Action::Call(Call::Find { .. }));
    let mut harness = deleting();
    let find = harness.reconcile();
    assert!(is_find(&find), "a restore may have undone the record: {find:?}");
    assert_eq!(harness.respond(find, found(&[])), Action::RemoveFinalizer(FinalizeReason::AbsentFromListing));

    let mut harness = deleting();
    let find = harness.reconcile();
    let left = json!({"id": "q1", "lifecycleState": "ACTIVE", "size": 1, "tags": {"plimsoll-uid": UID}});
    let get = harness.respond(find, found(&[left]));
    let delete = harness.respond(get, resource("ACTIVE", 1));
    assert!(matches!(delete, Action::Call(Call::Delete { .. })), "{delete:?}");

    // A listing that is denied shows nothing, so the object stays until its user says otherwise.
    for (status, code) in
        [(404, "NotAuthorizedOrNotFound"), (401, "NotAuthenticated"), (400, "InvalidParameter")]
    {
        let mut harness = deleting();
        let find = harness.reconcile();
        let next = harness.respond(find, refused(status, code, None));
        assert!(matches!(next, Action::Requeue(_)), "{code}: {next:?}");
        let stalled = harness.status.condition(ConditionType::Stalled).unwrap();
        assert!(stalled.message.contains("annotate it with plimsoll.dev/release"), "{}", stalled.message);
        harness.desired.annotations.release = true;
        assert_eq!(harness.reconcile(), Action::RemoveFinalizer(FinalizeReason::ReleaseRequested));
    }

    // What this operator has seen from the beginning was never created.
    let mut harness = deleting();
    harness.desired.deleting = false;
    harness.desired.has_finalizer = false;
    harness.reconcile();
    harness.desired.has_finalizer = true;
    let create = harness.reconcile();
    harness.respond(create, refused(404, "NotAuthorizedOrNotFound", None));
    harness.desired.deleting = true;
    assert_eq!(harness.reconcile(), Action::RemoveFinalizer(FinalizeReason::NeverCreated));
}

#[test]
fn a_namespace_uses_only_the_parents_it_may_use() {
    let allowed = |ids: &[&str]| Policy {
        parents: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
        ..Policy::default()
    };
    let mut harness = Harness::queue();
    harness.desired.policy = allowed(&["7"]);
    harness.desired.has_finalizer = false;
    requeues(&harness.reconcile(), 300..=300);
    let stalled = harness.status.condition(ConditionType::Stalled).unwrap();
    insta::assert_snapshot!(format!("{}: {}", stalled.reason, stalled.message), @"NotAllowed: this namespace may not use pool 0; ask an administrator to add it to the annotation plimsoll.dev/oci-compartments of the Namespace");
    harness.desired.policy = allowed(&["7", "0"]);
    assert_eq!(harness.reconcile(), Action::AddFinalizer);

    // What is adopted is checked where it is.
    harness.desired.has_finalizer = true;
    harness.desired.annotations.adopt = Some("q1".to_owned());
    let get = harness.reconcile();
    let untagged = || json(json!({"id": "q1", "lifecycleState": "ACTIVE", "size": 1}));
    requeues(&harness.respond(get, untagged()), 300..=300);
    assert_eq!(
        (harness.condition(ConditionType::Stalled).as_str(), harness.status.ocid()),
        ("True/NotAllowed", None)
    );
    harness.desired.policy = allowed(&["0", "c"]);
    let get = harness.reconcile();
    harness.respond(get, untagged());
    assert_eq!(harness.status.ocid(), Some("q1"));

    // A resource that is no longer allowed is left alone, and can still be deleted.
    harness.desired.policy = allowed(&[]);
    requeues(&harness.reconcile(), 300..=300);
    harness.desired.deleting = true;
    let get = harness.reconcile();
    let delete = harness.respond(get, untagged());
    assert!(matches!(delete, Action::Call(Call::Delete { .. })), "{delete:?}");
}

#[test]
fn nothing_is_adopted_where_that_is_disabled() {
    let mut harness = Harness::queue();
    harness.desired.policy.no_adoption = true;
    harness.desired.annotations.adopt = Some("q1".to_owned());
    requeues(&harness.reconcile(), 300..=300);
    let stalled = harness.status.condition(ConditionType::Stalled).unwrap();
    insta::assert_snapshot!(format!("{}: {}", stalled.reason, stalled.message), @"NotAllowed: adoption is disabled (--no-adopt); remove the annotation plimsoll.dev/adopt");
    harness.desired.annotations.adopt = None;
    let find = harness.reconcile();
    let create = harness.respond(find, found(&[]));
    harness.respond(create, Ok(Response::default()));
    assert_eq!(harness.current().record.phase, Phase::Create);
    // An object that adopted its resource earlier keeps it.
    let mut harness = Harness::ready();
    harness.desired.policy.no_adoption = true;
    harness.desired.annotations.adopt = Some("q1".to_owned());
    let get = harness.reconcile();
    harness.respond(get, resource("ACTIVE", 1));
    assert_eq!(harness.condition(ConditionType::Ready), "True/Available");
}
