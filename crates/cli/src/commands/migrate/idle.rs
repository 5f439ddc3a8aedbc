//! What stands still while Crossplane is stopped: objects of kinds that only Crossplane acts on.

use std::fmt;

use cluster::{Error, Session};

const OPS: &str = "ops.crossplane.io";
/// Each with its group, and with what does not happen.
const KINDS: [(&str, &str, &str); 5] = [
    (OPS, "Operation", "does not run"),
    (OPS, "CronOperation", "starts no Operations"),
    (OPS, "WatchOperation", "starts no Operations"),
    (
        "apiextensions.crossplane.io",
        "ManagedResourceActivationPolicy",
        "activates no further kinds of providers",
    ),
    ("pkg.crossplane.io", "ImageConfig", "has no effect on the packages of functions"),
];

/// The objects of a kind that only Crossplane acts on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Idle {
    pub(super) kind: &'static str,
    pub(super) count: usize,
    effect: &'static str,
}

impl Idle {
    /// Those that there are. A cluster may serve none of the kinds, or other versions of them.
    pub(super) async fn read(session: &Session) -> Result<Vec<Self>, Error> {
        let mut all = Vec::new();
        for (group, kind, effect) in KINDS {
            let count = session.list_kinds(group, &[kind]).await?.len();
            all.extend((count > 0).then_some(Self { kind, count, effect }));
        }
        Ok(all)
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {} while Crossplane is stopped", self.kind, self.count, self.effect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_still_is_counted() {
        let idle = Idle { kind: "CronOperation", count: 2, effect: KINDS[1].2 };
        assert_eq!(idle.to_string(), "CronOperation (2): starts no Operations while Crossplane is stopped");
    }
}
