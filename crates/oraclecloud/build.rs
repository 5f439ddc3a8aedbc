//! Compresses the descriptions of kinds, so that a program with hundreds of them stays small.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::Value;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=kinds");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut paths: Vec<PathBuf> =
        fs::read_dir("kinds")?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let mut list = format!("static EMBEDDED: [Embedded; {}] = [\n", paths.len());
    for path in paths {
        list.push_str(&embed(&path, &out)?);
    }
    list.push_str("];\n");
    fs::write(out.join("kinds.rs"), list)
}

/// Compresses a file; returns the expression that embeds it.
fn embed(path: &Path, out: &Path) -> io::Result<String> {
    let service: Value = serde_json::from_slice(&fs::read(path)?)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let target = out.join(path.file_name().unwrap_or_default()).with_extension("deflate");
    let mut encoder = DeflateEncoder::new(fs::File::create(&target)?, Compression::best());
    encoder.write_all(service.to_string().as_bytes())?;
    encoder.finish()?;
    let mut kinds = String::new();
    for kind in service["kinds"].as_array().into_iter().flatten() {
        let _infallible = write!(kinds, "({:?}, {}), ", text(&kind["name"]), kind["derived"] == true);
    }
    let (name, target) = (text(&service["name"]), target.display().to_string());
    Ok(format!("    Embedded::new({name:?}, &[{kinds}], include_bytes!({target:?})),\n"))
}
