//! The composition half: XRDs make kinds, Compositions say what an XR is made of, functions decide it, claims stand for XRs.
//!
//! ```text
//!  XRD ──▶ definition ──▶ CRDs of XR and claim ──▶ kinds ──┬──▶ composite   an XR and what it is composed of
//!  Composition ──▶ revision ──▶ catalogue ─────────────────┤
//!  Function, FunctionRevision ──▶ function ────────────────┴──▶ claim       a claim and its XR
//! ```
//!
//! What to do is decided in `compose`; here it is read, done and written.

mod catalogue;
mod claim;
mod composite;
mod engine;
mod kinds;
