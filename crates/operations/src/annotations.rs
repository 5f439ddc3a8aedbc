//! The annotations that steer an object beside its spec.

use std::collections::BTreeMap;

use diag::Diagnostic;

use crate::codes;

/// Nothing is changed at the provider while it is present and not `false`.
pub const PAUSED: &str = "plimsoll.dev/paused";
/// What happens to the resource when the object is deleted: `Delete` or `Retain`.
pub const DELETION_POLICY: &str = "plimsoll.dev/deletion-policy";
/// The id of an existing resource to take over.
pub const ADOPT: &str = "plimsoll.dev/adopt";
/// The uid in the tag of the resource to adopt, to take it over from that object.
pub const ADOPT_FROM: &str = "plimsoll.dev/adopt-from";
/// The object's own uid, to let a deletion finish without proof that the resource is gone.
pub const RELEASE: &str = "plimsoll.dev/release";
/// What to do about a resource that is proven to be gone: `Recreate` or `Report`.
pub const ON_MISSING: &str = "plimsoll.dev/on-missing";

/// What happens to the resource when the object is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionPolicy {
    #[default]
    Delete,
    Retain,
}

/// What to do about a resource that is proven to be gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    #[default]
    Recreate,
    /// Publish it and wait.
    Report,
}

/// The annotations, parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    pub paused: bool,
    pub deletion_policy: DeletionPolicy,
    /// The existing resource to take over.
    pub adopt: Option<String>,
    /// The object that it is taken over from.
    pub adopt_from: Option<String>,
    /// Let a deletion finish without proof that the resource is gone.
    pub release: bool,
    pub on_missing: OnMissing,
}

impl Annotations {
    /// Parses the annotations of the object `uid`. An invalid value gets a warning and the safe choice: a typo deletes,
    /// recreates and releases nothing.
    pub fn parse(annotations: &BTreeMap<String, String>, uid: &str) -> (Self, Vec<Diagnostic>) {
        let mut warnings = Vec::new();
        let get = |name: &str| annotations.get(name).map(|value| value.trim());
        let mut choose = |name: &str, default: &str, safe: &str| {
            let value = get(name).unwrap_or(default);
            if value != default && value != safe {
                let allowed = format!("{default} or {safe}");
                warnings.push(invalid(name, value, &allowed, &format!("It is treated as {safe}.")));
            }
            value != default
        };
        let retain = choose(DELETION_POLICY, "Delete", "Retain");
        let report = choose(ON_MISSING, "Recreate", "Report");
        let release = get(RELEASE).is_some_and(|value| value == uid && !uid.is_empty());
        if let Some(value) = get(RELEASE).filter(|_| !release) {
            warnings.push(invalid(RELEASE, value, &format!("the object's uid, {uid}"), "It is ignored."));
        }
        let text = |name: &str| get(name).filter(|value| !value.is_empty()).map(str::to_owned);
        let parsed = Self {
            paused: get(PAUSED).is_some_and(|value| value != "false"),
            deletion_policy: if retain { DeletionPolicy::Retain } else { DeletionPolicy::Delete },
            adopt: text(ADOPT),
            adopt_from: text(ADOPT_FROM),
            release,
            on_missing: if report { OnMissing::Report } else { OnMissing::Recreate },
        };
        (parsed, warnings)
    }
}

fn invalid(name: &str, value: &str, allowed: &str, consequence: &str) -> Diagnostic {
    let summary = format!("annotation {name} has the invalid value {value:?}");
    Diagnostic::warning(codes::ANNOTATION_VALUE, summary)
        .detail(consequence)
        .field(format!("metadata.annotations[{name}]"))
        .hint(format!("Use {allowed}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(annotations: &[(&str, &str)]) -> (Annotations, Vec<Diagnostic>) {
        let map = annotations.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Annotations::parse(&map, "uid-1")
    }

    #[test]
    fn annotations_are_parsed() {
        let check = |annotations: &[(&str, &str)], expected: Annotations| {
            assert_eq!(parse(annotations), (expected, Vec::new()), "{annotations:?}");
        };
        check(&[], Annotations::default());
        check(&[(PAUSED, "true")], Annotations { paused: true, ..Annotations::default() });
        check(&[(PAUSED, "")], Annotations { paused: true, ..Annotations::default() });
        check(&[(PAUSED, "false")], Annotations::default());
        check(
            &[(DELETION_POLICY, "Retain")],
            Annotations { deletion_policy: DeletionPolicy::Retain, ..Annotations::default() },
        );
        check(&[(DELETION_POLICY, "Delete")], Annotations::default());
        check(
            &[(ADOPT, " ocid1.q ")],
            Annotations { adopt: Some("ocid1.q".into()), ..Annotations::default() },
        );
        check(&[(ADOPT, "")], Annotations::default());
        check(
            &[(ADOPT, "ocid1.q"), (ADOPT_FROM, "uid-9")],
            Annotations {
                adopt: Some("ocid1.q".into()),
                adopt_from: Some("uid-9".into()),
                ..Annotations::default()
            },
        );
        check(&[(RELEASE, "uid-1")], Annotations { release: true, ..Annotations::default() });
        check(
            &[(ON_MISSING, "Report")],
            Annotations { on_missing: OnMissing::Report, ..Annotations::default() },
        );
    }

    #[test]
    fn an_invalid_value_gets_the_safe_choice_and_a_warning() {
        let (parsed, warnings) = parse(&[(DELETION_POLICY, "keep"), (ON_MISSING, "no"), (RELEASE, "uid-2")]);
        assert_eq!(parsed.deletion_policy, DeletionPolicy::Retain);
        assert_eq!(parsed.on_missing, OnMissing::Report);
        assert!(!parsed.release);
        let texts: Vec<_> = warnings
            .iter()
            .map(|w| format!("{}. {} {}", w.summary, w.detail, w.hint.as_deref().unwrap()))
            .collect();
        insta::assert_snapshot!(texts.join("\n"), @r#"
        annotation plimsoll.dev/deletion-policy has the invalid value "keep". It is treated as Retain. Use Delete or Retain.
        annotation plimsoll.dev/on-missing has the invalid value "no". It is treated as Report. Use Recreate or Report.
        annotation plimsoll.dev/release has the invalid value "uid-2". It is ignored. Use the object's uid, uid-1.
        "#);
    }
}
