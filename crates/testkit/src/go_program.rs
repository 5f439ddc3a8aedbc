//! Programs that are built from Go modules, once, into the cache of the sandbox.

use std::path::PathBuf;

use sandbox::Environment;
use sandbox::gobuild::{BuildEvent, Module};

/// The folder with the finished build.
pub(crate) fn build(module: &Module<'_>, name: &str) -> PathBuf {
    let environment = Environment::from_process().expect("tests have a home folder");
    let mut tenths = 0;
    let built = module.ensure(&environment.cache, &environment.path, &mut |event| match event {
        BuildEvent::Started { estimate, .. } => {
            log(&format!("building {name}, which takes up to {} minutes", estimate.as_secs().div_ceil(60)));
        }
        BuildEvent::Compiled { done, total } if done * 10 / total.max(1) > tenths => {
            tenths = done * 10 / total.max(1);
            log(&format!("building {name}: {done} of {total} packages"));
        }
        _ => {}
    });
    built.unwrap_or_else(|error| panic!("cannot build {name}: {error:?}"))
}

#[expect(clippy::print_stderr, reason = "a test that takes minutes, or is skipped, says so")]
pub(crate) fn log(text: &str) {
    eprintln!("{text}");
}
