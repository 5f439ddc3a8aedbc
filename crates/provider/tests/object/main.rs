//! `k8sconnect_object` through real clients, on a real control plane.

mod adopting;
mod case;
mod conflicts;
mod connecting;
mod deleting;
mod dependencies;
mod lifecycle;
mod masks;
mod ownership;
mod random;
mod refusing;
mod replacing;
mod rows;
mod states;
mod waiting;
mod warnings;
mod write_only;
mod write_only_lists;
mod write_only_unknown;
