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
mod options;
mod process;
mod programs;
mod state;
mod status;
mod supervisor;

pub use error::Error;
pub use event::LifecycleEvent;
pub use kubeconfig::contexts;
pub use layout::{InvalidName, Layout, Name};
pub use lease::Lease;
pub use lifecycle::{DownOutcome, Up, down, inspect, list, purge, up};
pub use options::UpRequest;
pub use programs::{Origin, Program, installed};
pub use state::{Failure, StartupStep};
pub use status::{ProgramStatus, SandboxState, Status};
pub use supervisor::supervise;
