//! What a change of the platform means for its XRs, in one sentence: `37 of 40 XRs unchanged; 2 change
//! Deployment.spec.replicas; 1 loses a Queue`.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

/// What would happen to an XR.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Nothing could be composed any more.
    Fails,
    /// It could not be rendered.
    Unknown,
    /// A composed resource of this kind would be deleted.
    Loses(String),
    /// A resource of this kind would be composed.
    Gains(String),
    /// A field of a composed resource of this kind, or of the XR, would have another value.
    Changes { kind: String, field: String },
    /// Only the managers of a resource of this kind would change.
    Holds(String),
    /// The API server would reject a resource of this kind.
    Refused(String),
    /// It is composed of a resource of this kind that the reader may not read.
    Unreadable(String),
    /// It stays with its revision.
    Pinned,
    /// It is changed only once it is resumed.
    Paused,
    /// It is being deleted.
    Going,
}

impl Effect {
    /// Whether this changes the XR or what it is composed of.
    pub fn is_change(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Pinned | Self::Paused | Self::Going | Self::Unreadable(_))
    }
}

/// How many groups of XRs are described; the others are counted.
const MOST_GROUPS: usize = 8;
/// How many fields of one kind are named; the others are counted.
const MOST_FIELDS: usize = 2;

/// The sentence, for the effects on each XR; nothing if there are none.
pub fn summary(xrs: &[Vec<Effect>]) -> Option<String> {
    if xrs.is_empty() {
        return None;
    }
    let mut groups: BTreeMap<Vec<Effect>, usize> = BTreeMap::new();
    for effects in xrs.iter().filter(|effects| !effects.is_empty()) {
        let mut effects = effects.clone();
        effects.sort_unstable();
        *groups.entry(effects).or_default() += 1;
    }
    let touched: usize = groups.values().sum();
    let (unchanged, all) = (xrs.len() - touched, xrs.len());
    if let (0, 1, Some((effects, _))) = (unchanged, groups.len(), groups.first_key_value()) {
        return Some(format!("{} {}", everyone(all), phrase(effects, all > 1)));
    }
    let mut parts = vec![match unchanged {
        _ if unchanged == all => format!("{} {} unchanged", everyone(all), verb("is", "are", all > 1)),
        _ => format!("{unchanged} of {all} XRs unchanged"),
    }];
    // Among groups of one size, failures and losses come first.
    let mut groups: Vec<(Vec<Effect>, usize)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others: usize = groups.iter().skip(MOST_GROUPS).map(|(_, count)| count).sum();
    for (effects, count) in groups.iter().take(MOST_GROUPS) {
        parts.push(format!("{count} {}", phrase(effects, *count > 1)));
    }
    if others > 0 {
        parts.push(format!("{others} {} in other ways", verb("changes", "change", others > 1)));
    }
    Some(parts.join("; "))
}

fn everyone(count: usize) -> String {
    if count == 1 { "the only XR".to_owned() } else { format!("all {count} XRs") }
}

fn verb(one: &'static str, many: &'static str, is_many: bool) -> &'static str {
    if is_many { many } else { one }
}

/// What happens to XRs with these effects, which are sorted, as in `lose a Queue and change Deployment.spec.replicas`.
fn phrase(effects: &[Effect], is_many: bool) -> String {
    let is_alike = |one: &Effect, other: &Effect| discriminant(one) == discriminant(other);
    let part = |alike: &[Effect]| {
        let (one, many, what) = match &alike[0] {
            Effect::Fails => ("fails", "fail", String::new()),
            Effect::Unknown => ("is not known", "are not known", String::new()),
            Effect::Loses(_) => ("loses", "lose", nouns(alike)),
            Effect::Gains(_) => ("gains", "gain", nouns(alike)),
            Effect::Changes { .. } => ("changes", "change", fields(alike)),
            Effect::Holds(_) => ("changes who holds fields of", "change who holds fields of", nouns(alike)),
            Effect::Refused(_) => ("has", "have", format!("{} that the API server rejects", nouns(alike))),
            Effect::Unreadable(_) => ("has", "have", format!("{} that you may not read", nouns(alike))),
            Effect::Pinned => ("stays with its revision", "stay with their revisions", String::new()),
            Effect::Paused => ("is paused", "are paused", String::new()),
            Effect::Going => ("is being deleted", "are being deleted", String::new()),
        };
        format!("{} {what}", verb(one, many, is_many)).trim_end().to_owned()
    };
    list(&effects.chunk_by(is_alike).map(part).collect::<Vec<_>>())
}

