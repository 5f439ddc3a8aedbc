//! Has the running operator render XRs, as many at a time as fit into an answer.

use composition::protocol::Object;
use diag::Diagnostic;
use indicatif::ProgressBar;
use operator::composition::preview::XrPreview;
use operator::composition::requests::{MAX_XRS, Named, Operation, PlanQuestion};

use crate::args::plan::CompositeArgs;
use crate::codes;
use crate::support::ask::{Ask, OpenRequests, Unanswered};
use crate::support::connect::Cluster;

const ADVICE: &str = "Start the operator (`plimsoll install`, or `plimsoll operator`), pass --function \
                      NAME=HOST:PORT to render here, or --without-xrs to leave the XRs out.";

pub(super) async fn render(
    changed: &[Object],
    xrs: &[Object],
    args: &CompositeArgs,
    cluster: &Cluster,
    open: &OpenRequests,
    bar: &ProgressBar,
) -> Result<Vec<XrPreview>, Diagnostic> {
    let ask = Ask::new(cluster, args.xr_timeout, open, ADVICE).await?;
    let named: Vec<Named> = xrs.iter().filter_map(Named::of).collect();
    let mut previews = Vec::new();
    let mut page = MAX_XRS;
    while previews.len() < named.len() {
        let rest = &named[previews.len()..];
        let xrs = rest[..page.min(rest.len())].to_vec();
        let (first, last) = (previews.len() + 1, previews.len() + xrs.len());
        bar.set_message(format!("the operator renders XRs {first} to {last} of {}", named.len()));
        let question = PlanQuestion { changed: changed.to_vec(), xrs };
        match ask.answer::<Vec<XrPreview>>(Operation::Plan, &question).await {
            Ok(answer) if answer.len() == question.xrs.len() => previews.extend(answer),
            Ok(_) => {
                return Err(Diagnostic::error(
                    codes::OPERATOR_REFUSED,
                    "the operator's response does not match the request",
                ));
            }
            Err(Unanswered::TooLarge) if page > 1 => page = page.div_ceil(4),
            Err(Unanswered::TooLarge) => {
                let why = "what it would be composed of, or the change itself, exceeds the size limit; render it here \
                           with --function NAME=HOST:PORT";
                previews.push(XrPreview { failure: Some(why.to_owned()), ..XrPreview::default() });
            }
            Err(Unanswered::Failed(why)) => return Err(*why),
        }
    }
    Ok(previews)
}
