use super::*;
use crate::object::object;

fn details(pairs: &[(&str, &str)]) -> SecretData {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
}

fn owner(kind: &str, uid: &str) -> Object {
    object(
        json!({"apiVersion": "example.org/v1", "kind": kind, "metadata": {"name": "o", "namespace": "ns", "uid": uid}}),
    )
}

fn existing(controller: Option<&str>, kind: &str, pairs: &[(&str, &str)]) -> Object {
    let data: Object =
        pairs.iter().map(|(key, value)| ((*key).to_owned(), STANDARD.encode(value).into())).collect();
    let owners: Vec<Value> = controller.iter().map(|uid| json!({"uid": uid, "controller": true})).collect();
    object(json!({"type": kind, "data": data, "metadata": {"ownerReferences": owners}}))
}

#[test]
fn an_xrd_decides_which_details_are_published() {
    let all = details(&[("user", "u"), ("password", "p")]);
    assert_eq!(filter(&all, &[]), all);
    assert_eq!(filter(&all, &["user".to_owned(), "missing".to_owned()]), details(&[("user", "u")]));
}

#[test]
fn details_are_published_once_and_added_to() {
    let xr = owner("XR", "xr");
    let publish = |pairs: &[(&str, &str)], existing: Option<&Object>| {
        publish(&xr, ("ns", "secret"), &details(pairs), existing)
            .map(|secret| secret.map(|secret| data(&secret)))
    };
    let ours = existing(Some("xr"), SECRET_TYPE, &[("a", "1"), ("old", "kept")]);
    assert_eq!(publish(&[("a", "1")], None), Ok(Some(details(&[("a", "1")]))));
    // Crossplane writes here at every reconcile, because the two differ in `old`.
    assert_eq!(publish(&[("a", "1")], Some(&ours)), Ok(None));
    assert_eq!(publish(&[("a", "2")], Some(&ours)), Ok(Some(details(&[("a", "2"), ("old", "kept")]))));
    let free = existing(None, SECRET_TYPE, &[]);
    assert_eq!(publish(&[("a", "1")], Some(&free)), Ok(Some(details(&[("a", "1")]))));
    assert_eq!(
        publish(&[], Some(&existing(None, "Opaque", &[]))).unwrap_err().to_string(),
        "refusing to modify uncontrolled secret of type \"Opaque\""
    );
    assert_eq!(
        publish(&[], Some(&existing(Some("other"), SECRET_TYPE, &[]))).unwrap_err().to_string(),
        "existing secret is not controlled by UID \"xr\""
    );
}

#[test]
fn the_secret_has_its_owner_as_controller() {
    let secret =
        publish(&owner("XR", "xr"), ("n", "s"), &details(&[("a", "secret\n")]), None).unwrap().unwrap();
    let expected = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "connection.crossplane.io/v1alpha1", "data": {"a": "c2VjcmV0Cg=="},
        "metadata": {"namespace": "n", "name": "s", "ownerReferences": [{
            "apiVersion": "example.org/v1", "kind": "XR", "name": "o", "uid": "xr",
            "controller": true, "blockOwnerDeletion": true,
        }]},
    });
    assert_eq!(Value::Object(secret), expected);
}

#[test]
fn a_claim_gets_a_copy_of_what_its_xr_owns() {
    let (claim, xr) = (owner("Claim", "claim"), owner("XR", "xr"));
    let source = existing(Some("xr"), SECRET_TYPE, &[("a", "1")]);
    let copy = propagate(&claim, "mine", &xr, &source, None).unwrap().unwrap();
    assert_eq!((data(&copy), object::namespace(&copy)), (details(&[("a", "1")]), Some("ns")));
    let current = existing(Some("claim"), SECRET_TYPE, &[("a", "1")]);
    assert_eq!(propagate(&claim, "mine", &xr, &source, Some(&current)), Ok(None));
    // What the XR no longer has leaves the copy.
    let stale = existing(Some("claim"), SECRET_TYPE, &[("a", "1"), ("b", "2")]);
    let copy = propagate(&claim, "mine", &xr, &source, Some(&stale)).unwrap().unwrap();
    assert_eq!(data(&copy), details(&[("a", "1")]));
    for foreign in [existing(None, SECRET_TYPE, &[]), existing(Some("other"), SECRET_TYPE, &[])] {
        assert_eq!(propagate(&claim, "mine", &xr, &foreign, None), Err(ConnectionError::NotTheComposites));
    }
}

#[test]
fn a_namespaced_resource_publishes_beside_itself() {
    let check = |own: Option<&str>, written: Value, expected: Option<(&str, &str)>| {
        let resource = object(json!({
            "metadata": {"name": "bucket", "namespace": own}, "spec": {"writeConnectionSecretToRef": written},
        }));
        assert_eq!(secret_of(&resource), expected, "{own:?} {written}", written = resource["spec"]);
    };
    check(Some("own"), json!({"name": "s"}), Some(("own", "s")));
    check(Some("own"), json!({"name": "s", "namespace": "other"}), Some(("own", "s")));
    check(None, json!({"name": "s", "namespace": "other"}), Some(("other", "s")));
    check(None, json!({"name": "s"}), None);
    check(Some("own"), json!({"namespace": "own"}), None);
    check(Some("own"), Value::Null, None);
}

#[test]
fn details_are_read_only_from_a_secret_that_their_publisher_controls() {
    let bucket = owner("Bucket", "bucket");
    let secret = |controller| existing(controller, SECRET_TYPE, &[("a", "1")]);
    assert_eq!(published(&secret(Some("bucket")), &bucket), Some(details(&[("a", "1")])));
    for foreign in [None, Some("other"), Some("")] {
        assert_eq!(published(&secret(foreign), &bucket), None, "{foreign:?}");
    }
}
