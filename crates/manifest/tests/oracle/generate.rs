//! Cases that are likely to show a difference: scalars at the edges of YAML 1.1's rules, in every style and place.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::string::string_regex;
use serde_json::{Map, Value};

/// Texts that mean something to YAML 1.1, or nearly so.
const NASTY: &str = "\
    ~ null Null NULL nUll y Y yes Yes YES yEs n N no No NO on On ON oN off Off OFF true True TRUE tRue \
    false False FALSE .nan .NaN .NAN .Nan .inf .Inf .INF .iNf +.inf -.inf -.Inf +.INF nan inf Infinity 0 \
    -0 +0 00 07 08 0644 0o17 0O17 -0o17 0o8 0b101 0B101 -0b101 0b-101 0b+1 0b2 0b 0x1F 0X1f -0xf 0x 0xg \
    1_000 1__0 1_ _1 +1 +_1 --1 +-1 1e3 1E3 1e+3 1e-3 1e 1e+ 1. 1.5 .5 .5_0 .5_ ._5 .5__0 .5e1 .5e1_0 \
    .5e_1 5.e3 -.5 +.5 . .. ...x 1.2.3 1e400 -1e400 1e-400 9223372036854775807 9223372036854775808 \
    -9223372036854775808 -9223372036854775809 +9223372036854775808 18446744073709551615 \
    18446744073709551616 1152921504606846977.0 9007199254740993 1e15 123456789.123456789 0.1 1e21 1e-7 \
    0.000001 100000000000000000000 1:30 1:30.5 190:20:30 12:59:59 12:60 2001-01-02 2001-1-2 2001-13-01 \
    2001-02-29 2000-02-29 2001-01-02T03:04:05Z 2001-1-2t3:4:5.678+01:00 2001-01-02T03:04:05 \
    2001-01-02T24:00:00Z 2001-01-02T03:04:05+24:60 2001-01-02T03:04:05.Z 0001-01-01 20011-01-01 << = a \
    abc é 日本 😀 a:b a#b a,b http://x/y?z=1&w x-y -x ?x :x v1.2.3 1Gi 100m 0.5 1e3Gi \
";

/// The same, with spaces in them.
const NASTY_WITH_SPACES: &[&str] =
    &["", "2001-01-02 03:04:05", "2001-01-02  3:4:5,6", "a b", "a  b", "a\u{a0}b"];

fn nasty() -> impl Strategy<Value = String> {
    let texts: Vec<&str> = NASTY.split(' ').chain(NASTY_WITH_SPACES.iter().copied()).collect();
    select(texts).prop_map(str::to_owned)
}

pub(crate) fn plain_scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => nasty(),
        2 => number_like(),
        1 => timestamp_like(),
        1 => matching("[a-zA-Z0-9_.+-]{1,12}"),
    ]
}

fn matching(pattern: &str) -> impl Strategy<Value = String> + use<> {
    string_regex(pattern).expect("the patterns are well formed")
}

fn number_like() -> impl Strategy<Value = String> {
    prop_oneof![
        matching("[-+]?(0[boxBOX])?[0-9a-f_]{1,20}"),
        matching("[-+]?[0-9_]{0,4}\\.?[0-9_]{0,4}([eE][-+]?[0-9_]{0,3})?"),
        any::<i64>().prop_map(|int| int.to_string()),
        any::<u64>().prop_map(|int| int.to_string()),
        float().prop_filter("finite", |float| float.is_finite()).prop_map(|float| float.to_string()),
        float().prop_filter("finite", |float| float.is_finite()).prop_map(|float| format!("{float:e}")),
    ]
}

fn timestamp_like() -> impl Strategy<Value = String> {
    matching(
        "[0-9]{3,5}-[0-9]{1,3}-[0-3]?[0-9]([Tt ] {0,2}[0-2]?[0-9]:[0-6]?[0-9]:[0-6]?[0-9]([.,][0-9]{0,3})?(Z|[-+][0-2]?[0-9]:[0-6]?[0-9])?)?",
    )
}

const TAGS: &[&str] = &[
    "!!str",
    "!!int",
    "!!float",
    "!!bool",
    "!!null",
    "!!timestamp",
    "!!binary",
    "!!merge",
    "!!seq",
    "!!map",
    "!!set",
    "!",
    "!local",
    "!<tag:yaml.org,2002:int>",
];

pub(crate) fn tagged_scalar() -> impl Strategy<Value = String> {
    let text = prop_oneof![3 => plain_scalar(), 1 => matching("[A-Za-z0-9+/]{0,9}={0,2}")];
    (select(TAGS), text, select(&["", "'", "\""][..]))
        .prop_map(|(tag, text, quote)| format!("{tag} {quote}{text}{quote}"))
}

