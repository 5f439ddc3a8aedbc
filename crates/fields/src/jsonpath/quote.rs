//! Go's escapes in a quoted string, for which single quotes count as string quotes, too.

/// The string that `inner` spells between two `quote`s, or nothing if it holds an escape that does not exist.
pub(super) fn unquote(inner: &str, quote: char) -> Option<String> {
    if !inner.contains('\\') {
        return Some(inner.to_owned());
    }
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character == '\\' {
            rest = escape(rest, quote, &mut bytes)?;
        } else if character == quote {
            return None;
        } else {
            push(&mut bytes, character);
        }
    }
    Some(with_replacements(&bytes))
}

/// Appends what the escape at the start of `rest` (behind its backslash) stands for, and returns what follows it.
fn escape<'t>(rest: &'t str, quote: char, bytes: &mut Vec<u8>) -> Option<&'t str> {
    let kind = rest.chars().next()?;
    let behind = &rest[kind.len_utf8()..];
    let digits = match kind {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        '0'..='7' => {
            let (octal, behind) = rest.split_at_checked(3)?;
            let all_octal = octal.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
            bytes.push(all_octal.then(|| u8::from_str_radix(octal, 8).ok())??);
            return Some(behind);
        }
        _ => {
            let byte = match kind {
                'a' => 0x07,
                'b' => 0x08,
                'f' => 0x0c,
                'n' => b'\n',
                'r' => b'\r',
                't' => b'\t',
                'v' => 0x0b,
                '\\' => b'\\',
                '\'' if quote == '\'' => b'\'',
                '"' if quote == '"' => b'"',
                _ => return None,
            };
            bytes.push(byte);
            return Some(behind);
        }
    };
    let (hex, behind) = behind.split_at_checked(digits)?;
    let all_hex = hex.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = all_hex.then(|| u32::from_str_radix(hex, 16).ok())??;
    match u8::try_from(number) {
        // `\x` is a byte of the string, which need not be a character by itself.
        Ok(byte) if kind == 'x' => bytes.push(byte),
        _ => push(bytes, char::from_u32(number)?),
    }
    Some(behind)
}

fn push(bytes: &mut Vec<u8>, character: char) {
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The bytes as text; each byte that is not part of a character becomes a replacement character, as when Go writes
/// such a string as JSON.
fn with_replacements(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}
