//! Whole commands against a real API server: arguments, output and exit status.

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
