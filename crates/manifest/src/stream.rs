//! A text as its documents: each is read on its own, so that a broken one does not hide the others.

use diag::{Diagnostic, Source, Span};

use crate::compose::compose;
use crate::spans::Spans;
use crate::split::{first_forbidden, split};
use crate::tree::{self, Kind, Read};
use crate::{Document, Limits, problem};

/// Everything a text holds.
#[derive(Debug)]
pub struct Stream {
    source: Source,
    /// The documents in order, without those that hold nothing but comments.
    pub documents: Vec<Result<Document, Broken>>,
}

/// A document that could not be read.
#[derive(Clone, Debug)]
pub struct Broken {
    /// Which document of its source this is, from 1.
    pub number: usize,
    /// The bytes of the document in its source.
    pub span: Span,
    /// What is wrong with it; at least one error.
    pub problems: Vec<Diagnostic>,
}

/// Reads all documents of a text, YAML or JSON.
pub fn read(source: &Source, limits: &Limits) -> Stream {
    let mut documents = Vec::new();
    let count = walk(source, limits, &mut |document| documents.push(document));
    say_which(documents.iter_mut().filter_map(|document| document.as_mut().err()), count);
    Stream { source: source.clone(), documents }
}

/// The same for a text of many documents: `take` gets each as soon as it is read, so that no more than one is in memory.
/// Returns those that could not be read.
pub fn read_each(source: &Source, limits: &Limits, mut take: impl FnMut(Document)) -> Vec<Broken> {
    let mut broken = Vec::new();
    let count = walk(source, limits, &mut |document| match document {
        Ok(document) => take(document),
        Err(unreadable) => broken.push(unreadable),
    });
    say_which(broken.iter_mut(), count);
    broken
}

/// Gives every document to `take`, and returns how many there are. None is returned if there are more than may be read.
fn walk(source: &Source, limits: &Limits, take: &mut dyn FnMut(Result<Document, Broken>)) -> Option<usize> {
    let limits = &limits.effective();
    let mut count = 0;
    let mut take = |document: Result<Parts, (Span, Vec<Diagnostic>)>| {
        count += 1;
        let (source, number) = (source.clone(), count);
        take(match document {
            Ok(Parts { span, value, spans }) => Ok(Document { source, number, span, value, spans }),
            Err((span, problems)) => Err(Broken { number, span, problems }),
        });
        count
    };
    if source.text().len() > limits.bytes {
        let problem = problem::too_many_bytes(source, limits);
        return Some(take(Err((Span::new(0, source.text().len()), vec![problem]))));
    }
    let mut number = 0;
    for part in split(source.text()) {
        if let Some(forbidden) = first_forbidden(source.text(), part) {
            number = take(Err((part, vec![problem::forbidden_character(source, forbidden)])));
            continue;
        }
        for (read, span) in with_spans(tree::read(source, part, limits), part) {
            if number >= limits.documents {
                take(Err((span, vec![problem::too_many_documents(source, span, limits)])));
                return None;
            }
            if !is_empty(&read) {
                number = take(parts(source, read, span, limits));
            }
        }
    }
    Some(number)
}

/// What a document consists of, apart from its place among the others.
struct Parts {
    span: Span,
    value: serde_json::Value,
    spans: Spans,
}

fn parts(
    source: &Source,
    mut read: Read<'_>,
    span: Span,
    limits: &Limits,
) -> Result<Parts, (Span, Vec<Diagnostic>)> {
    if !read.problems.is_empty() {
        return Err((span, read.problems));
    }
    let composed = compose(source, &mut read, limits);
    if !composed.problems.is_empty() {
        return Err((span, composed.problems));
    }
    Ok(Parts { span, value: composed.value, spans: Spans { tree: read.tree, keys: composed.keys } })
}

/// Says in every finding which document it is about, if there are several.
fn say_which<'b>(broken: impl Iterator<Item = &'b mut Broken>, count: Option<usize>) {
    let Some(count) = count.filter(|count| *count > 1) else { return };
    for broken in broken {
        for problem in &mut broken.problems {
            let which = format!("This is document {} of {count}.", broken.number);
            problem.detail =
                if problem.detail.is_empty() { which } else { format!("{} {which}", problem.detail) };
        }
    }
}

impl Stream {
    /// The one document of the text.
    ///
    /// Fails with what is wrong with it, if there is none, or if there are several.
    pub fn single(mut self) -> Result<Document, Vec<Diagnostic>> {
        if self.documents.len() > 1 {
            return Err(vec![problem::several_documents(&self.source, &self.spans())]);
        }
        match self.documents.pop() {
            Some(document) => document.map_err(|broken| broken.problems),
            None => Err(vec![problem::empty(&self.source)]),
        }
    }

    /// All documents, or everything that is wrong with any of them.
    pub fn all(self) -> Result<Vec<Document>, Vec<Diagnostic>> {
        let mut documents = Vec::new();
        let mut problems = Vec::new();
        for document in self.documents {
            match document {
                Ok(document) => documents.push(document),
                Err(broken) => problems.extend(broken.problems),
            }
        }
        if problems.is_empty() { Ok(documents) } else { Err(problems) }
    }

    fn spans(&self) -> Vec<Span> {
        let span = |document: &Result<Document, Broken>| match document {
            Ok(document) => document.span,
            Err(broken) => broken.span,
        };
        self.documents.iter().map(span).collect()
    }
}

/// Gives each document of a part its bytes; together they cover the part.
fn with_spans(documents: Vec<Read<'_>>, part: Span) -> impl Iterator<Item = (Read<'_>, Span)> {
    let count = documents.len();
    let mut start = part.start;
    documents.into_iter().enumerate().map(move |(index, read)| {
        let end = if index + 1 == count { part.end } else { read.span.end };
        (read, Span::new(std::mem::replace(&mut start, end), end))
    })
}

/// Whether a document holds nothing: no value, tag or problem.
fn is_empty(read: &Read<'_>) -> bool {
    if !read.problems.is_empty() || read.tree.len() != 1 {
        return false;
    }
    let root = read.tree.node(0);
    matches!(root.kind, Kind::Scalar(_))
        && root.span().start == root.span().end
        && read.scalars[0].is_absent()
}

#[cfg(test)]
mod tests;
