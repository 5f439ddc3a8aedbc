//! `plimsoll plan`, `plimsoll apply` and `plimsoll drift`

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use manifest::GoDuration;
use serde::{Deserialize, Serialize};

use super::applyset::{ParentName, SetArgs};
use super::cluster::ClusterArgs;
use super::delete::Cascade;
use super::files::FileArgs;
use super::values::{duration, endpoint, go_duration};
use crate::support::completion;

/// What is compared with the cluster, and how much of it is shown.
#[derive(Args, Clone, Debug)]
pub(crate) struct BodyArgs {
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Leave out what only the API server sets, as in the output of `kubectl get -o yaml`
    #[arg(long)]
    pub(crate) strip: bool,
    /// Show long values in full, and Markdown that is too long for a comment
    #[arg(long)]
    pub(crate) full: bool,
}

/// How objects are changed. A plan that is kept in a file has all of it.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ChangeArgs {
    #[command(flatten)]
    pub(crate) writer: WriterArgs,
    #[command(flatten)]
    pub(crate) set: SetArgs,
    #[command(flatten)]
    pub(crate) replacement: ReplaceArgs,
}

/// What becomes of objects that cannot be changed as wanted.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReplaceArgs {
    /// Recreate objects whose immutable fields change
    #[arg(long)]
    pub(crate) replace: bool,
    /// What to do with the objects that a replaced or pruned object owns
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub(crate) cascade: Cascade,
}

/// Who writes, and whether over other managers.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WriterArgs {
    /// Field manager to write as
    #[arg(long, value_name = "NAME", default_value = "plimsoll")]
    pub(crate) field_manager: String,
    /// Take all fields that other managers hold
    #[arg(long)]
    pub(crate) force_conflicts: bool,
    /// Take this field from other managers, as in `spec.replicas` or `spec.containers[*].image`; can be repeated
    #[arg(long, value_name = "PATH", conflicts_with = "force_conflicts")]
    pub(crate) take: Vec<String>,
    /// Take every field from this manager, for instance one that no longer writes; can be repeated
    #[arg(long, value_name = "MANAGER", conflicts_with = "force_conflicts")]
    pub(crate) take_from: Vec<String>,
    #[command(flatten)]
    pub(crate) leave: LeaveArgs,
}

/// Which fields are left to other managers.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LeaveArgs {
    /// Leave this field to other managers, as in `spec.replicas` or `metadata.annotations[*]`; can be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) ignore: Vec<String>,
    /// Leave this manager's fields alone; can be repeated
    #[arg(long, value_name = "MANAGER")]
    pub(crate) leave_to: Vec<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 nothing would change, 1 error, 2 something would change

Examples:
  plimsoll plan -f shop.yaml
  plimsoll plan -f manifests/ -R --force-conflicts
  plimsoll plan -f shop.yaml --take spec.replicas --leave-to cert-manager
  helm template web ./chart | plimsoll plan -f - -o json
  plimsoll plan -k overlays/production
  plimsoll plan -f manifests/ --applyset shop --prune
  plimsoll plan -f manifests/ --replace --out shop.plan
  plimsoll plan -f composition.yaml -o markdown
  plimsoll plan -f composition.yaml --function function-web=127.0.0.1:9443
  plimsoll plan --function function-web=127.0.0.1:9443")]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) bodies: BodyArgs,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
    /// Keep the plan in this file, for `plimsoll apply FILE`. Contains Secrets; readable only by you
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) composites: CompositeArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

const COMPOSITES: &str = "Options for changed Compositions, XRDs and Functions";

/// What becomes of the XRs that a changed platform concerns, and who renders them.
#[derive(Args, Clone, Debug)]
pub(crate) struct CompositeArgs {
    /// Do not render the XRs that the change concerns
    #[arg(long, help_heading = COMPOSITES)]
    pub(crate) without_xrs: bool,
    /// Render XRs here instead of by the operator, with this function at this address; can be repeated
    #[arg(long = "function", help_heading = COMPOSITES, value_name = "NAME=ENDPOINT", value_parser = endpoint,
          conflicts_with = "without_xrs")]
    pub(crate) functions: Vec<(String, String)>,
    /// Folder with a client certificate for these functions, from `plimsoll certs`
    #[arg(long, help_heading = COMPOSITES, value_name = "DIR", requires = "functions")]
    pub(crate) function_certs_dir: Option<PathBuf>,
    /// How long the operator may take to render a hundred XRs
    #[arg(long, help_heading = COMPOSITES, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) xr_timeout: Duration,
}

