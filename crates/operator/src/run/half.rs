//! The controllers of one half, except while another engine does their work.

use oraclecloud::Catalogue;
use tokio_util::sync::CancellationToken;

use super::Context;
use crate::options::Half;
use crate::{aside, composition, operations, rivals};

/// Runs the controllers of `half` until `stop`. They make way for a rival that starts, and go on when it is gone.
pub(super) async fn run(half: Half, context: Context, stop: CancellationToken) {
    let kinds = Catalogue::standard().and(&context.options.kinds);
    loop {
        aside::resume(&context.session, half, &kinds).await;
        let stop_half = stop.child_token();
        let mut controllers = Box::pin(start(half, context.clone(), stop_half.clone()));
        let rival = tokio::select! {
            () = &mut controllers => return,
            rival = rivals::appears(&context.session, half), if !context.options.take_over => rival,
        };
        tracing::warn!(
            engine = rival.engine,
            lease = rival.lease,
            holder = rival.holder,
            "another engine has started; stopping controllers until it is gone"
        );
        stop_half.cancel();
        controllers.await;
        tokio::select! {
            () = async {
                aside::step_aside(&context.session, half, &kinds, &rival).await;
                rivals::gone(&context.session, half).await;
            } => tracing::info!(engine = rival.engine, "the other engine is gone; starting controllers"),
            () = stop.cancelled() => return,
        }
    }
}

async fn start(half: Half, context: Context, stop: CancellationToken) {
    match half {
        Half::Oci => operations::run(context, stop).await,
        Half::Composition => composition::run(context, stop).await,
    }
}
