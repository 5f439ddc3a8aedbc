//! Writes the pages of the Terraform registry into a folder; `cargo xtask docs` calls it.

mod pages;

use std::fs;
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("the folder to write to"));
    for page in pages::pages() {
        let path = folder.join(page.path);
        fs::create_dir_all(path.parent().expect("pages are in a folder"))?;
        fs::write(path, page.text)?;
    }
    Ok(())
}
