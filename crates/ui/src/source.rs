//! What the page asks, and who answers.

use diag::Diagnostic;
use serde_json::Value;

use crate::path::Target;

/// What a view needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// `objects` to start from whose kind, namespace or name contains the text, each with its `section`, `health` and `why`;
    /// how many `more` there are, `unreadable` and `trouble`.
    Search(String),
    /// One object: `tree`, `why` and `owners` as those commands print them; its `parent`; its `status`, and for a claim that of
    /// the composite resource as `platform`; `changes` and `since` when they are recorded; `unreadable` and `trouble`.
    Object(Target),
    /// `operations` as `plimsoll operations -A` prints them; `unreadable` and `trouble`.
    Operations,
    /// What `plimsoll plan` prints for the manifests in a text, or without one for the files of the command line.
    Plan(Option<String>),
}

/// The answer as JSON, or why there is none.
pub type Answer = Result<Value, Box<Diagnostic>>;

/// Answers questions about a cluster.
pub trait Source: 'static {
    /// Publishes the answer to a question, and publishes it again after every change. Ends when nothing can change any more;
    /// dropped when no page looks.
    fn follow(&self, question: &Question, publish: &dyn Fn(Answer)) -> impl Future<Output = ()>;
}
