//! What an apply would do, as a function of what was written, what was there before and what is observed.
//!
//! The provider, the command line and the composition engine render a plan and carry it out; none of them decides.

mod missing_kind;

pub use missing_kind::may_still_come;
