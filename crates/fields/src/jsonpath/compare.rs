//! The comparisons of filters, which are those of Go's text templates: no conversion between types.

use super::error::EvalError;
use super::item::Basic;
use super::node::Operator;

/// Whether `left operator right` holds.
pub(super) fn compare(left: Basic<'_>, operator: &Operator, right: Basic<'_>) -> Result<bool, EvalError> {
    match operator {
        Operator::Equal => equal(left, right),
        Operator::NotEqual => equal(left, right).map(|equal| !equal),
        Operator::Less => less(left, right),
        Operator::LessEqual => Ok(less(left, right)? || equal(left, right)?),
        Operator::Greater => Ok(!(less(left, right)? || equal(left, right)?)),
        Operator::GreaterEqual => less(left, right).map(|less| !less),
        Operator::Unknown(name) => Err(EvalError::UnrecognizedOperator(name.clone())),
    }
}

#[expect(clippy::float_cmp, reason = "a filter compares as written, like Go")]
fn equal(left: Basic<'_>, right: Basic<'_>) -> Result<bool, EvalError> {
    match (left, right) {
        (Basic::Bool(left), Basic::Bool(right)) => Ok(left == right),
        (Basic::Int(left), Basic::Int(right)) => Ok(left == right),
        (Basic::Float(left), Basic::Float(right)) => Ok(left == right),
        (Basic::Text(left), Basic::Text(right)) => Ok(left == right),
        _ => Err(mismatch(left, right)),
    }
}

fn less(left: Basic<'_>, right: Basic<'_>) -> Result<bool, EvalError> {
    match (left, right) {
        (Basic::Int(left), Basic::Int(right)) => Ok(left < right),
        (Basic::Float(left), Basic::Float(right)) => Ok(left < right),
        (Basic::Text(left), Basic::Text(right)) => Ok(left < right),
        (Basic::Bool(_), Basic::Bool(_)) => Err(EvalError::ComparisonType),
        _ => Err(mismatch(left, right)),
    }
}

fn mismatch(left: Basic<'_>, right: Basic<'_>) -> EvalError {
    if left == Basic::Other || right == Basic::Other {
        EvalError::ComparisonType
    } else {
        EvalError::Incomparable
    }
}
