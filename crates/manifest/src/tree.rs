//! The nodes of one document in the order they were written, kept flat: what values are made of and where each stands.

use std::borrow::Cow;
use std::collections::HashMap;

use diag::{Diagnostic, Source, Span};
use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, options};

use crate::scalar::{Tag, Written};
use crate::split::is_json;
use crate::unindented::Indented;
use crate::{Limits, problem};

/// Where a node stands in [`Tree::nodes`].
pub(crate) type NodeId = u32;

/// One node; its children follow it directly, keys and values of a mapping taking turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    start: u32,
    end: u32,
    /// How many nodes the subtree has, this one included, so that the next sibling is `size` further on.
    size: u32,
    pub(crate) kind: Kind,
}

impl Node {
    pub(crate) fn span(&self) -> Span {
        Span::new(self.start as usize, self.end as usize)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The index in the list of scalars.
    Scalar(u32),
    Sequence,
    Mapping,
    /// The anchored node, always an earlier one; it contains the alias if that stands in its own anchor.
    Alias(NodeId),
}

/// The nodes of a document.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
}

/// A document as far as it could be read.
#[derive(Default)]
pub(crate) struct Read<'t> {
    pub(crate) tree: Tree,
    pub(crate) scalars: Vec<Written<'t>>,
    /// Whether any node stands for another, so that scalars may be needed twice.
    pub(crate) has_aliases: bool,
    /// What is wrong, if anything; the tree must not be used then.
    pub(crate) problems: Vec<Diagnostic>,
    /// The bytes of the document, markers included.
    pub(crate) span: Span,
}

impl Tree {
    pub(crate) fn node(&self, id: NodeId) -> Node {
        self.nodes[id as usize]
    }

    /// The node that `id` stands for: the anchored one if it is an alias.
    pub(crate) fn target(&self, id: NodeId) -> NodeId {
        match self.node(id).kind {
            Kind::Alias(target) => target,
            _ => id,
        }
    }

    pub(crate) fn size(&self, id: NodeId) -> usize {
        self.node(id).size as usize
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        self.nodes.iter().map(Node::span)
    }

    /// The children of a collection; none for a scalar or an alias.
    pub(crate) fn children(&self, id: NodeId) -> Children<'_> {
        Children { tree: self, next: id + 1, end: id + self.node(id).size }
    }

    /// The keys and values of a mapping.
    pub(crate) fn pairs(&self, id: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> {
        let mut children = self.children(id);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }
}

/// The children of one node.
pub(crate) struct Children<'a> {
    tree: &'a Tree,
    next: NodeId,
    end: NodeId,
}

impl Iterator for Children<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        if self.next >= self.end {
            return None;
        }
        let id = self.next;
        self.next += self.tree.node(id).size;
        Some(id)
    }
}

/// How many bytes may be read again because of quoted texts that are not indented.
const REREAD_BYTES: usize = 8 << 20;

/// Reads the documents in `part` of a source; they are several only if `...` divides them.
pub(crate) fn read<'t>(source: &'t Source, part: Span, limits: &Limits) -> Vec<Read<'t>> {
    let written = &source.text()[part.start..part.end];
    let mut indented = Indented::new(written);
    let mut attempt =
        Attempt::of(Part { source, span: part, limits, indented: &indented }, written, |text| text);
    let mut budget = REREAD_BYTES;
    while let Some(end) = attempt.unindented_after {
        let affordable = budget.checked_sub(written.len());
        let Some(left) = affordable.filter(|_| indented.indent_next_quoted(end - part.start)) else { break };
        budget = left;
        let part = Part { source, span: part, limits, indented: &indented };
        attempt = Attempt::of(part, &indented.text(), |text| text.into_owned().into());
    }
    attempt.documents
}

/// What is read, and how to get from the parser's places to those in the source.
#[derive(Clone, Copy)]
struct Part<'t, 'l> {
    source: &'t Source,
    span: Span,
    limits: &'l Limits,
    indented: &'l Indented<'t>,
}

impl Part<'_, '_> {
    fn at(&self, marker: &granit_parser::Marker) -> usize {
        self.span.start + self.indented.written_offset(marker.byte_offset().unwrap_or_default())
    }
}

