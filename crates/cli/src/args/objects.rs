//! Which objects a command is about: those that are named, selected by labels or in files, or all of a kind.

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use super::cluster::{ClusterArgs, TypeName};
use super::files::FileArgs;
use crate::support::completion;

/// Objects of a cluster.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ObjectArgs {
    /// Objects, as in `deploy/web svc/web`, `deploy web api`, or `pods,jobs` with --selector or --all
    #[arg(value_name = "TYPE/NAME", conflicts_with_all = ["filenames", "kustomize"], add = ArgValueCompleter::new(completion::objects))]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Objects of the named kinds with these labels, as in `app=web,tier!=cache`
    #[arg(short = 'l', long, value_name = "SELECTOR", conflicts_with_all = ["filenames", "kustomize", "all"])]
    pub(crate) selector: Option<String>,
    /// All objects of the named kinds
    #[arg(long, conflicts_with_all = ["filenames", "kustomize"])]
    pub(crate) all: bool,
    /// Search all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub(crate) all_namespaces: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// The words of a command line, understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Objects {
    Named(Vec<TypeName>),
    /// Those of these kinds that `--selector` or `--all` selects.
    OfKinds(Vec<String>),
    InFiles,
}

impl ObjectArgs {
    /// What the words mean, or what is wrong with them.
    pub(crate) fn objects(&self) -> Result<Objects, &'static str> {
        if !self.files.filenames.is_empty() || self.files.kustomize.is_some() {
            return Ok(Objects::InFiles);
        }
        if self.selector.as_deref().is_some_and(|selector| selector.trim().is_empty()) {
            return Err("--selector is empty; pass --all for all objects of a kind");
        }
        understand(&self.words, self.all || self.selector.is_some())
    }
}

/// As kubectl: `TYPE/NAME` several times, `TYPE NAME…`, or `TYPE` with a selection; a comma separates types.
fn understand(words: &[String], is_selection: bool) -> Result<Objects, &'static str> {
    let Some((first, rest)) = words.split_first() else {
        return Err("no object is named");
    };
    if words.iter().any(|word| word.contains('/')) {
        if is_selection {
            return Err("--selector and --all choose among the objects of a kind, not among names");
        }
        let named: Result<Vec<TypeName>, String> = words.iter().map(|word| word.parse()).collect();
        let is_mixed = words.iter().any(|word| !word.contains('/'));
        return named.map(Objects::Named).map_err(|_| {
            if is_mixed {
                "TYPE/NAME and TYPE NAME cannot be mixed"
            } else {
                "an object is named as TYPE/NAME, with one slash"
            }
        });
    }
    let kinds = first.split(',').filter(|kind| !kind.is_empty()).map(str::to_owned);
    match rest {
        [] if is_selection => Ok(Objects::OfKinds(kinds.collect())),
        [] => Err("a kind is named, but no object"),
        _ if is_selection => Err("--selector and --all choose among the objects of a kind, not among names"),
        names => {
            let of_kind = |kind: String| {
                names.iter().map(move |name| TypeName { kind: kind.clone(), name: name.clone() })
            };
            Ok(Objects::Named(kinds.flat_map(of_kind).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_named_as_for_kubectl() {
        let named = |pairs: &[(&str, &str)]| {
            let named =
                pairs.iter().map(|(kind, name)| TypeName { kind: (*kind).into(), name: (*name).into() });
            Some(Objects::Named(named.collect()))
        };
        let kinds = |kinds: &[&str]| Some(Objects::OfKinds(kinds.iter().map(|&kind| kind.into()).collect()));
        let check = |words: &[&str], is_selection: bool, expected: Option<Objects>| {
            let words: Vec<String> = words.iter().map(|&word| word.into()).collect();
            assert_eq!(understand(&words, is_selection).ok(), expected, "{words:?}");
        };
        check(&["deploy/web"], false, named(&[("deploy", "web")]));
        check(&["deploy/web", "svc/api"], false, named(&[("deploy", "web"), ("svc", "api")]));
        check(&["deploy", "web", "api"], false, named(&[("deploy", "web"), ("deploy", "api")]));
        check(&["deploy,svc", "web"], false, named(&[("deploy", "web"), ("svc", "web")]));
        check(&["pods"], true, kinds(&["pods"]));
        check(&["pods,jobs"], true, kinds(&["pods", "jobs"]));
        check(&["pods"], false, None);
        check(&["pods", "web"], true, None);
        check(&["pod/web"], true, None);
        check(&["deploy", "svc/web"], false, None);
        check(&["deploy/web/0"], false, None);
        check(&[], true, None);
        check(&[], false, None);
    }

    #[test]
    fn an_empty_selector_selects_nothing() {
        let args =
            ObjectArgs { words: vec!["pods".into()], selector: Some(" ".into()), ..ObjectArgs::default() };
        assert!(args.objects().is_err(), "an unset variable must not delete everything");
    }
}
