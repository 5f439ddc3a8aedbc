//! What people ask for beside the spec: the annotations of an object.

use std::collections::BTreeMap;

use diag::Diagnostic;

use crate::codes;

/// No changes at the provider while it is there and not `false`.
pub const PAUSED: &str = "plimsoll.dev/paused";
/// What becomes of the resource when the object is deleted: `Delete` or `Retain`.
pub const DELETION_POLICY: &str = "plimsoll.dev/deletion-policy";
/// The identifier of an existing resource to take over.
pub const ADOPT: &str = "plimsoll.dev/adopt";
/// The object's own uid, to let a deletion end without evidence.
pub const RELEASE: &str = "plimsoll.dev/release";
/// What to do about a resource that is proven to be gone: `Recreate` or `Report`.
pub const ON_MISSING: &str = "plimsoll.dev/on-missing";

/// What becomes of the resource when the object is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionPolicy {
    /// It is deleted, too.
    #[default]
    Delete,
    /// It stays.
    Retain,
}

/// What to do about a resource that is proven to be gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    /// Make it anew.
    #[default]
    Recreate,
    /// Say so and wait.
    Report,
}

/// The annotations, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Change nothing at the provider.
    pub paused: bool,
    /// What becomes of the resource when the object is deleted.
    pub deletion_policy: DeletionPolicy,
    /// The existing resource to take over.
    pub adopt: Option<String>,
    /// Let a deletion end without evidence.
    pub release: bool,
    /// What to do about a resource that is proven to be gone.
    pub on_missing: OnMissing,
}

impl Wishes {
    /// Reads the annotations of the object `uid`. A value that means nothing gets a warning and the careful choice:
    /// nothing is deleted, recreated or released by a typing mistake.
    pub fn read(annotations: &BTreeMap<String, String>, uid: &str) -> (Self, Vec<Diagnostic>) {
        let mut warnings = Vec::new();
        let mut warn = |name: &str, value: &str, allowed: &str, instead: &str| {
            warnings.push(
                Diagnostic::warning(
                    codes::ANNOTATION_VALUE,
                    format!("annotation {name} has the value {value:?}, which means nothing"),
                )
                .detail(format!("{instead}."))
                .field(format!("metadata.annotations[{name}]"))
                .hint(format!("Use {allowed}.")),
            );
        };
        let get = |name: &str| annotations.get(name).map(|value| value.trim());
        let deletion_policy = match get(DELETION_POLICY) {
            None | Some("Delete") => DeletionPolicy::Delete,
            Some("Retain") => DeletionPolicy::Retain,
            Some(other) => {
                warn(DELETION_POLICY, other, "Delete or Retain", "It is read as Retain");
                DeletionPolicy::Retain
            }
        };
        let on_missing = match get(ON_MISSING) {
            None | Some("Recreate") => OnMissing::Recreate,
            Some("Report") => OnMissing::Report,
            Some(other) => {
                warn(ON_MISSING, other, "Recreate or Report", "It is read as Report");
                OnMissing::Report
            }
        };
        let release = match get(RELEASE) {
            None => false,
            Some(value) if value == uid && !uid.is_empty() => true,
            Some(other) => {
                warn(RELEASE, other, &format!("the object's uid, {uid}"), "It is ignored");
                false
            }
        };
        let wishes = Self {
            paused: get(PAUSED).is_some_and(|value| value != "false"),
            deletion_policy,
            adopt: get(ADOPT).filter(|id| !id.is_empty()).map(str::to_owned),
            release,
            on_missing,
        };
        (wishes, warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(annotations: &[(&str, &str)]) -> (Wishes, Vec<Diagnostic>) {
        let map = annotations.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Wishes::read(&map, "uid-1")
    }

    #[test]
    fn annotations_are_read() {
        let check = |annotations: &[(&str, &str)], expected: Wishes| {
            assert_eq!(read(annotations), (expected, Vec::new()), "{annotations:?}");
        };
        check(&[], Wishes::default());
        check(&[(PAUSED, "true")], Wishes { paused: true, ..Wishes::default() });
        check(&[(PAUSED, "")], Wishes { paused: true, ..Wishes::default() });
        check(&[(PAUSED, "false")], Wishes::default());
        check(
            &[(DELETION_POLICY, "Retain")],
            Wishes { deletion_policy: DeletionPolicy::Retain, ..Wishes::default() },
        );
        check(&[(DELETION_POLICY, "Delete")], Wishes::default());
        check(&[(ADOPT, " ocid1.q ")], Wishes { adopt: Some("ocid1.q".into()), ..Wishes::default() });
        check(&[(ADOPT, "")], Wishes::default());
        check(&[(RELEASE, "uid-1")], Wishes { release: true, ..Wishes::default() });
        check(&[(ON_MISSING, "Report")], Wishes { on_missing: OnMissing::Report, ..Wishes::default() });
    }

    #[test]
    fn a_value_that_means_nothing_is_read_carefully_and_named() {
        let (wishes, warnings) = read(&[(DELETION_POLICY, "keep"), (ON_MISSING, "no"), (RELEASE, "uid-2")]);
        assert_eq!(wishes.deletion_policy, DeletionPolicy::Retain);
        assert_eq!(wishes.on_missing, OnMissing::Report);
        assert!(!wishes.release);
        let said: Vec<_> = warnings
            .iter()
            .map(|w| format!("{}. {} {}", w.summary, w.detail, w.hint.as_deref().unwrap()))
            .collect();
        insta::assert_snapshot!(said.join("\n"), @r#"
        annotation plimsoll.dev/deletion-policy has the value "keep", which means nothing. It is read as Retain. Use Delete or Retain.
        annotation plimsoll.dev/on-missing has the value "no", which means nothing. It is read as Report. Use Recreate or Report.
        annotation plimsoll.dev/release has the value "uid-2", which means nothing. It is ignored. Use the object's uid, uid-1.
        "#);
    }
}
