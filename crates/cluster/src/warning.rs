//! `Warning` headers: messages from the server to the author of a request.

use http::HeaderMap;
use http::header::WARNING;

/// The texts of all warnings in `headers`, in order, without duplicates.
pub(crate) fn warnings(headers: &HeaderMap) -> Vec<String> {
    let mut found = Vec::new();
    for header in headers.get_all(WARNING) {
        let Ok(mut rest) = std::str::from_utf8(header.as_bytes()) else { continue };
        while let Some((text, after)) = next(rest) {
            if !text.is_empty() && !found.contains(&text) {
                found.push(text);
            }
            rest = after;
        }
    }
    found
}

/// One `299 - "text"` and what follows it (RFC 7234, 5.5). A date after the text is skipped.
fn next(header: &str) -> Option<(String, &str)> {
    let start = header.find('"')? + 1;
    // Code and agent come before the text; without them it is not a warning.
    let mut before = header[..start - 1].trim_start_matches([',', ' ']).split_whitespace();
    let code = before.next()?;
    before.next()?;
    if code.len() != 3 || code.parse::<u16>().is_err() {
        return None;
    }
    let mut text = String::new();
    let mut chars = header[start..].char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => {
                let rest = &header[start + at + 1..];
                return Some((text, rest.trim_start().strip_prefix(',').unwrap_or("")));
            }
            '\\' => text.extend(chars.next().map(|(_, escaped)| escaped)),
            _ => text.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quoted_warnings_round_trip(texts in proptest::collection::vec("[ -~äé]{1,20}", 0..4)) {
            let quoted: Vec<String> = texts
                .iter()
                .map(|text| format!(r#"299 - "{}""#, text.replace('\\', r"\\").replace('"', r#"\""#)))
                .collect();
            let mut headers = HeaderMap::new();
            headers.append(WARNING, http::HeaderValue::from_bytes(quoted.join(", ").as_bytes()).unwrap());
            let mut once = Vec::new();
            for text in texts {
                if !once.contains(&text) {
                    once.push(text);
                }
            }
            prop_assert_eq!(warnings(&headers), once);
        }

        #[test]
        fn no_header_panics(bytes in proptest::collection::vec(0x20_u8..=0xff, 0..60)) {
            if let Ok(value) = http::HeaderValue::from_bytes(&bytes) {
                warnings(&HeaderMap::from_iter([(WARNING, value)]));
            }
        }
    }

    #[test]
    fn every_warning_is_found_once() {
        let check = |headers: &[&str], expected: &[&str]| {
            let mut map = HeaderMap::new();
            for header in headers {
                map.append(WARNING, http::HeaderValue::from_str(header).unwrap());
            }
            assert_eq!(warnings(&map), expected, "{headers:?}");
        };
        check(&[], &[]);
        check(&[r#"299 - "v1 is deprecated""#], &["v1 is deprecated"]);
        check(&[r#"299 - "a", 299 - "b""#, r#"299 - "a""#], &["a", "b"]);
        check(&[r#"299 - "say \"hi\", please""#], &[r#"say "hi", please"#]);
        check(&[r#"299 - "unended"#, "nonsense", r#""no code""#, "299 -"], &[]);
    }
}
