//! Data sources: manifests divided into single objects, and an object as it is in a cluster.

mod glob;
mod input;
mod kustomize;
mod live_object;
mod manifests;
mod yaml_scoped;
mod yaml_split;

pub(crate) use live_object::LiveObject;
pub(crate) use yaml_scoped::YamlScoped;
pub(crate) use yaml_split::YamlSplit;
