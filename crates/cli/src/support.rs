//! What commands share: the terminal, the process, the input files, and the cluster.

pub(crate) mod age;
pub(crate) mod batch;
pub(crate) mod concurrency;
pub(crate) mod connect;
pub(crate) mod exit;
pub(crate) mod files;
pub(crate) mod health;
pub(crate) mod in_flight;
pub(crate) mod informer;
pub(crate) mod kinds;
pub(crate) mod multicall;
pub(crate) mod operation;
pub(crate) mod owner_tree;
pub(crate) mod printer;
pub(crate) mod process;
pub(crate) mod report;
pub(crate) mod sandbox_progress;