/// A node as it is to be written.
#[derive(Clone, Debug)]
enum Node {
    Scalar(String),
    Quoted(char, String),
    Block(&'static str, Vec<String>),
    Alias(&'static str),
    Sequence(bool, Vec<Node>),
    Mapping(bool, Vec<(Key, Node)>),
    Anchored(&'static str, Box<Node>),
    Tagged(&'static str, Box<Node>),
    Commented(Box<Node>),
}

#[derive(Clone, Debug)]
enum Key {
    Scalar(String),
    Quoted(char, String),
    Merge,
    Alias(&'static str),
}

pub(crate) fn document() -> impl Strategy<Value = String> {
    let frame = (
        select(&["", "# first\n", "---\n", "%YAML 1.1\n---\n", "\n\n", "\u{feff}", "--- # x\n"][..]),
        select(&["", "\n", "\n", "\n...\n", "\n# last\n", "\n\n\n", "\n   \n", "\n  "][..]),
    );
    (node(), frame).prop_map(|(node, (before, after))| {
        let mut text = before.to_owned();
        node.write_block(&mut text, 0);
        text.push_str(after);
        text
    })
}

fn quoted_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => nasty(),
        4 => select(&[" ", "  ", ": ", " #", ", ", "[", "]", "{", "}", "&", "*", "!", "|", ">", "%", "@", "`", "\t", "<", "é", "😀", "\u{2028}"][..])
            .prop_map(str::to_owned),
    ];
    vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// A text that goes on over lines, indented or not.
fn lines_of_text() -> impl Strategy<Value = String> {
    vec((matching("[a-z]{0,3} ?[a-z'\"#:-]{0,3}"), select(&["\n", "\n  ", "\n\n", "\n      "][..])), 1..5)
        .prop_map(|lines| lines.iter().map(|(line, end)| format!("{line}{end}")).collect::<Vec<_>>().concat())
}

fn node() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        6 => plain_scalar().prop_map(Node::Scalar),
        3 => (select(&['"', '\''][..]), quoted_text()).prop_map(|(quote, text)| Node::Quoted(quote, text)),
        1 => (select(&['"', '\''][..]), lines_of_text()).prop_map(|(quote, text)| Node::Quoted(quote, text)),
        2 => (select(&["|", ">", "|-", ">-", "|+", ">+", "|2", ">2-"][..]), vec(line(), 0..5)).prop_map(|(header, lines)| Node::Block(header, lines)),
        1 => anchor().prop_map(Node::Alias),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let inner = inner.boxed();
        prop_oneof![
            3 => (prop::bool::weighted(0.3), vec(inner.clone(), 0..5)).prop_map(|(flow, items)| Node::Sequence(flow, items)),
            5 => (prop::bool::weighted(0.3), vec((key(), inner.clone()), 0..6)).prop_map(|(flow, fields)| Node::Mapping(flow, fields)),
            1 => (anchor(), inner.clone()).prop_map(|(name, node)| Node::Anchored(name, Box::new(node))),
            1 => (select(TAGS), inner.clone()).prop_map(|(tag, node)| Node::Tagged(tag, Box::new(node))),
            1 => inner.prop_map(|node| Node::Commented(Box::new(node))),
        ]
    })
}

fn anchor() -> impl Strategy<Value = &'static str> {
    select(&["a", "b", "c"][..])
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        8 => matching("[a-z]{1,3}").prop_map(Key::Scalar),
        2 => plain_scalar().prop_map(Key::Scalar),
        1 => (select(&['"', '\''][..]), quoted_text()).prop_map(|(quote, text)| Key::Quoted(quote, text)),
        1 => Just(Key::Merge),
        1 => anchor().prop_map(Key::Alias),
    ]
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => matching("[a-z #:'\"-]{0,12}"),
        2 => Just(String::new()),
        1 => matching(" {1,3}[a-z]{1,4} {0,2}"),
    ]
}

