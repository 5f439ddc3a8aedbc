//! The names of fields in rules of the Common Expression Language: Kubernetes takes words of the language and signs that an
//! identifier cannot have only in an escaped form.

/// Words that cannot be identifiers.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A field's name as a rule has to write it.
pub(super) fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    // Underscores first: the other forms bring some of their own.
    let name = name.replace("__", "__underscores__");
    name.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn reserved_words_and_signs_are_escaped() {
        let check = |name: &str, expected: &str| assert_eq!(escaped(name), expected, "{name}");
        check("displayName", "displayName");
        check("namespace", "__namespace__");
        check("in", "__in__");
        check("while", "__while__");
        check("namespaceName", "namespaceName");
        check("a_b", "a_b");
        check("a__b", "a__underscores__b");
        check("a.b-c/d", "a__dot__b__dash__c__slash__d");
        check("a__.b", "a__underscores____dot__b");
    }
}
