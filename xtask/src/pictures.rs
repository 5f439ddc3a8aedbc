//! `cargo xtask pictures`: makes every picture in the book and README. None is made by hand.
//!
//! The recording of the demo and the screenshots of the page are made by the tests that check both; the charts are drawn from
//! what the benchmarks have written to `bench/results/`.

mod charts;
mod draw;
mod results;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use charts::Chart;
use results::Results;

/// Where the recording and the screenshots are.
const VIEW: &str = "book/src/view";
/// Where the charts are.
const CHARTS: &str = "book/src/performance";
/// The chapter that shows them.
const CHAPTER: &str = "book/src/performance.md";

/// What is made.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// The charts, and the lines below them in the chapter on performance
    Charts,
    /// The recording of the demo, and its text in README
    Demo,
    /// The screenshots of the page (needs Chromium)
    Page,
}

pub(crate) fn run(root: &Path, only: Option<Part>) -> Result<()> {
    let wanted = |part: Part| only.is_none_or(|only| only == part);
    if wanted(Part::Charts) {
        for (file, text) in charts(root)? {
            fs::write(root.join(&file), text).with_context(|| format!("writing {file}"))?;
        }
    }
    if wanted(Part::Demo) {
        test(root, "demo", "the_demo_prints_what_the_readme_shows")?;
    }
    if wanted(Part::Page) {
        test(root, "ui", "the_demo_is_seen_in_a_browser")?;
    }
    Ok(())
}

/// Runs a test of `cli` that makes pictures.
fn test(root: &Path, program: &str, name: &str) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "--package", "cli", "--test", program, "--", name])
        .env("PLIMSOLL_PICTURES", root.join(VIEW))
        // Then a browser that is missing is an error.
        .env("CI", "true")
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "the test {name} failed");
    Ok(())
}

/// The files of all charts, and the chapter with the lines below each, by their paths.
fn charts(root: &Path) -> Result<Vec<(String, String)>> {
    let mut chapter = fs::read_to_string(root.join(CHAPTER)).with_context(|| format!("reading {CHAPTER}"))?;
    let mut files = Vec::new();
    for chart in charts::ALL {
        let Chart { name, command, .. } = chart;
        let figure = match Results::read(root, chart.bench)? {
            Some(results) => {
                files.push((format!("{CHARTS}/{name}.svg"), draw::chart(chart, &results)?));
                figure(chart, &results)
            }
            None => format!("`{command}` has not been run yet.\n"),
        };
        chapter = with_figure(&chapter, name, &figure)?;
    }
    files.push((CHAPTER.to_owned(), chapter));
    Ok(files)
}

/// A chart in the chapter: the picture, how to reproduce it, and what it was measured on.
fn figure(chart: &Chart, results: &Results) -> String {
    let Chart { name, title, command, .. } = chart;
    let (said, measured) = (draw::in_words(chart, results), results.measured());
    format!("![{title}: {said}](performance/{name}.svg)\n\n`{command}`\n\n{measured}\n")
}

/// The chapter with a figure between the marks with its name.
fn with_figure(chapter: &str, name: &str, figure: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- chart {name} -->\n"), "<!-- end -->");
    let (before, rest) = chapter.split_once(&begin).with_context(|| format!("{CHAPTER} lacks {begin}"))?;
    let (_, after) = rest.split_once(end).with_context(|| format!("{begin} has no end"))?;
    Ok(format!("{before}{begin}{figure}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charts_are_those_of_the_results() {
        let root = crate::root();
        for (file, text) in charts(&root).unwrap() {
            let committed = fs::read_to_string(root.join(&file)).unwrap_or_default();
            assert!(
                committed == text,
                "{file} is out of date; `cargo xtask pictures --only charts` draws it"
            );
        }
    }
}
