//! Everything but `k8sconnect_object` itself through a real client, on a real control plane.

#[path = "../object/case.rs"]
mod case;
#[path = "../../examples/registry-docs/pages.rs"]
mod pages;

mod actions;
mod config_map;
mod data;
mod deferring;
mod dependencies;
mod docs;
mod ephemeral;
mod examples;
mod interrupted;
mod patching;
mod querying;
mod refused;
mod waiting;