/// The options that a plan in a file has decided.
const PLANNED: [&str; 16] = [
    "filenames",
    "kustomize",
    "recursive",
    "strip",
    "field_manager",
    "force_conflicts",
    "take",
    "take_from",
    "ignore",
    "leave_to",
    "applyset",
    "prune",
    "adopt_applyset",
    "replace",
    "cascade",
    "namespace",
];

#[derive(Args, Debug)]
#[command(
    arg = super::kubectl::server_side(),
    after_help = "Exit status: 0 everything is applied (and ready, with --wait), 1 something is not, 130 interrupted

Examples:
  plimsoll apply -f shop.yaml --wait
  plimsoll apply -f crds.yaml -f objects.yaml
  plimsoll apply -k overlays/production --field-manager ci --force-conflicts
  plimsoll apply -f manifests/ --applyset shop --prune
  plimsoll apply -f manifests/ --confirm
  plimsoll apply -f composition.yaml --confirm --without-xrs
  plimsoll apply shop.plan"
)]
pub(crate) struct Apply {
    /// Plan to carry out, from `plimsoll plan --out`; refused if a planned object has changed
    #[arg(value_name = "PLAN", conflicts_with_all = PLANNED)]
    pub(crate) plan: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) bodies: BodyArgs,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
    #[command(flatten)]
    pub(crate) composites: CompositeArgs,
    /// Show the plan, and ask on the terminal before it is carried out
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) confirm: bool,
    /// Show what would change and write nothing; unlike `plan`, exits 0 despite changes
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_value = "none", default_missing_value = "server")]
    pub(crate) dry_run: DryRun,
    /// Wait until the objects are ready
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) wait: bool,
    /// Time limit for each object to become ready
    #[arg(long, value_name = "DURATION", value_parser = go_duration, default_value = "10m", requires = "wait")]
    pub(crate) timeout: GoDuration,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Whether an apply only asks what would happen, as kubectl writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    None,
    /// The API server says what would happen
    Server,
}

#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 the cluster matches the files, 1 error, 2 it differs

Examples:
  plimsoll drift -f manifests/
  plimsoll drift -f manifests/ --junit drift.xml
  plimsoll drift -f manifests/ --additions --ignore 'metadata.annotations[*]'
  plimsoll drift -f manifests/ --applyset shop
  plimsoll drift -k overlays/production -o json")]
pub(crate) struct Drift {
    #[command(flatten)]
    pub(crate) bodies: BodyArgs,
    /// Field manager to compare as
    #[arg(long, value_name = "NAME", default_value = "plimsoll")]
    pub(crate) field_manager: String,
    #[command(flatten)]
    pub(crate) leave: LeaveArgs,
    /// Also report fields of other managers that are not in the files
    #[arg(long)]
    pub(crate) additions: bool,
    /// Set that the objects belong to; its members that are not in the files are differences
    #[arg(long, value_name = "[RESOURCE[.GROUP]/]NAME", add = ArgValueCompleter::new(completion::applysets))]
    pub(crate) applyset: Option<ParentName>,
    /// Also write a JUnit report with one test case per object
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Command;

    use super::*;
    use crate::args::files::FileArgs;

    /// The options that `A` defines.
    fn options<A: Args>() -> impl Iterator<Item = String> {
        let command = A::augment_args(Command::new("test"));
        let ids: Vec<String> = command.get_arguments().map(|option| option.get_id().to_string()).collect();
        ids.into_iter()
    }

    #[test]
    fn no_option_beside_a_saved_plan_is_ignored() {
        let others = ["strip", "namespace"].map(str::to_owned);
        let expected: BTreeSet<String> =
            options::<FileArgs>().chain(options::<ChangeArgs>()).chain(others).collect();
        assert_eq!(PLANNED.map(str::to_owned).into_iter().collect::<BTreeSet<_>>(), expected);
        let known: BTreeSet<String> = options::<Apply>().collect();
        assert!(expected.is_subset(&known), "{known:?}");
    }
}
