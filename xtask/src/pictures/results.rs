//! What a benchmark has written with `--json`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Results {
    date: String,
    machine: String,
    /// The load of the machine before the benchmark began.
    load: String,
    pub(super) figures: Vec<Figure>,
    pub(super) bars: Vec<Bar>,
}

/// A figure that was measured.
#[derive(Deserialize)]
pub(super) struct Figure {
    pub(super) what: String,
    pub(super) who: String,
    pub(super) role: Role,
    /// Of how many objects.
    pub(super) size: Option<u32>,
    pub(super) value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    Ours,
    Yardstick,
    Floor,
}

/// A figure and what it may be at most.
#[derive(Deserialize)]
pub(super) struct Bar {
    pub(super) what: String,
    pub(super) figure: f64,
    #[serde(rename = "bar")]
    pub(super) at_most: f64,
}

impl Results {
    /// The results of a benchmark; nothing if it has not been run.
    pub(super) fn read(root: &Path, bench: &str) -> Result<Option<Self>> {
        let file = root.join(format!("bench/results/{bench}.json"));
        if !file.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&file)?;
        serde_json::from_str(&text).map(Some).with_context(|| format!("reading {}", file.display()))
    }

    /// What they were measured on, and when.
    pub(super) fn measured(&self) -> String {
        format!("Measured {} on {}, with a load of {} when it began.", self.date, self.machine, self.load)
    }

    /// The sizes that were measured, in order.
    pub(super) fn sizes(&self, what: &str) -> Vec<u32> {
        let mut sizes: Vec<u32> = self
            .figures
            .iter()
            .filter(|figure| figure.what == what)
            .filter_map(|figure| figure.size)
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The figures of one subject and size, ours first.
    pub(super) fn of(&self, what: &str, size: Option<u32>) -> Vec<&Figure> {
        let mut figures: Vec<&Figure> =
            self.figures.iter().filter(|figure| figure.what == what && figure.size == size).collect();
        figures.sort_by_key(|figure| match figure.role {
            Role::Ours => 0,
            Role::Yardstick => 1,
            Role::Floor => 2,
        });
        figures
    }
}
