//! `plimsoll render`

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Format;
use super::values::{duration, pair};

/// The arguments are named as in Crossplane's own command.
#[derive(Args, Debug)]
#[command(after_help = "The annotations of a Function determine its address:
  render.crossplane.io/runtime: Development                     localhost:9443
  render.crossplane.io/runtime-development-target: HOST:PORT    that address instead
  plimsoll.dev/endpoint: HOST:PORT                              the address the operator uses
function-auto-ready and function-status-transformer are built in.

Exit status: 0 done, 1 error

Examples:
  plimsoll render xr.yaml composition.yaml functions.yaml
  plimsoll render xr.yaml composition.yaml functions.yaml -r -o observed/ --xrd xrd.yaml
  plimsoll render xr.yaml composition.yaml functions.yaml --context-values apps=[\"web\"] -c")]
pub(crate) struct Render {
    /// Composite resource (XR)
    #[arg(value_name = "XR")]
    pub(crate) composite: PathBuf,
    /// Composition to render it with
    #[arg(value_name = "COMPOSITION")]
    pub(crate) composition: PathBuf,
    /// Functions of the Composition: a file or a folder
    #[arg(value_name = "FUNCTIONS")]
    pub(crate) functions: PathBuf,
    /// Existing composed resources: a file or a folder
    #[arg(short, long, value_name = "PATH")]
    pub(crate) observed_resources: Option<PathBuf>,
    /// Objects that functions may require: a file or a folder; can be repeated
    #[arg(short = 'e', long, alias = "extra-resources", value_name = "PATH")]
    pub(crate) required_resources: Vec<PathBuf>,
    /// OpenAPI v3 documents with schemas that functions may require: a file or a folder
    #[arg(short = 's', long, value_name = "PATH")]
    pub(crate) required_schemas: Option<PathBuf>,
    /// Secrets with credentials for functions: a file or a folder
    #[arg(long, value_name = "PATH")]
    pub(crate) function_credentials: Option<PathBuf>,
    /// Annotation for every Function, in place of its own; can be repeated
    #[arg(short = 'a', long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) function_annotations: Vec<(String, String)>,
    /// CompositeResourceDefinition (XRD) of the XR, for its defaults and the place of engine fields
    #[arg(long, value_name = "PATH")]
    pub(crate) xrd: Option<PathBuf>,
    /// Context for the first function, from a JSON or YAML file; can be repeated
    #[arg(long, value_name = "KEY=FILE", value_parser = pair)]
    pub(crate) context_files: Vec<(String, String)>,
    /// Context for the first function, as JSON or YAML; can be repeated
    #[arg(long, value_name = "KEY=JSON", value_parser = pair)]
    pub(crate) context_values: Vec<(String, String)>,
    /// Also show the results that functions returned
    #[arg(short = 'r', long)]
    pub(crate) include_function_results: bool,
    /// Show the whole XR, not only its references to composed resources and its status
    #[arg(short = 'x', long)]
    pub(crate) include_full_xr: bool,
    /// Also show the context after the last function
    #[arg(short = 'c', long)]
    pub(crate) include_context: bool,
    /// Time limit for all functions together
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2m")]
    pub(crate) timeout: Duration,
    /// Output format; has no short form here, where -o is --observed-resources
    // Has the name of the global option, which it replaces, because Crossplane's command uses `-o`.
    #[arg(id = "output", long, value_enum, default_value_t, value_name = "FORMAT", help_heading = super::GLOBAL)]
    pub(crate) output: Format,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command};

    fn parse(arguments: &[&str]) -> (Format, Render) {
        let all = ["plimsoll", "render", "xr", "comp", "fns"].iter().chain(arguments);
        let cli = Cli::try_parse_from(all).unwrap();
        match cli.command {
            Command::Render(render) => (cli.global.output, render),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_short_o_means_observed_resources_and_the_long_output_the_format() {
        let (format, render) = parse(&["-o", "json", "-r", "-x", "-c", "-e", "extra"]);
        assert_eq!(format, Format::Text);
        assert_eq!(render.observed_resources, Some("json".into()));
        assert_eq!(render.required_resources, [PathBuf::from("extra")]);
        assert!(render.include_function_results && render.include_full_xr && render.include_context);
        let (format, render) = parse(&["--output", "json", "--extra-resources", "extra"]);
        assert_eq!((format, render.output), (Format::Json, Format::Json));
        assert_eq!(render.required_resources, [PathBuf::from("extra")]);
    }

    #[test]
    fn flags_are_those_of_crossplanes_command() {
        let (_, render) = parse(&[
            "-e",
            "a",
            "-e",
            "b",
            "--extra-resources",
            "c",
            "-s",
            "schemas",
            "-a",
            "k=v",
            "--function-annotations",
            "l=w",
        ]);
        assert_eq!(render.required_resources, ["a", "b", "c"].map(PathBuf::from));
        assert_eq!(render.required_schemas, Some("schemas".into()));
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(render.function_annotations, [pair("k", "v"), pair("l", "w")]);
    }

    #[test]
    fn context_is_given_by_key() {
        let (_, render) = parse(&["--context-values", r#"a={"b":1}"#, "--context-values", "c=[1,2]"]);
        let pairs: Vec<_> =
            render.context_values.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("a", r#"{"b":1}"#), ("c", "[1,2]")]);
        assert!(Cli::try_parse_from(["plimsoll", "render", "x", "c", "f", "--context-files", "a"]).is_err());
    }
}
