//! Two sorted sequences side by side.

use std::cmp::Ordering;

/// Pairs up what compares equal; what only one side has stands alone. Both sides are ascending by `compare`.
pub(crate) fn merge<T>(
    left: impl IntoIterator<Item = T>,
    right: impl IntoIterator<Item = T>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> impl Iterator<Item = (Option<T>, Option<T>)> {
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    std::iter::from_fn(move || {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => compare(left, right),
        };
        let one = if order.is_le() { left.next() } else { None };
        let other = if order.is_ge() { right.next() } else { None };
        Some((one, other))
    })
}
