//! Renders XRs in this process, as the user, with functions at the addresses that the user names.

use composition::platform::Platform;
use composition::protocol::Object;
use diag::Diagnostic;
use functions::{Certificates, Functions, Options};
use operator::composition::preview::{Previewer, XrPreview};
use operator::runtime::client::ObjectClient;

use crate::args::plan::CompositeArgs;
use crate::codes;
use crate::support::connect::Cluster;
use crate::support::mask_key::MASK_KEY;

pub(super) async fn render(
    platform: &Platform,
    xrs: &[Object],
    args: &CompositeArgs,
    cluster: &Cluster,
) -> Result<Vec<XrPreview>, Diagnostic> {
    let certificates = args.function_certs_dir.clone().map(Certificates::Folder).into_iter().collect();
    let options = Options { certificates, ..Options::default() };
    let functions = Functions::new(options, platform.locate(args.functions.iter().cloned().collect()));
    let functions =
        functions.map_err(|error| Diagnostic::error(codes::RENDER_FUNCTION, error.to_string()))?;
    let client = ObjectClient::new(cluster.session.clone());
    Ok(Previewer::new(client, &functions, platform, MASK_KEY.clone()).preview(xrs).await)
}
