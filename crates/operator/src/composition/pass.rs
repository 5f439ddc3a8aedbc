//! What a pass over an XR is made of, for the controller of XRs and for previews of a change alike: who writes, what functions
//! are given, how they run, and what comes of what they desire. `plimsoll render` runs them in the same way, with files.

mod actor;
mod rendering;
mod secret_rights;
mod state;
mod steps;

pub(super) use actor::Actor;
pub(super) use rendering::render;
pub(super) use secret_rights::SecretRights;
pub(super) use state::observed_state;
pub use steps::{Credentials, CredentialsFuture, Steps, StepsRun};