/// One run of the parser over a part.
struct Attempt<'t> {
    documents: Vec<Read<'t>>,
    /// Where the last node ended if the parser stopped in a quoted text because its lines are not indented.
    unindented_after: Option<usize>,
}

impl<'t> Attempt<'t> {
    /// Parses `text`, whose pieces `keep` brings into the life of the source.
    fn of<'s>(part: Part<'t, '_>, text: &'s str, keep: fn(Cow<'s, str>) -> Cow<'t, str>) -> Self {
        let mut attempt = Self { documents: Vec::new(), unindented_after: None };
        let mut builder = Builder::new(part);
        // Where the document before the current one ended without a `...`.
        let mut unmarked_end = None;
        for event in Parser::new_from_str_with_options(text, parser_options(text, part.limits)) {
            let outcome = match event {
                Ok((Event::StreamStart | Event::StreamEnd, _)) => Ok(()),
                Ok((Event::DocumentStart(..), span)) => {
                    builder = Builder::new(part);
                    builder.read.span = builder.place(span);
                    let trailing =
                        |end| Err(Box::new(problem::trailing_content(part.source, end, part.span)));
                    unmarked_end.map_or(Ok(()), trailing)
                }
                Ok((Event::DocumentEnd, span)) => {
                    let place = builder.place(span);
                    builder.read.span.end = place.end;
                    unmarked_end = (place.start == place.end).then_some(builder.last_end);
                    attempt.documents.push(std::mem::take(&mut builder.read));
                    Ok(())
                }
                Ok((event, span)) => builder.take(event, span, keep),
                Err(error) => {
                    let unindented = *error.kind() == ErrorKind::InvalidQuotedScalarIndent;
                    attempt.unindented_after = unindented.then_some(builder.last_end);
                    Err(Box::new(builder.syntax_problem(&error)))
                }
            };
            if let Err(problem) = outcome {
                builder.read.problems.push(*problem);
                builder.read.span.end = part.span.end;
                attempt.documents.push(builder.read);
                break;
            }
        }
        attempt
    }
}

fn parser_options(text: &str, limits: &Limits) -> Options {
    let mut options = options! {
        emit_unresolved_aliases: true,
        // YAML wants a key to end within 1024 characters, JSON does not.
        simple_key_max_lookahead: if is_json(text) { limits.bytes } else { 1024 },
        flow_nesting_limit: limits.depth,
        block_nesting_limit: limits.depth,
    };
    options.set_emit_comments(false);
    options
}

struct Builder<'t, 'l> {
    read: Read<'t>,
    part: Part<'t, 'l>,
    /// The collections that are not closed yet, outermost first.
    open: Vec<NodeId>,
    /// The anchored nodes by the parser's number for the anchor.
    anchors: HashMap<usize, NodeId>,
    /// Where the last node ended.
    last_end: usize,
}

impl<'t, 'l> Builder<'t, 'l> {
    fn new(part: Part<'t, 'l>) -> Self {
        Self {
            read: Read::default(),
            part,
            open: Vec::new(),
            anchors: HashMap::new(),
            last_end: part.span.start,
        }
    }

    fn syntax_problem(&self, error: &ScanError) -> Diagnostic {
        let Part { source, span, limits, .. } = self.part;
        let at = self.part.at(error.marker()).min(span.end);
        if *error.kind() == ErrorKind::RecursionLimitExceeded {
            return problem::too_deep(source, problem::character_at(source, at), limits);
        }
        problem::syntax(source, span, at, error, self.last_end)
    }

    fn place(&self, span: granit_parser::Span) -> Span {
        let start = self.part.at(&span.start);
        Span::new(start, self.part.at(&span.end).max(start))
    }

