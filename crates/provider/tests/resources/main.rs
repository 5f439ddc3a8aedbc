//! Patches, waits and data sources through a real client, on a real control plane.

#[path = "../object/case.rs"]
mod case;

mod config_map;
mod data;
mod dependencies;
mod examples;
mod interrupted;
mod patching;
mod refused;
mod waiting;
