//! What can be wrong with a template or with applying it, in client-go's words: users and their tests match on them.

use thiserror::Error;

/// Why a template cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// A `{` without its `}` on the same line.
    #[error("unclosed action")]
    UnclosedAction,
    /// A character that begins nothing.
    #[error("unrecognized character in action: {}", code_point(*.0))]
    UnrecognizedCharacter(char),
    /// Two `..` in a row.
    #[error("invalid multiple recursive descent")]
    MultipleRecursiveDescent,
    /// Digits and dots that are no number, or one out of range.
    #[error("cannot parse number {0}")]
    Number(String),
    /// A `[` without its `]` on the same line.
    #[error("unterminated array")]
    UnterminatedArray,
    /// Something in brackets that is neither an index, a slice nor a quoted key.
    #[error("invalid array index {0}")]
    ArrayIndex(String),
    /// An index out of the range of integers, or a lone minus.
    #[error("array index {0} is not a number")]
    ArrayIndexNumber(String),
    /// A `[?(` without its `)` on the same line.
    #[error("unterminated filter")]
    UnterminatedFilter,
    /// A filter whose `)` is not followed by `]`.
    #[error("unclosed array expect ]")]
    UnclosedFilter,
    /// A quote without its partner on the same line.
    #[error("unterminated quoted string")]
    UnterminatedQuote,
    /// A quoted string with an escape that does not exist; carries the string with its quotes.
    #[error("unquote string {0} error invalid syntax")]
    Unquote(String),
    /// Filters within filters beyond any use; client-go would go on until its stack ends.
    #[error("path is nested too deeply")]
    TooDeep,
}

/// Why a template cannot be applied to an object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EvalError {
    /// None of the values has this key.
    #[error("{0} is not found")]
    NotFound(String),
    /// A word that is neither `range` nor `end`.
    #[error("unrecognized identifier {0}")]
    UnrecognizedIdentifier(String),
    /// An `end` without a `range`.
    #[error("not in range, nothing to end")]
    NotInRange,
    /// An index or slice of something else than a list; carries the Go type of that.
    #[error("{0} is not array or slice")]
    NotList(&'static str),
    /// An index or slice that reaches beyond the list.
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds {
        /// The first index that does not exist.
        index: i64,
        /// How many elements there are.
        length: usize,
    },
    /// A slice whose end comes before its start.
    #[error("starting index {start} is greater than ending index {end}")]
    Reversed {
        /// Where the slice starts.
        start: i64,
        /// Where it ends.
        end: i64,
    },
    /// A slice that would stand still or go backwards.
    #[error("step must be > 0")]
    Step,
    /// A filter on something else than a list; carries the value as Go prints it, which may be confidential.
    #[error("{0} is not array or slice and cannot be filtered")]
    NotFilterable(String),
    /// A side of a comparison selects several values.
    #[error("can only compare one element at a time")]
    SeveralToCompare,
    /// A comparison of null, a map, a list, or of booleans by size.
    #[error("invalid type for comparison")]
    ComparisonType,
    /// A comparison of different types, such as an integer and a float.
    #[error("incompatible types for comparison")]
    Incomparable,
    /// An operator that does not exist.
    #[error("unrecognized filter operator {0}")]
    UnrecognizedOperator(String),
    /// An index or `range` where there is no value at all, as in a `range` over nothing; client-go panics here.
    #[error("there is no value to select from")]
    NoValue,
    /// More intermediate values than any use needs; client-go would go on until memory ends.
    #[error("path selects too many values")]
    TooMany,
}

impl EvalError {
    /// Whether evaluation hit one of our limits, which nothing may swallow.
    pub(super) fn is_limit(&self) -> bool {
        matches!(self, Self::TooMany)
    }
}

/// A character as Go's `%#U` shows it: the code point, and the character itself when it is printable.
fn code_point(character: char) -> String {
    let number = u32::from(character);
    if is_printable(character) { format!("U+{number:04X} '{character}'") } else { format!("U+{number:04X}") }
}

/// Whether Go takes the character for printable; Rust's escaping of debug output has the same rule.
fn is_printable(character: char) -> bool {
    match character {
        ' '..='~' => true,
        '\0'..='\u{7f}' => false,
        // A combining mark alone is escaped, after another character it is not.
        _ => format!("x{character}").escape_debug().eq(['x', character]),
    }
}
