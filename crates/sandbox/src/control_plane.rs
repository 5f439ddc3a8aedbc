//! The control plane as processes: the client's side, the supervisor's side, and the files between them.

mod change_lock;
mod credentials;
mod error;
mod event;
mod flags;
mod kubeconfig;
mod layout;
mod lease;
mod lifecycle;
mod logs;
mod process;
mod programs;
mod state;
mod supervisor;

pub use error::Error;
pub use event::Event;
pub use kubeconfig::contexts;
pub use layout::{InvalidName, Layout, Name};
pub use lease::Lease;
pub use lifecycle::{Down, Up, UpRequest, down, inspect, list, purge, up};
pub use process::Identity;
pub use programs::{Found, MODULE, Origin, Program};
pub use state::{Failure, ProgramStatus, Standing, Status, Step};
pub use supervisor::supervise;
