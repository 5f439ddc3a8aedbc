//! Settings from environment variables, read once at the edge so that tests can redirect every folder.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folders and search paths the sandbox works with.
#[derive(Clone, Debug)]
pub struct Environment {
    /// For files that can be rebuilt (`$XDG_CACHE_HOME/plimsoll`).
    pub cache: PathBuf,
    /// For running sandboxes (`$XDG_STATE_HOME/plimsoll`).
    pub state: PathBuf,
    /// The program search path (`PATH`).
    pub path: OsString,
    /// A folder with control plane programs, in envtest's convention (`KUBEBUILDER_ASSETS`).
    pub assets: Option<PathBuf>,
    /// Folders in which a release has the control plane (`control-plane` beside the program).
    pub releases: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no folder to keep files in: set HOME, or XDG_CACHE_HOME and XDG_STATE_HOME")]
pub struct NoHome;

impl Environment {
    pub fn from_process() -> Result<Self, NoHome> {
        let releases = env::current_exe().map_or_else(|_| Vec::new(), |program| beside(&program));
        Ok(Self { releases, ..Self::from_variables(|name| env::var_os(name))? })
    }

    pub fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, NoHome> {
        // The XDG Base Directory Specification says to ignore relative paths.
        let absolute = |name| get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = |xdg, fallback| {
            absolute(xdg).or_else(|| absolute("HOME").map(|home| home.join(fallback))).ok_or(NoHome)
        };
        Ok(Self {
            cache: folder("XDG_CACHE_HOME", ".cache")?.join("plimsoll"),
            state: folder("XDG_STATE_HOME", ".local/state")?.join("plimsoll"),
            path: get("PATH").unwrap_or_default(),
            assets: get("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty()).map(PathBuf::from),
            releases: Vec::new(),
        })
    }
}

/// Where a release has the control plane: beside the program, or where a package puts what `bin` is no place for.
fn beside(program: &Path) -> Vec<PathBuf> {
    let folder = program.parent().unwrap_or(program);
    let packaged = folder.parent().map(|prefix| prefix.join("lib/plimsoll/control-plane"));
    [folder.join("control-plane")].into_iter().chain(packaged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment, NoHome> {
        Environment::from_variables(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn folders_follow_xdg_and_fall_back_to_home() {
        let check = |variables: &[(&str, &str)], cache: &str, state: &str| {
            let environment = read(variables).unwrap();
            assert_eq!(environment.cache, PathBuf::from(cache));
            assert_eq!(environment.state, PathBuf::from(state));
        };
        check(&[("HOME", "/h")], "/h/.cache/plimsoll", "/h/.local/state/plimsoll");
        check(&[("XDG_CACHE_HOME", "/c"), ("XDG_STATE_HOME", "/s")], "/c/plimsoll", "/s/plimsoll");
        check(&[("HOME", "/h"), ("XDG_CACHE_HOME", "c")], "/h/.cache/plimsoll", "/h/.local/state/plimsoll");
    }

    #[test]
    fn an_environment_without_a_home_is_an_error() {
        assert!(read(&[("PATH", "/bin")]).is_err());
    }

    #[test]
    fn a_release_is_found_from_its_program() {
        let folders = ["/usr/local/bin/control-plane", "/usr/local/lib/plimsoll/control-plane"];
        assert_eq!(beside(Path::new("/usr/local/bin/plimsoll")), folders.map(PathBuf::from));
    }

    #[test]
    fn an_empty_assets_variable_counts_as_absent() {
        assert_eq!(read(&[("HOME", "/h"), ("KUBEBUILDER_ASSETS", "")]).unwrap().assets, None);
    }
}
