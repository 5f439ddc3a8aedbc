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
    let limits = &limits.effective();
    let mut stream = Stream { source: source.clone(), documents: Vec::new() };
    if source.text().len() > limits.bytes {
        let problem = problem::too_many_bytes(source, limits);
        stream.push_broken(Span::new(0, source.text().len()), vec![problem]);
        return stream;
    }
    for part in split(source.text()) {
        if let Some(forbidden) = first_forbidden(source.text(), part) {
            stream.push_broken(part, vec![problem::forbidden_character(source, forbidden)]);
            continue;
        }
        for (read, span) in with_spans(tree::read(source, part, limits), part) {
            if stream.documents.len() >= limits.documents {
                stream.push_broken(span, vec![problem::too_many_documents(source, span, limits)]);
                return stream;
            }
            if !is_empty(&read) {
                stream.push(read, span, limits);
            }
        }
    }
    stream.say_which();
    stream
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

    fn push(&mut self, mut read: Read<'_>, span: Span, limits: &Limits) {
        if !read.problems.is_empty() {
            return self.push_broken(span, read.problems);
        }
        let composed = compose(&self.source, &mut read, limits);
        if !composed.problems.is_empty() {
            return self.push_broken(span, composed.problems);
        }
        self.documents.push(Ok(Document {
            source: self.source.clone(),
            number: self.documents.len() + 1,
            span,
            value: composed.value,
            spans: Spans { tree: read.tree, keys: composed.keys },
        }));
    }

    fn push_broken(&mut self, span: Span, problems: Vec<Diagnostic>) {
        self.documents.push(Err(Broken { number: self.documents.len() + 1, span, problems }));
    }

    /// Says in every finding which document it is about, if there are several.
    fn say_which(&mut self) {
        let count = self.documents.len();
        if count < 2 {
            return;
        }
        for broken in self.documents.iter_mut().filter_map(|document| document.as_mut().err()) {
            for problem in &mut broken.problems {
                let which = format!("This is document {} of {count}.", broken.number);
                problem.detail =
                    if problem.detail.is_empty() { which } else { format!("{} {which}", problem.detail) };
            }
        }
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
