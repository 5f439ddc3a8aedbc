//! Whole commands against a real API server: arguments, output and exit status.

mod program;

mod applysets;
mod beside_kubectl;
mod completion;
mod delete;
mod errors;
mod every_change;
mod help;
mod json_output;
mod kubectl_output;
mod one_readiness;
mod operations;
mod other_managers;
mod owners;
mod permissions;
mod plan;
mod refusals;
mod replacements;
mod report_formats;
mod saved_plans;
mod schema;
mod set_members;
mod set_records;
mod several_objects;
mod takeover;
mod tree;
mod untouched;
mod wait;
mod why;