    fn take<'s>(
        &mut self,
        event: Event<'s>,
        span: granit_parser::Span,
        keep: fn(Cow<'s, str>) -> Cow<'t, str>,
    ) -> Result<(), Box<Diagnostic>> {
        let place = self.place(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                // The parser writes `~` for a value that is not there; the rules speak of the empty text.
                let text = if plain && place.start == place.end { "".into() } else { keep(text) };
                let text =
                    if self.ends_without_break(place, style, &text) { without_break(text) } else { text };
                let tag = tag.map_or(Tag::Absent, |tag| Tag::of(tag.handle(), tag.suffix()));
                self.push_scalar(self.trimmed(place, style), Written { text, plain, tag }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.open(place, Kind::Sequence, anchor),
            Event::MappingStart(_, anchor, _) => self.open(place, Kind::Mapping, anchor),
            Event::SequenceEnd | Event::MappingEnd => {
                self.close(place);
                Ok(())
            }
            Event::Alias(anchor) => {
                self.read.has_aliases = true;
                let target =
                    *self.anchors.get(&anchor).expect("an alias names an anchor the parser has announced");
                self.push(place, Kind::Alias(target), 0).map(drop)
            }
            Event::UnresolvedAlias(name) => {
                self.read.problems.push(problem::unknown_anchor(self.part.source, place, &name));
                self.push_scalar(place, Written { text: "".into(), plain: true, tag: Tag::Absent }, 0)
            }
            _ => Ok(()),
        }
    }

    /// Whether this is a block scalar whose last line break is not in the text, but made up at its end.
    ///
    /// The parser takes the end of the text for a line break, go-yaml does not: in a text that was trimmed, the last
    /// value has no line break at its end, whatever its header says.
    fn ends_without_break(&self, place: Span, style: ScalarStyle, value: &str) -> bool {
        let text = self.part.source.text();
        if !is_block(style) || place.end != text.len() || text.ends_with(['\n', '\r']) {
            return false;
        }
        if value.bytes().all(|byte| byte == b'\n') {
            // Without content the span begins at the header, whose own line break does not count.
            return value.len() >= text[place.start..].matches('\n').count();
        }
        // The span begins where the indentation ends, and a last line of mere indentation is not part of the value.
        let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        text.len() - line_start(text.len()) > place.start - line_start(place.start)
    }

    /// A block scalar reaches up to the next node; the line breaks at its end are nothing to point at.
    fn trimmed(&self, place: Span, style: ScalarStyle) -> Span {
        if !is_block(style) {
            return place;
        }
        let text = &self.part.source.text()[place.start..place.end];
        Span::new(place.start, place.start + text.trim_end_matches(['\n', '\r', ' ']).len())
    }

    fn open(&mut self, place: Span, kind: Kind, anchor: usize) -> Result<(), Box<Diagnostic>> {
        if self.open.len() >= self.part.limits.depth {
            return Err(Box::new(problem::too_deep(self.part.source, place, self.part.limits)));
        }
        let id = self.push(place, kind, anchor)?;
        self.open.push(id);
        Ok(())
    }

    fn close(&mut self, place: Span) {
        let id = self.open.pop().expect("the parser closes only what it opened");
        let size = to_u32(self.read.tree.len()) - id;
        // A bracket closes a flow collection; a block collection ends with its last node, not where the next begins.
        if place.start < place.end {
            self.last_end = place.end;
        }
        let node = &mut self.read.tree.nodes[id as usize];
        node.size = size;
        node.end = to_u32(self.last_end).max(node.start);
    }

    fn push_scalar(
        &mut self,
        place: Span,
        written: Written<'t>,
        anchor: usize,
    ) -> Result<(), Box<Diagnostic>> {
        let index = to_u32(self.read.scalars.len());
        self.read.scalars.push(written);
        self.push(place, Kind::Scalar(index), anchor).map(drop)
    }

    fn push(&mut self, place: Span, kind: Kind, anchor: usize) -> Result<NodeId, Box<Diagnostic>> {
        if self.read.tree.len() >= self.part.limits.nodes {
            return Err(Box::new(problem::too_many_nodes(self.part.source, place, self.part.limits)));
        }
        let id = to_u32(self.read.tree.len());
        self.read.tree.nodes.push(Node { start: to_u32(place.start), end: to_u32(place.end), size: 1, kind });
        self.last_end = place.end;
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
        Ok(id)
    }
}

fn is_block(style: ScalarStyle) -> bool {
    matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
}

fn without_break(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.strip_suffix('\n') {
        Some(stripped) => stripped.to_owned().into(),
        None => text,
    }
}

/// [`Limits::effective`] keeps both bytes and nodes within 32 bits.
fn to_u32(number: usize) -> u32 {
    u32::try_from(number).expect("the limits keep offsets and nodes within 32 bits")
}
