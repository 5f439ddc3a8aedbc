//! Panics: one inside a call is told to its caller, one anywhere else is reported the way Terraform recognises a crash.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::panic::PanicHookInfo;

tokio::task_local! {
    /// Where the call that runs on this task has panicked.
    static PLACE: RefCell<Option<String>>;
}

/// Runs `work`; a panic in it is not a crash, and where it happened is handed to whoever catches it.
pub(crate) async fn observed<T>(work: impl Future<Output = T>) -> (T, Option<String>) {
    PLACE
        .scope(RefCell::new(None), async {
            let done = work.await;
            let place = PLACE.with(RefCell::take);
            (done, place)
        })
        .await
}

/// The text of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&'static str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Installs the hook for the whole process.
pub(crate) fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string);
        let observed = PLACE.try_with(|slot| slot.replace(place)).is_ok();
        if observed {
            tracing::error!(target: "panic", backtrace = %Backtrace::force_capture(), "a call panicked");
        } else {
            crash(info);
        }
    }));
}

/// Terraform looks for a line that begins like this on standard error and shows what follows.
#[expect(clippy::print_stderr, reason = "the only way to tell Terraform about a crash")]
fn crash(info: &PanicHookInfo<'_>) {
    eprintln!("panic: {}\n\n{}\n{}", message(info.payload()), info, Backtrace::force_capture());
}
