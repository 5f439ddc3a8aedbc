//! Decides between one list of a kind and a read of each object, where it is known beforehand which objects are wanted.
//!
//! The Terraform provider does not know that: its reads come one at a time, and `crates/provider/src/clusters/reads.rs` counts them.

use manifest::GroupVersionKind;

/// The number of objects from which one list costs less than their reads.
const WORTH_LISTING: usize = 4;

/// A list of the objects of a kind in a namespace is worth it if several are wanted, and more than half of the `population`, where
/// that is known. Secrets are never listed: those that are not wanted must not be read.
pub fn is_worth_listing(gvk: &GroupVersionKind, wanted: usize, population: Option<usize>) -> bool {
    let is_secret = gvk.group().is_empty() && gvk.kind() == "Secret";
    wanted >= WORTH_LISTING && population.is_none_or(|population| wanted * 2 > population) && !is_secret
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_worth_it_for_several_objects_that_are_most_of_their_kind() {
        let check = |kind: &str, wanted: usize, population: Option<usize>, expected: bool| {
            let found = is_worth_listing(&kind.parse().unwrap(), wanted, population);
            assert_eq!(found, expected, "{kind} {wanted} {population:?}");
        };
        check("v1/ConfigMap", 3, None, false);
        check("v1/ConfigMap", 3, Some(3), false);
        check("v1/ConfigMap", 4, None, true);
        check("v1/ConfigMap", 4, Some(7), true);
        check("v1/ConfigMap", 4, Some(8), false);
        check("v1/Secret", 100, None, false);
        check("example.org/v1/Secret", 4, None, true);
    }
}
