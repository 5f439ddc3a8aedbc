//! Actions: restart, scale and delete. They change objects without a state of their own.

mod delete;
mod restart;
mod scale;
mod target;

use std::sync::Arc;

use tfplugin::provider::Action;

use crate::context::Context;

pub(crate) fn all(context: &Arc<Context>) -> Vec<Arc<dyn Action>> {
    vec![
        Arc::new(restart::Restart(Arc::clone(context))),
        Arc::new(scale::Scale(Arc::clone(context))),
        Arc::new(delete::DeleteObject(Arc::clone(context))),
    ]
}
