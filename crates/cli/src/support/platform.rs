//! What changed Compositions, XRDs and Functions do to the live XRs, for `plimsoll plan`.
//!
//! Which XRs are concerned is found here, with the user's own rights. They are rendered by the running operator, which reaches the
//! functions, or here by the same code if the command line says where functions are.

mod by_operator;
mod here;
mod shown;

use cluster::{Class, Selection};
use composition::object;
use composition::platform::{Concern, Platform, is_platform};
use composition::protocol::Object;
use diag::Diagnostic;
use indicatif::ProgressBar;
use jiff::Timestamp;
use operator::composition::preview::{XrPreview, read_platform};

use super::ask::OpenRequests;
use super::connect::Cluster;
use super::printer::Printer;
use super::report::Report;
use super::report::composites::{CompositeReport, Composites, Standing};
use crate::args::Format;
use crate::args::plan::CompositeArgs;
use crate::codes;

/// Adds to a plan what it does to the live XRs.
pub(crate) async fn add(
    report: &mut Report,
    args: &CompositeArgs,
    cluster: &Cluster,
    open: &OpenRequests,
    printer: &Printer,
) {
    let spinner = printer.spinner();
    let keeps_whole = printer.format() == Format::Diff;
    report.composites = review(report, args, cluster, open, keeps_whole, &spinner).await;
    spinner.finish_and_clear();
}

/// What a change does to the live XRs, or `None` if it concerns none.
async fn review(
    report: &Report,
    args: &CompositeArgs,
    cluster: &Cluster,
    open: &OpenRequests,
    keeps_whole: bool,
    bar: &ProgressBar,
) -> Option<Composites> {
    let changed = report.objects.iter().filter(|object| is_platform(&object.target));
    let changed: Vec<Object> =
        changed.filter_map(|object| object.answer.clone()).map(object::from_value).collect();
    if args.without_xrs || (changed.is_empty() && args.functions.is_empty()) {
        return None;
    }
    bar.set_message("looking for XRs that the change concerns");
    // With a change in files, the addresses only say where functions are.
    let moved = args.functions.iter().map(|(name, _)| name.clone()).filter(|_| changed.is_empty()).collect();
    let platform = match read_platform(&cluster.session, &changed, moved, Timestamp::now()).await {
        Ok(platform) => platform,
        Err(error) => {
            let problem = error.diagnostic("Plan").hint(
                "Finding the XRs that a change concerns needs the right to list XRDs, Compositions, Functions \
                 and their revisions. --without-xrs leaves the XRs out.",
            );
            return Some(Composites { items: Vec::new(), problems: vec![problem] });
        }
    };
    let (xrs, mut problems) = list(cluster, &platform).await;
    problems.extend(platform.problems().iter().cloned());
    let mut items = Vec::new();
    let mut concerned = Vec::new();
    for xr in xrs {
        match platform.concern(&xr) {
            Concern::No => {}
            Concern::Yes => concerned.push(xr),
            Concern::Pinned => items.extend(CompositeReport::standing(&xr, Standing::Pinned)),
            Concern::Paused => items.extend(CompositeReport::standing(&xr, Standing::Paused)),
            Concern::Going => items.extend(CompositeReport::standing(&xr, Standing::Going)),
        }
    }
    let rendered = if concerned.is_empty() {
        Ok(Vec::new())
    } else if args.functions.is_empty() {
        by_operator::render(&changed, &concerned, args, cluster, open, bar).await
    } else {
        bar.set_message(format!("rendering {} XRs", concerned.len()));
        here::render(&platform, &concerned, args, cluster).await
    };
    match rendered {
        Ok(previews) => {
            let shown = |(xr, preview): (&Object, XrPreview)| shown::report(xr, preview, keeps_whole);
            items.extend(concerned.iter().zip(previews).filter_map(shown));
        }
        Err(why) => {
            let count = concerned.len();
            let title = format!("cannot preview {count} XR{}", if count == 1 { "" } else { "s" });
            let detail = format!("{}. {}", sentence(&why.summary), why.detail);
            let problem = Diagnostic::error(why.code, title).detail(detail.trim().to_owned());
            problems.push(match why.hint {
                Some(hint) => problem.hint(hint),
                None => problem,
            });
            items.extend(concerned.iter().filter_map(|xr| CompositeReport::standing(xr, Standing::Unknown)));
        }
    }
    items.sort_by_cached_key(CompositeReport::order);
    (!items.is_empty() || !problems.is_empty()).then_some(Composites { items, problems })
}

/// A summary as the beginning of a sentence.
fn sentence(summary: &str) -> String {
    let mut letters = summary.chars();
    letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default() + letters.as_str()
}

/// The live XRs of the kinds that may be concerned, and of which kinds they cannot be listed.
async fn list(cluster: &Cluster, platform: &Platform) -> (Vec<Object>, Vec<Diagnostic>) {
    let (mut xrs, mut problems) = (Vec::new(), Vec::new());
    for kind in platform.kinds() {
        let listed = match cluster.session.list(&kind, &Selection::default()).await {
            // The user may have rights in one namespace only.
            Err(error) if error.class() == Class::InsufficientPermissions => {
                let selection =
                    Selection { namespace: Some(cluster.namespace.clone()), ..Selection::default() };
                let own = cluster.session.list(&kind, &selection).await;
                if own.is_ok() {
                    let title =
                        format!("you may list {} in namespace {} only", kind.kind(), cluster.namespace);
                    problems.push(
                        Diagnostic::error(codes::COMPOSITE_UNLISTED, title)
                            .detail("The plan does not say what becomes of XRs in other namespaces."),
                    );
                }
                own
            }
            listed => listed,
        };
        match listed {
            Ok(listing) => xrs.extend(listing.items.into_iter().map(object::from_value)),
            // Its CRD is on its way, so there are no XRs.
            Err(error) if error.is_kind_absent() => {}
            Err(error) => problems.push(
                error
                    .diagnostic("Plan")
                    .hint("Without the right to list them, the plan does not say what becomes of these XRs."),
            ),
        }
    }
    (xrs, problems)
}
