//! How `tree` and `why` present the health of an object.

use readiness::Health;

/// The severity; of several problems the worst is the likeliest cause.
pub(crate) const fn rank(health: &Health) -> u8 {
    match health {
        Health::NoStatus | Health::Ready => 0,
        Health::Waiting(_) => 1,
        Health::Terminating(_) => 2,
        Health::Missing => 3,
        Health::Failed(_) => 4,
    }
}

/// One word for programs, in `-o json`.
pub(crate) const fn word(health: &Health) -> &'static str {
    match health {
        Health::NoStatus => "silent",
        Health::Ready => "ready",
        Health::Waiting(_) => "waiting",
        Health::Failed(_) => "failed",
        Health::Terminating(_) => "going",
        Health::Missing => "missing",
    }
}