fn quote(quote: char, text: &str) -> String {
    if quote == '\'' {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let escaped =
        text.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t").replace('\u{2028}', "\\L");
    format!("\"{escaped}\"")
}

impl Key {
    fn write(&self, out: &mut String) {
        match self {
            Self::Scalar(text) => out.push_str(text),
            Self::Quoted(mark, text) => out.push_str(&quote(*mark, text)),
            Self::Merge => out.push_str("<<"),
            // The colon would belong to the name without the space.
            Self::Alias(name) => out.extend(["*", name, " "]),
        }
    }
}

impl Node {
    /// Writes the node where a block collection may begin on the same line.
    fn write_block(&self, out: &mut String, indent: usize) {
        match self {
            Self::Sequence(false, items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        line_break(out, indent);
                    }
                    out.push_str("- ");
                    item.write_block(out, indent + 2);
                }
            }
            Self::Mapping(false, fields) if !fields.is_empty() => {
                for (index, (key, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        line_break(out, indent);
                    }
                    key.write(out);
                    out.push(':');
                    value.write_value(out, indent);
                }
            }
            Self::Block(header, lines) => {
                out.push_str(header);
                for line in lines {
                    line_break(out, indent.max(1) + 1);
                    out.push_str(line);
                }
            }
            Self::Commented(inner) => {
                out.push_str("# a comment");
                line_break(out, indent);
                inner.write_block(out, indent);
            }
            Self::Anchored(name, inner) => {
                out.extend(["&", name]);
                inner.write_value(out, indent);
            }
            Self::Tagged(tag, inner) => {
                out.push_str(tag);
                inner.write_value(out, indent);
            }
            _ => self.write_flow(out),
        }
    }

    /// Writes the node after a colon or a property: block collections begin on a line of their own.
    fn write_value(&self, out: &mut String, indent: usize) {
        let is_collection = match self {
            Self::Sequence(flow, items) => !flow && !items.is_empty(),
            Self::Mapping(flow, fields) => !flow && !fields.is_empty(),
            Self::Commented(_) => true,
            _ => false,
        };
        if is_collection {
            line_break(out, indent + 2);
            self.write_block(out, indent + 2);
        } else {
            out.push(' ');
            self.write_block(out, indent);
        }
    }

    fn write_flow(&self, out: &mut String) {
        match self {
            Self::Scalar(text) => out.push_str(text),
            Self::Quoted(mark, text) => out.push_str(&quote(*mark, text)),
            Self::Block(_, lines) => out.push_str(&quote('\'', &lines.join(" "))),
            Self::Alias(name) => out.extend(["*", name]),
            Self::Sequence(_, items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    item.write_flow(out);
                }
                out.push(']');
            }
            Self::Mapping(_, fields) => {
                out.push('{');
                for (index, (key, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    key.write(out);
                    out.push_str(": ");
                    value.write_flow(out);
                }
                out.push('}');
            }
            Self::Anchored(name, inner) => {
                out.extend(["&", name, " "]);
                inner.write_flow(out);
            }
            Self::Tagged(tag, inner) => {
                out.extend([*tag, " "]);
                inner.write_flow(out);
            }
            Self::Commented(inner) => inner.write_flow(out),
        }
    }
}

fn line_break(out: &mut String, indent: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Several documents, some of them broken.
pub(crate) fn stream() -> impl Strategy<Value = String> {
    let document = select(
        &[
            "",
            "a: 1\n",
            "# c\n",
            "- x\n",
            "\"q\"\n",
            "a: [\n",
            "a: 'b\n",
            "a: |\n  x\n  ---\n",
            "a: b: c\n",
            "\n\n",
            "a: 1\na: 2\n",
            "x: &a 1\n",
            "z: 1\n...\n",
            "y: *a\n",
            "text --- x\n",
        ][..],
    );
    let separator = select(&["---\n", "---   \n", "--- # c\n", "---\r\n", "---\n---\n"][..]);
    vec((document, separator), 1..6).prop_map(|parts| {
        parts
            .iter()
            .map(|(document, separator)| format!("{document}{separator}"))
            .collect::<Vec<_>>()
            .concat()
    })
}

/// Pieces of YAML in any order.
pub(crate) fn soup() -> impl Strategy<Value = String> {
    let piece = select(
        &[
            "a", "b", "1", "yes", "key", ": ", ":", "- ", "-", "? ", "\n", "\n", "\n  ", "\n    ", " ", "  ",
            "'", "\"", "[", "]", "{", "}", ",", ", ", "# c\n", "#", "|", ">", "|\n", ">-\n", "&a ", "*a",
            "!!int ", "!!str ", "<<: ", "<<", "\\", "\\n", "\t", "...\n", "%", "@", "a: b\n", "a: 1\n",
            "- a\n", "é", "~",
        ][..],
    );
    vec(piece, 1..14).prop_map(|pieces| pieces.concat())
}

/// Values with texts, keys and numbers that are hard to write.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        // No minus zero, which Kubernetes reads as an integer.
        float().prop_filter("finite", |float| float.is_finite()).prop_map(|float| Value::from(float + 0.0)),
        (-1000..1000_i32).prop_map(Value::from),
    ];
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        3 => number,
        8 => text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let inner = inner.boxed();
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((text(), inner), 0..7)
                .prop_map(|fields| Value::from(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => nasty(),
        6 => matching("[a-z]{1,9} ?"),
        4 => select(&[" ", "  ", "\n", "\n\n", "\n ", ": ", " #", "'", "\"", "\\", "\t", "\r", "- ", "---", "...", "# ", "? ", "%", "<", ">", "&", "\0", "\u{1b}", "\u{2028}", "\u{feff}", "é", "😀"][..])
            .prop_map(str::to_owned),
        1 => matching("([a-z]{1,9} ){12,30}"),
        1 => matching("[a-z]{130,140}"),
        1 => any::<char>().prop_map(|character| character.to_string()),
    ];
    vec(piece, 0..5).prop_map(|pieces| pieces.concat())
}

pub(crate) fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        any::<f64>(),
        (-1_000_000_000..1_000_000_000_i32, -30..30_i32)
            .prop_map(|(mantissa, exponent)| f64::from(mantissa) * 10_f64.powi(exponent)),
        (-100..100_i32).prop_map(f64::from),
        (0..64_u32).prop_map(|power| 2_f64.powi(power.cast_signed())),
        select(&[0.0, -0.0, 1e20, 1e21, 1e-6, 1e-7, 999_999.0, 1e6, 0.0001, 0.00001][..]),
    ]
}
