//! The controllers of one half, except while another engine does their work.

use tokio_util::sync::CancellationToken;

use super::Context;
use crate::composition::metrics::CompositionMetrics;
use crate::operations::metrics::CloudMetrics;
use crate::options::Half;
use crate::runtime::client::ObjectClient;
use crate::runtime::metrics::Part as _;
use crate::{aside, composition, operations, rivals};

/// Runs the controllers of `half` until `stop`. They wait while a rival runs, also one that starts later.
pub(super) async fn run(half: Half, context: Context, stop: CancellationToken) {
    let minds_rivals = !context.options.take_over;
    let client = ObjectClient::new(context.session.clone()).while_leading(context.leadership.clone());
    loop {
        if minds_rivals {
            tokio::select! {
                () = wait_aside(half, &client, &context) => {}
                () = stop.cancelled() => return,
            }
        }
        aside::resume(&client, half, &context.options.kinds).await;
        let stop_half = stop.child_token();
        // Also after a panic: what the controllers have started ends before others are.
        let _stopping = stop_half.clone().drop_guard();
        let mut controllers = Box::pin(start(half, context.clone(), stop_half.clone()));
        tokio::select! {
            () = &mut controllers => return,
            () = rivals::appears(&context.session, half), if minds_rivals => {}
        }
        stop_half.cancel();
        controllers.await;
        // Another engine changes what was counted, and nothing here would notice.
        match half {
            Half::Oci => context.metrics.part::<CloudMetrics>().clear(),
            Half::Composition => context.metrics.part::<CompositionMetrics>().clear(),
        }
    }
}

/// Returns when no other engine does the work of `half`, and reports the one that it waits for.
async fn wait_aside(half: Half, client: &ObjectClient, context: &Context) {
    let Some(rival) = rivals::running(&context.session, half).await else { return };
    tracing::warn!(
        engine = rival.engine,
        lease = rival.lease,
        holder = rival.holder,
        "another engine is running; no controllers run until it is gone"
    );
    aside::step_aside(client, half, &context.options.kinds, &rival).await;
    rivals::gone(&context.session, half).await;
    tracing::info!(engine = rival.engine, "the other engine is gone; starting controllers");
}

async fn start(half: Half, context: Context, stop: CancellationToken) {
    match half {
        Half::Oci => operations::run(context, stop).await,
        Half::Composition => composition::run(context, stop).await,
    }
}
