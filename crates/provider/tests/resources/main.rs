//! Patches, waits and data sources through a real client, on a real control plane.

#[path = "../object/case.rs"]
mod case;
#[path = "../../examples/registry-docs/pages.rs"]
mod pages;

mod config_map;
mod data;
mod dependencies;
mod docs;
mod examples;
mod interrupted;
mod patching;
mod refused;
mod waiting;
