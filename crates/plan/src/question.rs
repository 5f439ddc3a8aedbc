//! Whether the API server has to be asked what an apply would do, or has to be sent the apply at all.
//!
//! Two things can make the question needless. An earlier answer is remembered, and nothing it covers has changed since:
//! the API server would answer the same again. Or the object is already as the apply would leave it (see
//! [`crate::is_applied`]); then only a webhook or an admission policy could still intervene, so it has to be known that
//! none does.

use diag::Diagnostic;
use manifest::ObjectRef;

use crate::{Intervention, codes};

/// What is remembered of the API server's last answer to the same question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastAnswer {
    Forgotten,
    /// What was written and what came of it are as they were.
    Current,
    Outdated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The apply would change nothing.
    Needless,
    Needed,
}

impl LastAnswer {
    /// Compares the fingerprint of the last answer with the one of what is observed now.
    pub fn compare<T: PartialEq>(remembered: Option<&T>, now: Option<&T>) -> Self {
        match remembered {
            None => Self::Forgotten,
            Some(_) if remembered == now => Self::Current,
            Some(_) => Self::Outdated,
        }
    }
}

/// The rule for everyone. An intervention counts only while no answer is remembered: an answer that is remembered
/// already shows what came of it.
pub fn question(
    last_answer: LastAnswer,
    is_applied: impl FnOnce() -> bool,
    intervention: Intervention,
) -> Question {
    let is_needless = match last_answer {
        LastAnswer::Current => true,
        LastAnswer::Outdated => false,
        LastAnswer::Forgotten => {
            matches!(intervention, Intervention::None | Intervention::Disregarded) && is_applied()
        }
    };
    if is_needless { Question::Needless } else { Question::Needed }
}

/// What is known of an apply after the API server has refused the question, because we lack the rights to ask it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalAnswer {
    Unchanged,
    /// Unchanged, unless a webhook or a policy intervenes: see [`not_asked`].
    NotAsked,
    Unknown,
}

pub fn local_answer(is_applied: impl FnOnce() -> bool, intervention: Intervention) -> LocalAnswer {
    match intervention {
        _ if !is_applied() => LocalAnswer::Unknown,
        Intervention::Unknown | Intervention::Possible => LocalAnswer::NotAsked,
        Intervention::None | Intervention::Disregarded => LocalAnswer::Unchanged,
    }
}

/// Marks an object that is shown as unchanged although the API server was not asked.
pub fn not_asked(target: &ObjectRef) -> Diagnostic {
    Diagnostic::note(codes::NOT_ASKED, format!("{target} was only compared locally"))
        .object(target.to_string())
        .detail(
            "You are not allowed to dry-run it. It is as written, but a webhook or an admission policy could still change it.",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intervention_forces_a_question_only_while_no_answer_is_remembered() {
        use Intervention::{Disregarded, None, Possible, Unknown};
        use LastAnswer::{Current, Forgotten, Outdated};
        let check = |last_answer, is_applied: bool, intervention, needless: bool| {
            let expected = if needless { Question::Needless } else { Question::Needed };
            let found = question(last_answer, || is_applied, intervention);
            assert_eq!(found, expected, "{last_answer:?} {is_applied} {intervention:?}");
        };
        for intervention in [None, Possible, Unknown, Disregarded] {
            for is_applied in [false, true] {
                check(Current, is_applied, intervention, true);
                check(Outdated, is_applied, intervention, false);
                let may_compare = matches!(intervention, None | Disregarded);
                check(Forgotten, is_applied, intervention, is_applied && may_compare);
            }
        }
    }

    #[test]
    fn a_refused_question_is_answered_locally_for_an_object_that_is_as_written() {
        use Intervention::{Disregarded, None, Possible, Unknown};
        for (intervention, expected) in [
            (None, LocalAnswer::Unchanged),
            (Disregarded, LocalAnswer::Unchanged),
            (Unknown, LocalAnswer::NotAsked),
            (Possible, LocalAnswer::NotAsked),
        ] {
            assert_eq!(local_answer(|| true, intervention), expected, "{intervention:?}");
            assert_eq!(local_answer(|| false, intervention), LocalAnswer::Unknown, "{intervention:?}");
        }
    }

    #[test]
    fn an_answer_is_current_while_its_fingerprint_is_the_same() {
        assert_eq!(LastAnswer::compare(None, Some(&"a")), LastAnswer::Forgotten);
        assert_eq!(LastAnswer::compare(Some(&"a"), Some(&"a")), LastAnswer::Current);
        assert_eq!(LastAnswer::compare(Some(&"a"), Some(&"b")), LastAnswer::Outdated);
        assert_eq!(LastAnswer::compare(Some(&"a"), None), LastAnswer::Outdated);
    }
}
