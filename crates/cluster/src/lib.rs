//! A Kubernetes client that knows: it connects, discovers, applies, waits, deletes, and says what went wrong.

mod apply;
pub mod codes;
mod connect;
mod connection;
mod delete;
mod dependency;
mod discovery;
mod error;
mod read;
mod ready;
mod request;
mod retry;
mod secret;
mod session;
mod status;
mod until;
mod warning;
mod watch;

pub use apply::{Dialect, Write};
pub use codes::CODES;
pub use connect::{ConnectError, Environment, ExecError};
pub use connection::{Connection, Exec, Impersonate};
pub use delete::{Delete, Deletion, Propagation, Stuck};
pub use discovery::{MissingKind, Resource};
pub use error::{Class, Error, ErrorKind, FieldConflict, Subject, Verb};
pub use read::{Listing, Selection};
pub use ready::Readiness;
pub use request::Reply;
pub use retry::Retry;
pub use secret::Secret;
pub use session::{Session, Sessions};
pub use status::{ApiStatus, StatusCause, StatusDetails};
pub use until::{Verdict, Waited};
pub use watch::{Event, Watch};

#[cfg(test)]
mod testing;
