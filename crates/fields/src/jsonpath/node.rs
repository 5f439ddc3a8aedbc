//! What a template consists of once it is parsed.

use super::slice::Slice;

/// A stretch of a template: text to be copied, or an action in braces.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Text(String),
    Action(Vec<Node>),
}

/// One step of an action; each turns the values selected so far into the next ones.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// `range`, `end`, or a word that means nothing, which only shows when it is evaluated.
    Identifier(String),
    Field(String),
    Wildcard,
    Recursive,
    Slice(Slice),
    Union(Vec<Vec<Node>>),
    Filter(Filter),
}

/// `[?(left)]` or `[?(left operator right)]`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Filter {
    pub(super) left: Vec<Node>,
    pub(super) comparison: Option<Comparison>,
}

/// The operator of a filter and what stands to its right.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Comparison {
    pub(super) operator: Operator,
    pub(super) right: Vec<Node>,
}

/// How a filter compares. An operator that does not exist parses and fails once there is an element to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Unknown(String),
}

impl Operator {
    pub(super) fn named(text: &str) -> Self {
        match text {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterEqual,
            other => Self::Unknown(other.to_owned()),
        }
    }
}
