//! A real control plane: find, build, start, stop.
//!
//! ```text
//! Environment ─▶ programs (found, or built by gobuild) ─▶ lifecycle::up ─▶ supervisor process ─▶ etcd, kube-apiserver, …
//!                                                             ▲                   │
//!                                                             └──── state file ◀──┘
//! ```
//!
//! A client ([`up`], [`down`], [`inspect`]) and the supervisor share nothing but a folder: the state file says what
//! runs, the lease file says who needs it, a lock beside the folder lets one client change it at a time. Nothing here
//! prints; what happens is told as [`Event`]s.
//!
//! Without the feature `control-plane` only the Go builder is left, which tests use for other programs.

#[cfg(all(feature = "control-plane", not(target_os = "linux")))]
compile_error!("a sandbox needs Linux: it holds its processes by pidfd and looks at them through /proc");

mod environment;
pub mod gobuild;
mod lock;

#[cfg(feature = "control-plane")]
pub mod audit;
#[cfg(feature = "control-plane")]
mod codes;
#[cfg(feature = "control-plane")]
mod control_plane;

#[cfg(feature = "control-plane")]
pub use codes::CODES;
#[cfg(feature = "control-plane")]
pub use control_plane::{
    Down, Error, Event, Failure, Found, Identity, InvalidName, Layout, Lease, MODULE, Name, Origin, Program,
    ProgramStatus, Standing, Status, Step, Up, UpRequest, contexts, down, inspect, list, purge, supervise,
    up,
};
pub use environment::{Environment, NoHome};
