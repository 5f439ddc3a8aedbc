//! What a changed platform would do to the live XRs: every XR that it concerns is composed again by the engine, up to the point
//! where a pass writes. Composed resources are applied as dry runs, and nothing is written.
//!
//! ```text
//! changed Compositions, XRDs, Functions ──▶ Platform (in `composition`) ──▶ which XRs are concerned
//!                                              └──▶ Previewer ──▶ for each: observe, functions, dry runs ──▶ XrPreview
//! ```
//!
//! The operator answers requests of users with it, and the command line runs it by itself where functions can be reached
//! without an operator. Everything is read with the rights of the session, not from stores: these drop managers that a plan shows.

mod live;
mod outcome;
mod platform;
mod previewer;
mod resolver;

pub use outcome::{ComposedOutcome, ComposedPreview, XrPreview};
pub use platform::read_platform;
pub use previewer::{Previewer, Readers};
