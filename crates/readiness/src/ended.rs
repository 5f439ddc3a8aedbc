//! When waiting longer is of no use, because the object has come to an end of its own.

use crate::object::{Condition, Object};

/// Why an object that is being deleted is not worth waiting for, whatever its status says.
pub(crate) fn deleted(object: Object<'_>) -> Option<String> {
    let since = object.text("/metadata/deletionTimestamp");
    (!since.is_empty()).then(|| format!("it is being deleted since {since}"))
}

/// Why the status of this object will not get any better.
pub(crate) fn ended(object: Object<'_>) -> Option<String> {
    match object.group_kind() {
        ("batch", "Job") => {
            let failed = object.condition("Failed").filter(Condition::is_true)?;
            Some(format!("the Job failed{}", because(failed.reason, failed.message)))
        }
        ("apps", "Deployment") => {
            // The deadline of an earlier spec says nothing about this one.
            let progressing = object.condition("Progressing").filter(|_| object.is_observed())?;
            let exceeded = progressing.reason == "ProgressDeadlineExceeded" && !progressing.is_true();
            exceeded.then(|| {
                format!(
                    "the Deployment exceeded its progress deadline{}",
                    because(progressing.reason, progressing.message)
                )
            })
        }
        ("", "Pod") => {
            let phase = object.text("/status/phase");
            let over = matches!(phase, "Failed" | "Succeeded");
            let why = because(object.text("/status/reason"), object.text("/status/message"));
            over.then(|| format!("the Pod has ended in phase {phase}{why}"))
        }
        _ => None,
    }
}

/// ` (reason): message`, as far as there is any.
pub(crate) fn because(reason: &str, message: &str) -> String {
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    let message = if message.is_empty() { String::new() } else { format!(": {message}") };
    reason + &message
}
