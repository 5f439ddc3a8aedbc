//! A run of a benchmark: its figures and bars, printed as they come and written as JSON at the end if `--json FILE` is given.
//!
//! The charts in the book are drawn from these files (`bench/results/`), so a figure says what was measured, of whom, and for
//! how many objects.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{Outcome, say};

/// Whose figure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Ours,
    /// Another program that does the same.
    Yardstick,
    /// The least that any program can need: the same requests without anything else.
    Floor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Megabytes,
    /// How many there are.
    Count,
}

/// What is measured, of how many objects, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct Figure<'f> {
    pub what: &'f str,
    pub who: &'f str,
    pub role: Role,
    /// How many objects there are, if the figure is one of several that grow with them.
    pub size: Option<usize>,
    pub unit: Unit,
}

pub struct Run {
    arguments: Vec<String>,
    file: Option<PathBuf>,
    /// How busy the machine was before.
    load: String,
    figures: Vec<Value>,
    bars: Vec<Value>,
}

impl Run {
    /// Begins a run with the arguments of this process.
    pub fn begin() -> Outcome<Self> {
        let mut arguments: Vec<String> = env::args().skip(1).collect();
        let file = match arguments.iter().position(|argument| argument == "--json") {
            Some(place) if place + 1 < arguments.len() => {
                let file = PathBuf::from(arguments.remove(place + 1));
                arguments.remove(place);
                Some(file)
            }
            Some(_) => return Err("--json needs a file".into()),
            None => None,
        };
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split_whitespace().next().unwrap_or_default().to_owned();
        Ok(Self { arguments, file, load, figures: Vec::new(), bars: Vec::new() })
    }

    /// The arguments of this process, without those that every benchmark has.
    pub fn arguments(&self) -> Vec<&str> {
        self.arguments.iter().map(String::as_str).collect()
    }

    /// Keeps a figure, which the caller prints.
    pub fn record(&mut self, figure: Figure<'_>, value: f64) {
        let role = match figure.role {
            Role::Ours => "ours",
            Role::Yardstick => "yardstick",
            Role::Floor => "floor",
        };
        let unit = match figure.unit {
            Unit::Seconds => "s",
            Unit::Megabytes => "MB",
            Unit::Count => "",
        };
        self.figures.push(json!({
            "what": figure.what, "who": figure.who, "role": role, "size": figure.size, "value": value, "unit": unit,
        }));
    }

    /// Keeps a time.
    pub fn time(&mut self, what: &str, who: &str, role: Role, time: Duration) {
        self.record(Figure { what, who, role, size: None, unit: Unit::Seconds }, time.as_secs_f64());
    }

    /// Prints a figure with the bar that it has to stay under, and keeps both.
    pub fn at_most(&mut self, what: &str, figure: f64, bar: f64) -> Outcome<()> {
        let verdict = if figure <= bar { "ok" } else { "MISSED" };
        say(format_args!("{what}: {figure:.2}, bar {bar}: {verdict}"))?;
        self.bars.push(json!({ "what": what, "figure": figure, "bar": bar, "ok": figure <= bar }));
        Ok(())
    }

    /// Writes the file, if one is wanted; an error if a bar is missed.
    pub fn end(self) -> Outcome<()> {
        let missed: Vec<&str> = self
            .bars
            .iter()
            .filter(|bar| bar["ok"] == false)
            .filter_map(|bar| bar["what"].as_str())
            .collect();
        let outcome = match missed[..] {
            [] => Ok(()),
            _ => Err(format!("missed: {}", missed.join("; ")).into()),
        };
        if let Some(file) = &self.file {
            let program = env::current_exe()?;
            let name = program.file_stem().map(|name| name.to_string_lossy().into_owned());
            let written = json!({
                "bench": name,
                "arguments": self.arguments,
                "date": Timestamp::now().to_string().split('T').next(),
                "machine": machine(),
                "load": self.load,
                "figures": self.figures,
                "bars": self.bars,
            });
            fs::write(file, format!("{written:#}\n"))?;
        }
        outcome
    }
}

/// What the figures were measured on: `AMD EPYC 7B13, 2 cores, 24 GB, Linux 6.1.0`.
fn machine() -> String {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let value = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        line.split_once(':').map_or_else(String::new, |(_, value)| value.trim().to_owned())
    };
    let processor = value(&read("/proc/cpuinfo"), "model name");
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let memory = value(&read("/proc/meminfo"), "MemTotal");
    let kilobytes: u64 =
        memory.split_whitespace().next().and_then(|size| size.parse().ok()).unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{processor}, {cores} cores, {} GB, Linux {}", (kilobytes >> 10).div_ceil(1024), kernel.trim())
}
