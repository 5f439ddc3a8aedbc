//! Which texts go-yaml takes for a timestamp: they stay strings when read and are quoted when written.

/// Whether `text` is a date, or a date and a time, in one of the four layouts go-yaml gives to Go's `time.Parse`:
/// `2006-1-2T15:4:5.999999999Z07:00`, the same with a small `t`, `2006-1-2 15:4:5.999999999` and `2006-1-2`.
pub(super) fn is_timestamp(text: &str) -> bool {
    parse(text.as_bytes()).is_some()
}

fn parse(text: &[u8]) -> Option<()> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits != 4 {
        return None;
    }
    let year = text[..4].iter().fold(0, |year, digit| year * 10 + u32::from(digit - b'0'));
    let rest = text[4..].strip_prefix(b"-")?;
    let (month, rest) = number(rest)?;
    let rest = rest.strip_prefix(b"-")?;
    let (day, rest) = number(rest)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(month, year) {
        return None;
    }
    match rest {
        [] => Some(()),
        [b'T' | b't', rest @ ..] => zone(time(rest)?),
        [b' ', rest @ ..] => {
            // Go skips any number of spaces where the layout has one.
            let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
            time(&rest[spaces..])?.is_empty().then_some(())
        }
        _ => None,
    }
}

/// One or two digits; Go does not insist on the second.
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    match text {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9', rest @ ..] => {
            Some((u32::from(tens - b'0') * 10 + u32::from(ones - b'0'), rest))
        }
        [ones @ b'0'..=b'9', rest @ ..] => Some((u32::from(ones - b'0'), rest)),
        _ => None,
    }
}

fn days_in(month: u32, year: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

fn time(text: &[u8]) -> Option<&[u8]> {
    let (hour, rest) = number(text)?;
    let (minute, rest) = number(rest.strip_prefix(b":")?)?;
    let (second, rest) = number(rest.strip_prefix(b":")?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    match rest {
        // Go takes a comma for a decimal point, and any number of digits.
        [b'.' | b',', fraction @ ..] => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            Some(if digits == 0 { rest } else { &fraction[digits..] })
        }
        _ => Some(rest),
    }
}

fn zone(text: &[u8]) -> Option<()> {
    match text {
        [b'Z'] => Some(()),
        [b'+' | b'-', hour @ .., b':', m1, m2]
            if hour.len() == 2 && m1.is_ascii_digit() && m2.is_ascii_digit() =>
        {
            let (hour, rest) = number(hour)?;
            let minute = (m1 - b'0') * 10 + (m2 - b'0');
            // Go allows offsets of 24 hours and of 60 minutes, because people write them.
            (rest.is_empty() && hour <= 24 && minute <= 60).then_some(())
        }
        _ => None,
    }
}
