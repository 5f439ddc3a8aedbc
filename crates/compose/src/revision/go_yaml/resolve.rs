//! What go-yaml v2 would take a plain string for, if not for a string.

/// Whether a plain string would be read as null, a bool, a number or a time.
pub(super) fn resolves_to_another_type(text: &str) -> bool {
    const WORDS: [&str; 39] = [
        "", "~", "null", "Null", "NULL", "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On",
        "ON", "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", ".nan", ".NaN",
        ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
    ];
    if WORDS.contains(&text) {
        return true;
    }
    match text.as_bytes()[0] {
        b'.' => separates_digits(text) && is_decimal(&text.replace('_', ""), false),
        b'0'..=b'9' | b'+' | b'-' => {
            let plain = text.replace('_', "");
            is_timestamp(text) || is_integer(&plain) || is_decimal(&plain, true) || is_base_60(text)
        }
        _ => false,
    }
}

/// Whether every underscore stands between two digits, where Go allows it in numbers.
fn separates_digits(text: &str) -> bool {
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| {
        *byte != b'_'
            || digit(at.checked_sub(1).and_then(|before| bytes.get(before))) && digit(bytes.get(at + 1))
    })
}

/// What `strconv.ParseInt` and `ParseUint` read with base 0.
fn is_integer(text: &str) -> bool {
    let (negative, signed, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, true, &text[1..]),
        Some(b'+') => (false, true, &text[1..]),
        _ => (false, false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || digits.starts_with(['+', '-']) {
        return false;
    }
    let Ok(value) = u64::from_str_radix(digits, radix) else { return false };
    let limit = if negative { 1 << 63 } else { (1 << 63) - 1 };
    value <= limit || !signed
}

/// A decimal number with a point or an exponent, or just digits, that a double can hold.
fn is_decimal(text: &str, may_be_signed: bool) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).filter(|_| may_be_signed).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
        None => digits(mantissa),
    };
    let exponent_fits =
        exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)));
    mantissa_fits && exponent_fits && unsigned.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Sixty minutes to the hour: numbers of YAML 1.1 that are quoted for the sake of other readers.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = unsigned.split(':');
    let first = parts.next().unwrap_or_default();
    let starts = first.starts_with(|c: char| c.is_ascii_digit());
    let rest: Vec<&str> = parts.collect();
    let Some((last, middle)) = rest.split_last() else { return false };
    let (last, fraction) = last.split_once('.').map_or((*last, ""), |(last, fraction)| (last, fraction));
    let sixty = |part: &str| match part.as_bytes() {
        [ones] => ones.is_ascii_digit(),
        [tens, ones] => matches!(tens, b'0'..=b'5') && ones.is_ascii_digit(),
        _ => false,
    };
    let loose = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    starts && loose(first) && middle.iter().all(|part| sixty(part)) && sixty(last) && loose(fraction)
}

/// A date, or a date and a time, in one of the four forms go-yaml tries.
fn is_timestamp(text: &str) -> bool {
    let number = |text: &str, longest: usize, limits: std::ops::RangeInclusive<u32>| {
        let fits =
            !text.is_empty() && text.len() <= longest && text.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse::<u32>().ok()).flatten().filter(|number| limits.contains(number))
    };
    let split = text.find(['T', 't', ' ']);
    let (date, rest) = split.map_or((text, None), |at| (&text[..at], Some(&text[at..])));
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next(), parts.next(), parts.next());
    let (Some(year), Some(month), Some(day)) = (year, month, day) else { return false };
    if year.len() != 4 {
        return false;
    }
    let (Some(year), Some(month)) = (number(year, 4, 0..=9999), number(month, 2, 1..=12)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if number(day, 2, 1..=days).is_none() {
        return false;
    }
    let Some(rest) = rest else { return true };
    let (separator, time) = rest.split_at(1);
    let time = if separator == " " {
        time
    } else if let Some(time) = time.strip_suffix('Z') {
        time
    } else {
        let Some(zone) = time.len().checked_sub(6).filter(|at| time.is_char_boundary(*at)) else {
            return false;
        };
        let (time, zone) = time.split_at(zone);
        let zone = zone.strip_prefix(['+', '-']).and_then(|zone| zone.split_once(':'));
        let fits = zone.is_some_and(|(hours, minutes)| {
            hours.len() == 2 && number(hours, 2, 0..=24).is_some() && number(minutes, 2, 0..=60).is_some()
        });
        if !fits {
            return false;
        }
        time
    };
    let mut parts = time.splitn(3, ':');
    let (hour, minute, second) = (parts.next(), parts.next(), parts.next());
    let (Some(hour), Some(minute), Some(second)) = (hour, minute, second) else { return false };
    let (second, fraction) = second.split_once(['.', ',']).map_or((second, None), |(s, f)| (s, Some(f)));
    number(hour, 2, 0..=23).is_some()
        && number(minute, 2, 0..=59).is_some()
        && number(second, 2, 0..=59).is_some()
        && fraction
            .is_none_or(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}
