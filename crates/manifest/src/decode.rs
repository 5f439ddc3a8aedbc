//! From bytes to text: UTF-8, or UTF-16 as some Windows programs write it.

use diag::{Diagnostic, Source, Span};

use crate::codes;

/// The text in `bytes`, or what is wrong with them.
///
/// A byte order mark tells UTF-16 from UTF-8, as YAML has it; without one the text is UTF-8.
pub fn decode(name: &str, bytes: &[u8]) -> Result<Source, Box<Diagnostic>> {
    let decoded = match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => utf8(bytes),
    };
    decoded.map(|text| Source::new(name, text)).map_err(|broken| Box::new(not_text(name, broken)))
}

/// The text before the first byte that is none, and what is wrong there.
struct Broken {
    text: String,
    why: String,
}

fn utf8(bytes: &[u8]) -> Result<String, Broken> {
    str::from_utf8(bytes).map(str::to_owned).map_err(|error| {
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        let byte = rest.first().copied().unwrap_or_default();
        Broken {
            text: String::from_utf8_lossy(valid).into_owned(),
            why: format!(
                "The byte 0x{byte:02x} at position {} is not part of any UTF-8 character.",
                valid.len()
            ),
        }
    })
}

/// Decodes what follows the byte order mark.
fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, Broken> {
    let (pairs, _) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    let mut read = 0;
    for character in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).map_while(Result::ok) {
        text.push(character);
        read += 2 * character.len_utf16();
    }
    if read == bytes.len() {
        return Ok(text);
    }
    // Positions count from the byte order mark.
    Err(Broken { text, why: format!("The UTF-16 character at position {} is incomplete.", read + 2) })
}

fn not_text(name: &str, broken: Broken) -> Diagnostic {
    // What follows is not text, so there is nothing to show after the place.
    let end = Span::new(broken.text.len(), broken.text.len());
    let source = Source::new(name, broken.text);
    Diagnostic::error(codes::NOT_TEXT, format!("{name} is not text"))
        .at(&source, end, "from here on it is not text")
        .detail(broken.why)
        .hint("Check that the right file was given, and save it as UTF-8.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_8_and_utf_16_are_text() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(decode("t", bytes).unwrap().text(), expected);
        check(b"", "");
        check("é: 1".as_bytes(), "é: 1");
        check(b"\xff\xfea\0:\0", "a:");
        check(b"\xfe\xff\xd8\x3d\xde\x00", "😀");
    }

    #[test]
    fn other_bytes_are_refused_with_their_place() {
        let check = |bytes: &[u8], place: &str, detail: &str| {
            let problem = decode("t", bytes).unwrap_err();
            assert_eq!(problem.location.as_ref().unwrap().to_string(), place);
            assert_eq!(problem.detail, detail);
        };
        check(b"a: 1\nb: \x80", "t:2:4", "The byte 0x80 at position 8 is not part of any UTF-8 character.");
        check(b"\x89PNG", "t:1:1", "The byte 0x89 at position 0 is not part of any UTF-8 character.");
        check(b"\xff\xfea\0\x00\xd8", "t:1:2", "The UTF-16 character at position 4 is incomplete.");
        check(b"\xff\xfea\0b", "t:1:2", "The UTF-16 character at position 4 is incomplete.");
    }
}
