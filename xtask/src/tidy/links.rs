//! Links between pages of Markdown: each leads to a file and a heading that exist, and the book's summary lists every page.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::files::{read, tracked};

const BOOK: &str = "book/src";

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let pages = tracked(root, "*.md")?;
    let mut findings = unlisted(&pages, &read(root, &Path::new(BOOK).join("SUMMARY.md"))?);
    for page in &pages {
        for link in links(&read(root, page)?).into_iter().filter(|link| !link.contains("://")) {
            if !leads_somewhere(root, page, &link)? {
                findings.push(format!("{} links to {link}, which does not exist", page.display()));
            }
        }
    }
    Ok(findings)
}

fn leads_somewhere(root: &Path, page: &Path, link: &str) -> Result<bool> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() { page.to_owned() } else { page.parent().unwrap_or(page).join(file) };
    Ok(root.join(&target).exists() && (anchor.is_empty() || anchors(&read(root, &target)?).contains(anchor)))
}

/// The pages of the book that no reader finds.
fn unlisted(pages: &[PathBuf], summary: &str) -> Vec<String> {
    let listed: BTreeSet<PathBuf> = links(summary).iter().map(|link| Path::new(BOOK).join(link)).collect();
    let of_book = pages.iter().filter(|page| page.starts_with(BOOK) && !page.ends_with("SUMMARY.md"));
    let missing = of_book.filter(|page| !listed.contains(*page));
    missing.map(|page| format!("{} is not in {BOOK}/SUMMARY.md", page.display())).collect()
}

/// Where a page links to, `[text](target)`, and the pictures in its HTML; code left out.
fn links(page: &str) -> Vec<String> {
    let prose = prose(page).map(without_code).collect::<Vec<_>>().join("\n");
    let between = |begin: &str, end: char| {
        let targets = prose.split(begin).skip(1).filter_map(move |rest| rest.split_once(end));
        targets.map(|(target, _)| target.to_owned()).collect::<Vec<_>>()
    };
    [between("](", ')'), between(" src=\"", '"'), between(" srcset=\"", '"')].concat()
}

/// The headings of a page as mdBook and GitHub name them in links, and what has an id of its own.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page).filter_map(|line| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len()).then_some(heading)
    });
    let named = headings.map(|heading| {
        let kept = heading.trim().chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    });
    let ids =
        page.split("id=\"").skip(1).filter_map(|rest| rest.split_once('"').map(|(id, _)| id.to_owned()));
    named.chain(ids).collect()
}

/// The lines outside fenced blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut in_block = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        !in_block && !is_fence
    })
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_outside_code_and_headings_become_anchors() {
        let page =
            "[a](b.md) and [`c`](d/e.md#f), not `[x](y)`\n```sh\n# [no](no.md)\n```\n<img src=\"g.png\">\n";
        assert_eq!(links(page), ["b.md", "d/e.md#f", "g.png"]);
        let page = "# `plimsoll plan`: A\n```sh\n# no\n```\n## x_y Z\n<a id=\"a--b\"></a>\n";
        assert_eq!(anchors(page), ["plimsoll-plan-a", "x_y-z", "a--b"].map(str::to_owned).into());
    }

    #[test]
    fn a_page_that_the_summary_leaves_out_is_found() {
        let pages =
            ["book/src/SUMMARY.md", "book/src/a.md", "book/src/b/c.md", "README.md"].map(PathBuf::from);
        assert_eq!(unlisted(&pages, "[A](a.md)"), ["book/src/b/c.md is not in book/src/SUMMARY.md"]);
    }
}
