//! Everything Plimsoll reports to people is a [`Diagnostic`].
//!
//! A terminal, Terraform, an Event and a condition all render the same value, so a message is written once and says
//! the same everywhere: what is wrong, where, why, and what to do about it. `STYLE.md` says how to word one.
//!
//! ```text
//! manifest, ownership, cluster, …  ──▶  Diagnostic  ──▶  terminal::Renderer
//!                                                   ──▶  Terraform, Event, condition (next to their users)
//! ```

mod code;
mod diagnostic;
mod error_chain;
mod source;
pub mod terminal;

pub use code::{Code, entries_on_page};
pub use diagnostic::{Diagnostic, Severity};
pub use error_chain::error_chain;
pub use source::{Location, Position, Source, Span};
