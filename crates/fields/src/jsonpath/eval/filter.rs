//! Filters: which elements of a list pass a test.

use serde_json::Value;

use super::{Evaluator, Failure, Selected};
use crate::jsonpath::compare::compare;
use crate::jsonpath::error::EvalError;
use crate::jsonpath::item::Item;
use crate::jsonpath::node::{Comparison, Filter};

impl<'p, 'v> Evaluator<'p, 'v> {
    pub(super) fn filter(&mut self, input: &[Item<'p, 'v>], filter: &'p Filter) -> Selected<'p, 'v> {
        let mut selected = Vec::new();
        for item in input {
            let Item::Value(Value::Array(list), link) = item else {
                return Err(Failure::leaving(input, EvalError::NotFilterable(item.to_go_text())));
            };
            for index in 0..list.len() {
                let element = self.element(list, *link, index);
                let left = self.list(vec![element], &filter.left);
                let passes = match &filter.comparison {
                    None => exists(left)?,
                    Some(comparison) => {
                        self.compares(element, left, comparison).map_err(|failure| match failure {
                            Uncompared::Before(error) => Failure::leaving(input, error),
                            Uncompared::Comparing(error) => Failure::leaving(&selected, error),
                        })?
                    }
                };
                if passes {
                    selected.push(element);
                }
            }
        }
        Ok(selected)
    }

    /// Whether the comparison holds for an element; it does not if one of its sides selects nothing.
    fn compares(
        &mut self,
        element: Item<'p, 'v>,
        left: Selected<'p, 'v>,
        comparison: &'p Comparison,
    ) -> Result<bool, Uncompared> {
        let Some(left) = only(left)? else { return Ok(false) };
        let Some(right) = only(self.list(vec![element], &comparison.right))? else { return Ok(false) };
        compare(left.basic(), &comparison.operator, right.basic()).map_err(Uncompared::Comparing)
    }
}

/// At which point a comparison failed, which decides what the filter leaves behind.
enum Uncompared {
    Before(EvalError),
    Comparing(EvalError),
}

/// The one item a side of a comparison may select.
fn only<'p, 'v>(side: Selected<'p, 'v>) -> Result<Option<Item<'p, 'v>>, Uncompared> {
    match side {
        Err(failure) => Err(Uncompared::Before(failure.error)),
        Ok(items) if items.len() > 1 => Err(Uncompared::Before(EvalError::SeveralToCompare)),
        Ok(items) => Ok(items.first().copied()),
    }
}

/// Whether a filter without comparison takes an element. Trouble on the way counts as found if the failing step
/// had values before it, for instance an index beyond the list.
fn exists(left: Selected<'_, '_>) -> Result<bool, Failure> {
    match left {
        Ok(items) => Ok(!items.is_empty()),
        Err(failure) if failure.error.is_limit() => Err(failure),
        Err(failure) => Ok(failure.leaves_values),
    }
}
