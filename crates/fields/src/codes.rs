//! The diagnostics of this crate, by stable name.

use diag::Code;

/// An ignored field cannot be read.
pub const IGNORE_FIELD_SYNTAX: Code = Code::new(
    "ignore-field-syntax",
    "An entry of ignore_fields is not a path to a field. Write names with dots between them, and choose list elements by \
     position ([0]), by key ([name=web]), by predicate ([?(@.name=='web')]) or all of them ([*]). Put keys with special \
     characters in quotes: metadata.annotations['example.com/key'].",
);

/// An ignored field is one of the provider's own annotations.
pub const IGNORE_FIELD_INTERNAL: Code = Code::new(
    "ignore-field-internal",
    "An entry of ignore_fields names an annotation by which the provider recognises its objects. Remove the entry: \
     these annotations are never shown as drift.",
);

/// All codes, for the reference.
pub const CODES: &[Code] = &[IGNORE_FIELD_SYNTAX, IGNORE_FIELD_INTERNAL];
