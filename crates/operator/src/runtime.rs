//! What every controller runs on.
//!
//! ```text
//! API server ──watch──▶ store ──changes──▶ queue ──due──▶ controller ──▶ Reconciler::reconcile ──▶ writer ──▶ API server
//!                                            ▲               │                    └──▶ events ──▶ API server
//!                                            └───requeue─────┘ Action, or an error and its backoff
//! ```
//!
//! [`lease`] decides which copy of the operator may run controllers, and [`leadership`] until when that copy may write;
//! [`health`] and [`metrics`] report on all of them.
//! What happens next follows from what has happened, the seed of [`backoff::random`] and a [`clock`], so that a simulation can
//! repeat it: every `select!` is biased, and what is iterated over is ordered.
//! `book/src/decisions/0007-controller-runtime.md` says why this is not `kube::runtime`.

pub mod client;
pub mod clock;
pub mod controller;
pub mod events;
pub(crate) mod finalizer;
pub mod health;
pub mod leadership;
pub(crate) mod lease;
pub mod metrics;
pub mod queue;
pub mod shard;
pub mod store;
pub(crate) mod supervisor;
#[cfg(test)]
pub(crate) mod testing;
