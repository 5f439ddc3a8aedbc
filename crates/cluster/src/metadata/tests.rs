use serde_json::json;

use super::protobuf::{Field, Fields, Malformed};
use super::*;
use crate::test_server::{Answer, Seen, ok, session};

/// What a test keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    name: String,
    created: String,
    deleted: String,
    owners: Vec<String>,
    marks: String,
}

impl From<Metadata<'_>> for Kept {
    fn from(metadata: Metadata<'_>) -> Self {
        Self {
            name: format!("{}/{}@{}", metadata.namespace, metadata.name, metadata.resource_version),
            created: metadata.creation_timestamp.into_owned(),
            deleted: metadata.deletion_timestamp.into_owned(),
            owners: metadata.owner_references.iter().map(|owner| owner.uid.to_string()).collect(),
            marks: format!("{:?} {:?}", metadata.labels, metadata.annotations),
        }
    }
}

/// A field that is a text or a message.
fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
    // Lengths of two bytes, as the encoding allows for small ones, too.
    let length = u8::try_from(content.len() & 0x7f).unwrap() | 0x80;
    let rest = u8::try_from(content.len() >> 7).unwrap();
    [&[number << 3 | 2, length, rest], content].concat()
}

/// As a server writes it, with the fields that are not read.
fn written() -> Vec<u8> {
    let text = |number: u8, text: &str| bytes(number, text.as_bytes());
    let owner = bytes(13, &[text(1, "App"), text(3, "a"), text(4, "uid-a"), vec![6 << 3, 1]].concat());
    // Field 17, the managers, has a number that takes two bytes.
    let managers = [&[0x8a, 0x01, 3][..], b"abc"].concat();
    let metadata = [
        text(1, "web"),
        text(3, "shop"),
        text(5, "uid-w"),
        text(6, "41"),
        vec![7 << 3, 2],
        // 2026-01-01T00:00:00Z
        bytes(8, &[8, 0x80, 0xf2, 0xd6, 0xca, 0x06]),
        bytes(11, &[text(1, "app"), text(2, "web")].concat()),
        bytes(12, &[text(1, "note"), text(2, "x")].concat()),
        owner,
        managers,
    ];
    let list =
        [bytes(1, &[text(2, "77"), text(3, "more")].concat()), bytes(2, &bytes(1, &metadata.concat()))];
    let envelope = [bytes(1, &text(1, "meta.k8s.io/v1")), bytes(2, &list.concat()), text(4, "")];
    [b"k8s\0", &envelope.concat()[..]].concat()
}

#[test]
fn both_formats_say_the_same() {
    let json = json!({
        "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
        "metadata": { "resourceVersion": "77", "continue": "more" },
        "items": [{ "metadata": {
            "name": "web", "namespace": "shop", "uid": "uid-w", "resourceVersion": "41", "generation": 2,
            "creationTimestamp": "2026-01-01T00:00:00Z", "labels": { "app": "web" }, "annotations": { "note": "x" },
            "ownerReferences": [{ "kind": "App", "name": "a", "uid": "uid-a", "apiVersion": "v1", "controller": true }],
            "managedFields": [{ "manager": "m", "fieldsV1": { "f:data": {} } }],
        } }],
    });
    let kept = Kept {
        name: "shop/web@41".to_owned(),
        created: "2026-01-01T00:00:00Z".to_owned(),
        deleted: String::new(),
        owners: vec!["uid-a".to_owned()],
        marks: "{\"app\": \"web\"} {\"note\": \"x\"}".to_owned(),
    };
    for written in [written(), json.to_string().into_bytes()] {
        let page = Page::<Kept>::parse(&written).unwrap();
        assert_eq!(
            (page.items, page.resource_version.as_str(), page.next.as_str()),
            (vec![kept.clone()], "77", "more")
        );
    }
    assert_eq!(Metadata::of(&json["items"][0]).map(Kept::from), Some(kept));
}

#[test]
fn what_ends_early_is_an_error_and_never_a_panic() {
    let whole = written();
    let items = |length: usize| Page::<Kept>::parse(&whole[..length]).map(|page| page.items.len());
    assert!((5..whole.len()).all(|length| items(length).unwrap_or_default() <= 1));
    assert!(items(whole.len() - 10).is_err());
    assert_eq!(Fields(&[0x0b]).next(), Some(Err(Malformed::UnknownType)), "groups are not used");
    assert_eq!(Fields(&[0x08, 0xff]).next(), Some(Err(Malformed::EndsEarly)));
    assert_eq!(Fields(&[0x08, 0xac, 0x02]).next(), Some(Ok((1, Field::Number(300)))));
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_a_list_or_an_error(bytes: Vec<u8>) {
        let _parsed = Page::<Kept>::parse(&bytes);
        let _parsed = Page::<Kept>::parse(&[b"k8s\0", &bytes[..]].concat());
    }
}

#[tokio::test]
async fn a_list_has_all_pages_and_asks_for_metadata() {
    let answer = |seen: &Seen| -> Answer {
        let (name, next) = if seen.query.contains("continue=more") { ("b", "") } else { ("a", "more") };
        ok(&json!({
            "metadata": { "resourceVersion": "7", "continue": next }, "items": [{ "metadata": { "name": name } }],
        }))
    };
    let (session, journal) = session(answer);
    let listing =
        session.list_metadata::<Kept>(&"v1/ConfigMap".parse().unwrap(), &Selection::default()).await.unwrap();
    assert_eq!(listing.items.iter().map(|kept| kept.name.as_str()).collect::<Vec<_>>(), ["/a@", "/b@"]);
    assert_eq!(listing.resource_version, "7");
    assert_eq!(journal.work(), ["GET /api/v1/configmaps"; 2]);
}
