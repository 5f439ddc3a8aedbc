//! A real control plane: find, build, start, stop.
//!
//! ```text
//! Environment ─▶ programs (found, or built by gobuild) ─▶ lifecycle::up ─▶ supervisor process ─▶ etcd, kube-apiserver, …
//!                                                             ▲                   │
//!                                                             └──── state file ◀──┘
//! ```
//!
//! A client ([`up`], [`down`], [`inspect`]) and the supervisor share nothing but a folder: the state file says what is
//! running, the lease file says who needs it, and a lock beside the folder lets one client at a time change it. Nothing
//! here prints; progress is reported as [`LifecycleEvent`]s.
//!
//! Without the feature `control-plane` only the Go builder is left, with which releases are made and tests build other programs.

#[cfg(all(feature = "control-plane", not(target_os = "linux")))]
compile_error!("the sandbox needs Linux: it tracks processes by pidfd and reads /proc");

mod environment;
mod folder;
pub mod gobuild;
mod lock;
mod source;

#[cfg(feature = "control-plane")]
pub mod audit;
#[cfg(feature = "control-plane")]
mod codes;
#[cfg(feature = "control-plane")]
mod control_plane;

#[cfg(feature = "control-plane")]
pub use codes::CODES;
#[cfg(feature = "control-plane")]
pub use control_plane::*;
pub use environment::{Environment, NoHome};
pub use source::CONTROL_PLANE;
