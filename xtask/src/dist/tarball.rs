//! Archives whose bytes depend on their content alone: sorted, owned by root, all files of one time.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// The files of an archive, by path.
#[derive(Default)]
pub(super) struct Files(BTreeMap<String, File>);

struct File {
    content: Content,
    mode: u32,
}

enum Content {
    Folder,
    Text(Vec<u8>),
    /// A file of this machine.
    Copied(PathBuf),
    /// A symbolic link.
    Link(String),
}

impl Files {
    pub(super) fn text(&mut self, path: &str, content: impl Into<Vec<u8>>) {
        self.0.insert(path.to_owned(), File { content: Content::Text(content.into()), mode: 0o644 });
    }

    pub(super) fn copy(&mut self, path: &str, from: &Path) {
        self.0.insert(path.to_owned(), File { content: Content::Copied(from.to_owned()), mode: 0o644 });
    }

    pub(super) fn program(&mut self, path: &str, from: &Path) {
        self.0.insert(path.to_owned(), File { content: Content::Copied(from.to_owned()), mode: 0o755 });
    }

    pub(super) fn link(&mut self, path: &str, target: &str) {
        self.0.insert(path.to_owned(), File { content: Content::Link(target.to_owned()), mode: 0o777 });
    }

    pub(super) fn folder(&mut self, path: &str, mode: u32) {
        self.0.insert(format!("{}/", path.trim_end_matches('/')), File { content: Content::Folder, mode });
    }

    /// A folder of this machine with everything in it that `is_wanted`.
    pub(super) fn tree(&mut self, path: &str, from: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Result<()> {
        for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
            let entry = entry?.path();
            let name = entry.file_name().context("an entry has a name")?.to_string_lossy();
            let inside = format!("{path}/{name}");
            if !is_wanted(&entry) {
                continue;
            }
            if entry.is_dir() {
                self.tree(&inside, &entry, is_wanted)?;
            } else {
                self.copy(&inside, &entry);
            }
        }
        Ok(())
    }

    /// Writes the archive; `time` is in seconds since 1970.
    pub(super) fn write(&self, out: impl Write, time: u64) -> Result<()> {
        let mut archive = Builder::new(out);
        for (path, file) in &self.0 {
            let read = match &file.content {
                Content::Folder | Content::Link(_) => Vec::new(),
                Content::Text(text) => text.clone(),
                Content::Copied(from) => {
                    fs::read(from).with_context(|| format!("reading {}", from.display()))?
                }
            };
            let mut header = Header::new_gnu();
            header.set_entry_type(match &file.content {
                Content::Folder => EntryType::Directory,
                Content::Link(_) => EntryType::Symlink,
                Content::Text(_) | Content::Copied(_) => EntryType::Regular,
            });
            header.set_mode(file.mode);
            header.set_mtime(time);
            header.set_uid(0);
            header.set_gid(0);
            header.set_size(read.len() as u64);
            let packed = match &file.content {
                Content::Link(target) => archive.append_link(&mut header, path, target),
                _ => archive.append_data(&mut header, path, read.as_slice()),
            };
            packed.with_context(|| format!("packing {path}"))?;
        }
        archive.into_inner().context("finishing the archive")?.flush()?;
        Ok(())
    }

    pub(super) fn write_gz(&self, path: &Path, time: u64) -> Result<()> {
        let file = fs::File::create(path).with_context(|| format!("creating {}", path.display()))?;
        let mut compressed = gz(file, Compression::best());
        self.write(&mut compressed, time)?;
        compressed.finish().context("finishing the archive")?;
        Ok(())
    }
}

/// Compresses without a time and without a name.
pub(super) fn gz<W: Write>(out: W, level: Compression) -> flate2::write::GzEncoder<W> {
    GzBuilder::new().mtime(0).write(out, level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_depend_on_the_content_alone() {
        let folder = tempfile::tempdir().unwrap();
        let write = |names: [&str; 2], archive: &str| {
            let mut files = Files::default();
            for name in names {
                let from = folder.path().join(name);
                fs::write(&from, name).unwrap();
                files.program(&format!("a/{name}"), &from);
            }
            files.folder("tmp", 0o1777);
            files.link("a/z", "x");
            let archive = folder.path().join(archive);
            files.write_gz(&archive, 1_700_000_000).unwrap();
            fs::read(archive).unwrap()
        };
        assert_eq!(write(["x", "y"], "one"), write(["y", "x"], "other"));
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(
            fs::File::open(folder.path().join("one")).unwrap(),
        ));
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            (entry.path().unwrap().display().to_string(), header.mode().unwrap(), header.mtime().unwrap())
        });
        let time = 1_700_000_000;
        let expected = [
            ("a/x".to_owned(), 0o755, time),
            ("a/y".to_owned(), 0o755, time),
            ("a/z".to_owned(), 0o777, time),
            ("tmp/".to_owned(), 0o1777, time),
        ];
        assert_eq!(entries.collect::<Vec<_>>(), expected);
    }
}
