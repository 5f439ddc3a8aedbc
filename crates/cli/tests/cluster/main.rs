//! Whole commands against a real API server: what is typed, what is said, and the exit status.

mod program;

mod delete;
mod errors;
mod help;
mod operations;
mod owners;
mod plan;
mod refusals;
mod tree;
mod untouched;
mod wait;
mod why;