/// The kinds that these effects name, as in `a Queue and 2 Services`.
fn nouns(effects: &[Effect]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for effect in effects {
        if let Effect::Loses(kind)
        | Effect::Gains(kind)
        | Effect::Holds(kind)
        | Effect::Refused(kind)
        | Effect::Unreadable(kind) = effect
        {
            *counts.entry(kind).or_default() += 1;
        }
    }
    list(&counts.into_iter().map(|(kind, count)| noun(kind, count)).collect::<Vec<_>>())
}

/// The changed fields, as in `Deployment.spec.replicas`, or how many of which kinds.
fn fields(effects: &[Effect]) -> String {
    let mut changed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for effect in effects {
        if let Effect::Changes { kind, field } = effect {
            changed.entry(kind).or_default().insert(field);
        }
    }
    let of_kind = |(kind, fields): (&str, BTreeSet<&str>)| {
        if fields.len() > MOST_FIELDS {
            return format!("{} fields of {kind}", fields.len());
        }
        list(&fields.into_iter().map(|field| format!("{kind}.{field}")).collect::<Vec<_>>())
    };
    list(&changed.into_iter().map(of_kind).collect::<Vec<_>>())
}

/// `a Queue`, `an Ingress`, `2 Queues`
fn noun(kind: &str, count: usize) -> String {
    if count == 1 {
        let article = if kind.starts_with(['A', 'E', 'I', 'O', 'a', 'e', 'i', 'o']) { "an" } else { "a" };
        return format!("{article} {kind}");
    }
    let plural = match kind {
        _ if kind.ends_with(['s', 'x']) || kind.ends_with("ch") => format!("{kind}es"),
        _ if kind.ends_with("cy") || kind.ends_with("ty") || kind.ends_with("ry") => {
            format!("{}ies", &kind[..kind.len() - 1])
        }
        _ => format!("{kind}s"),
    };
    format!("{count} {plural}")
}

/// `a`, `a and b`, `a, b and c`
fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(kind: &str, field: &str) -> Effect {
        Effect::Changes { kind: kind.to_owned(), field: field.to_owned() }
    }

    #[test]
    fn the_summary_says_what_happens_to_how_many() {
        let check = |xrs: Vec<Vec<Effect>>, expected: &str| {
            assert_eq!(summary(&xrs).unwrap_or_default(), expected);
        };
        let repeat = |effects: &[Effect], count: usize| vec![effects.to_vec(); count];
        let replicas = changes("Deployment", "spec.replicas");
        let loss = Effect::Loses("Queue".to_owned());
        check(vec![], "");
        check(repeat(&[], 1), "the only XR is unchanged");
        check(repeat(&[], 40), "all 40 XRs are unchanged");
        check(
            [
                repeat(&[], 37),
                repeat(std::slice::from_ref(&replicas), 2),
                repeat(std::slice::from_ref(&loss), 1),
            ]
            .concat(),
            "37 of 40 XRs unchanged; 2 change Deployment.spec.replicas; 1 loses a Queue",
        );
        check(repeat(std::slice::from_ref(&loss), 1), "the only XR loses a Queue");
        // The order in which effects were found is not part of a group.
        check(
            vec![vec![replicas.clone(), loss.clone()], vec![loss.clone(), replicas.clone()]],
            "all 2 XRs lose a Queue and change Deployment.spec.replicas",
        );
        let many: Vec<Effect> = ["a", "b", "c"].map(|field| changes("Service", field)).into();
        check(
            vec![[&many[..], &[replicas.clone(), Effect::Gains("Ingress".into())]].concat(), vec![]],
            "1 of 2 XRs unchanged; 1 gains an Ingress and changes Deployment.spec.replicas and 3 fields of Service",
        );
        check(
            vec![
                vec![Effect::Fails],
                vec![Effect::Pinned],
                vec![Effect::Pinned],
                vec![Effect::Paused],
                vec![Effect::Going],
            ],
            "0 of 5 XRs unchanged; 2 stay with their revisions; 1 fails; 1 is paused; 1 is being deleted",
        );
        check(
            vec![vec![Effect::Refused("NetworkPolicy".into()); 2], vec![Effect::Unreadable("Secret".into())]],
            "0 of 2 XRs unchanged; 1 has 2 NetworkPolicies that the API server rejects; \
             1 has a Secret that you may not read",
        );
    }

    #[test]
    fn rare_effects_are_counted_together() {
        let xrs: Vec<Vec<Effect>> =
            (0..11).map(|number| vec![changes("Job", &format!("f{number:02}"))]).collect();
        let shown = summary(&xrs).unwrap();
        assert!(shown.starts_with("0 of 11 XRs unchanged; 1 changes Job.f00; "), "{shown}");
        assert!(shown.ends_with("; 1 changes Job.f07; 3 change in other ways"), "{shown}");
    }
}
