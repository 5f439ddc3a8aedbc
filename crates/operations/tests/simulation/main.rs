//! A small cloud, an operator that can be killed anywhere, and the laws that hold whatever happens to them.

mod bench;
mod cloud;
mod findings;
mod histories;
mod operator;
mod rules;
mod services;
