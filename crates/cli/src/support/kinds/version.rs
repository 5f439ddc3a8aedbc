//! The preferred version of a kind if the user does not name one, in Kubernetes' own order.

use std::cmp::Reverse;

/// Smaller is better: stable before beta before alpha, higher numbers first, anything else at the end by name.
pub(crate) fn rank(version: &str) -> (u8, Reverse<u32>, Reverse<u32>, &str) {
    let last = (3, Reverse(0), Reverse(0), version);
    let Some(rest) = version.strip_prefix('v') else { return last };
    let (stage, marker) = if rest.contains("beta") {
        (1, "beta")
    } else if rest.contains("alpha") {
        (2, "alpha")
    } else {
        return rest.parse().map_or(last, |major| (0, Reverse(major), Reverse(0), ""));
    };
    let numbers = rest.split_once(marker).map(|(major, minor)| (major.parse(), minor.parse()));
    match numbers {
        Some((Ok(major), Ok(minor))) => (stage, Reverse(major), Reverse(minor), ""),
        _ => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        // The example from the documentation of CRD versions.
        let mut versions =
            ["foo1", "v3beta1", "v1", "v11alpha2", "foo10", "v10", "v12alpha1", "v2", "v11beta2", "v10beta3"];
        versions.sort_by_key(|version| rank(version));
        assert_eq!(
            versions,
            ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
        );
    }
}
