//! Reports panics: one in a call becomes a diagnostic, any other is printed in the form Terraform recognises as a crash.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::panic::PanicHookInfo;

tokio::task_local! {
    /// Where the call on this task panicked.
    static LOCATION: RefCell<Option<String>>;
}

/// Runs `work`, which catches its panics, and returns where it panicked. The hook does not report such a panic as a crash.
pub(crate) async fn with_location<T>(work: impl Future<Output = T>) -> (T, Option<String>) {
    LOCATION
        .scope(RefCell::new(None), async {
            let done = work.await;
            (done, LOCATION.with(RefCell::take))
        })
        .await
}

pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&'static str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

pub(crate) fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        let location = info.location().map(ToString::to_string);
        let is_caught = LOCATION.try_with(|slot| slot.replace(location)).is_ok();
        if is_caught {
            tracing::error!(target: "panic", backtrace = %Backtrace::force_capture(), "a call panicked");
        } else {
            crash(info);
        }
    }));
}

/// Terraform looks for a line that begins with `panic: ` on standard error and shows what follows.
#[expect(clippy::print_stderr, reason = "the only way to report a crash to Terraform")]
fn crash(info: &PanicHookInfo<'_>) {
    eprintln!("panic: {}\n\n{}\n{}", message(info.payload()), info, Backtrace::force_capture());
}
