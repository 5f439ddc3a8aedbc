//! Which elements of a list an index or a slice selects.

use std::iter::StepBy;
use std::ops::Range;

use super::error::EvalError;

/// `[start:end:step]`, with `[n]` as the slice that ends one after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) end: End,
    pub(super) step: Option<i64>,
}

/// Where a slice ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    OfList,
    At(i64),
    AfterStart,
}

impl Slice {
    /// The positions that the slice selects in a list of `length` elements, or nothing if it asks for none.
    pub(super) fn positions(self, length: usize) -> Result<Option<StepBy<Range<usize>>>, EvalError> {
        // No list has more elements than an i64 counts.
        let signed_length = i64::try_from(length).unwrap_or(i64::MAX);
        let from_end = |index: i64| if index < 0 { index + signed_length } else { index };
        let start = self.start.unwrap_or(0);
        let end = match self.end {
            End::OfList => signed_length,
            End::At(end) => from_end(end),
            // `[-1]` ends at the end of the list, not at its start.
            End::AfterStart => match start.wrapping_add(1) {
                0 => signed_length,
                end => from_end(end),
            },
        };
        let start = from_end(start);
        if start == end {
            return Ok(None);
        }
        let in_bounds = |index: i64| usize::try_from(index).ok().filter(|index| *index <= length);
        let Some(first) = in_bounds(start).filter(|start| *start < length) else {
            return Err(EvalError::OutOfBounds { index: start, length });
        };
        let Some(past) = in_bounds(end) else {
            return Err(EvalError::OutOfBounds { index: end.wrapping_sub(1), length });
        };
        if first > past {
            return Err(EvalError::Reversed { start, end });
        }
        let step = match self.step {
            None => 1,
            Some(step) => usize::try_from(step).ok().filter(|step| *step > 0).ok_or(EvalError::Step)?,
        };
        Ok(Some((first..past).step_by(step)))
    }
}
