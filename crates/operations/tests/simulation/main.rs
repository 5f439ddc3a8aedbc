//! A small cloud, an operator that can be killed at any point, and the invariants that hold whatever happens to them.

mod cloud;
mod harness;
mod histories;
mod identities;
mod operator;
mod rules;
mod scenarios;
mod services;
