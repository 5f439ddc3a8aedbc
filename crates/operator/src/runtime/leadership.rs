//! Until when this copy leads, as far as it knows. A copy that stood still goes on with what it was doing before it learns
//! that another one has taken over; what it would write then was decided on a cluster that is no longer so.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

/// The right to write. Clones share it; without leader election it holds for ever.
#[derive(Clone, Debug, Default)]
pub struct Leadership(Arc<Mutex<Option<Instant>>>);

/// A write that was not made.
#[derive(Debug, thiserror::Error)]
#[error("this copy of the operator no longer leads")]
pub struct NotLeading;

impl Leadership {
    /// It ends at `end`, unless it is extended.
    pub fn ends(&self, end: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }

    pub(crate) fn check(&self) -> Result<(), NotLeading> {
        let end = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if end.is_some_and(|end| end <= Instant::now()) { Err(NotLeading) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_holds_until_it_ends_and_for_ever_without_an_end() {
        let leadership = Leadership::default();
        assert!(leadership.check().is_ok());
        leadership.ends(Instant::now() + Duration::from_secs(30));
        tokio::time::advance(Duration::from_secs(29)).await;
        assert!(leadership.check().is_ok());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(leadership.check().unwrap_err().to_string(), "this copy of the operator no longer leads");
    }
}
