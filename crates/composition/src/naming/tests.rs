use proptest::prelude::*;

use super::*;

#[test]
fn child_names_match_crossplanes() {
    let uid = "75e4a668-035f-4ce8-8c45-f4d3ac850155";
    let check = |prefix: &str, uid: &str, key: &str, expected: &str| {
        assert_eq!(child_name(prefix, uid, key), expected, "{prefix} {uid} {key}");
    };
    check("parent-", uid, "database", "parent-38ce86992a27");
    check("parent", uid, "storage", "parent-abcd22a110fe");
    check("", uid, "database", "38ce86992a27");
    let long = "test-resource-with-a-super-duper-really-long-name-to-test-compaction";
    check("parent-", uid, long, "parent-e5ac98dc40a2");
    check("parent-", "uid-123", "database", "parent-5f968d238736");
    check("parent-", "uid-456", "database", "parent-bd4f105d0576");
    let prefix = "very-long-parent-name-".repeat(3);
    check(&prefix, uid, "database", "very-long-parent-name-very-long-parent-name-very-l-38ce86992a27");
}

#[test]
fn the_composed_manager_matches_crossplanes() {
    let manager = composed_manager("my-xr", &"example.org/v1/XExample".parse().unwrap());
    let suffix = "c1d9334bcea52bff29062496511aac6fe99c4e04fff4e615c7ef3318c5ffc373";
    assert_eq!(manager, format!("apiextensions.crossplane.io/composed/{suffix}"));
    assert_eq!(manager.len(), 101);
}

#[test]
fn a_rendered_xr_has_the_same_uid_each_time() {
    let uid = rendered_uid(&"example.org/v1alpha1/XExample".parse().unwrap(), "", "my-example");
    assert_eq!(uid, "556f7c85-9365-57c0-be6d-b7d9d4c1c1c3");
}

#[test]
fn a_generated_name_looks_like_the_api_servers() {
    assert_eq!(generated_name("my-claim-", 0), "my-claim-bbbbb");
    assert_eq!(generated_name("my-claim-", u64::MAX).len(), "my-claim-".len() + 5);
    let long = generated_name(&"x".repeat(80), 7);
    assert_eq!((long.len(), &long[..58]), (63, "x".repeat(58).as_str()));
}

#[test]
fn names_are_checked_as_the_api_server_does() {
    let plain = "v1/ConfigMap".parse().unwrap();
    let role = "rbac.authorization.k8s.io/v1/ClusterRole".parse().unwrap();
    let check = |name: &str, kind: &GroupVersionKind, expected| {
        assert_eq!(is_valid_name(name, kind), expected, "{name} as {}", kind.kind());
    };
    check("a", &plain, true);
    check("a-b.c-1", &plain, true);
    check("", &plain, false);
    check("A", &plain, false);
    check("-a", &plain, false);
    check("a-", &plain, false);
    check("a..b", &plain, false);
    check("system:node", &plain, false);
    check("system:node", &role, true);
    check(&"a".repeat(253), &plain, true);
    check(&"a".repeat(254), &plain, false);
}

proptest! {
    #[test]
    fn child_names_are_stable_valid_and_short(
        prefix in "[a-z0-9]([a-z0-9-]{0,90}[a-z0-9-])?", uid in "[a-f0-9-]{1,36}", key in "\\PC{1,40}",
    ) {
        let name = child_name(&prefix, &uid, &key);
        prop_assert_eq!(&name, &child_name(&prefix, &uid, &key));
        prop_assert!(name.len() <= 63);
        prop_assert!(is_valid_name(&name, &"v1/ConfigMap".parse().unwrap()), "{}", name);
    }

    #[test]
    fn any_prefix_at_all_gives_a_name(prefix in "\\PC{0,90}", uid in "\\PC{0,9}", key in "\\PC{0,9}", random: u64) {
        prop_assert!(child_name(&prefix, &uid, &key).len() <= 63);
        prop_assert!(generated_name(&prefix, random).len() <= 63);
    }
}
