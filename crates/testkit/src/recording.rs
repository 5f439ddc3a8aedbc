//! A terminal recording as SVG: what a program has printed, line by line, when it was printed.
//!
//! Each line lights up when it was printed, with long pauses cut, and can be read before. A viewer that plays no animations, or a
//! reader who wants none, sees the end at once.

use std::fmt::Write as _;
use std::io::{self, BufRead};
use std::time::{Duration, Instant};

/// The longest pause that is shown.
const LONGEST_PAUSE: Duration = Duration::from_millis(900);
const COLUMNS: usize = 118;
/// Of a character, in pixels.
const WIDTH: f64 = 8.43;
const HEIGHT: usize = 19;
const MARGIN: usize = 18;
/// Of the bar with the title.
const BAR: usize = 34;

/// What a program has printed, in colour, and when.
#[derive(Default)]
pub struct Recording(Vec<(Duration, String)>);

impl Recording {
    /// Reads what a program prints until it ends.
    pub fn of(output: impl BufRead) -> io::Result<Self> {
        let began = Instant::now();
        let timed = output.lines().map(|line| Ok((began.elapsed(), line?)));
        timed.collect::<io::Result<_>>().map(Self)
    }

    /// The text without colours, and without spaces at the ends of lines.
    pub fn text(&self) -> String {
        let plain = |line: &str| pieces(line).into_iter().map(|(_, text)| text).collect::<String>();
        self.0.iter().map(|(_, line)| plain(line).trim_end().to_owned() + "\n").collect()
    }

    pub fn to_svg(&self, title: &str) -> String {
        let (mut body, mut row, mut shown, mut last) = (String::new(), 0, Duration::ZERO, Duration::ZERO);
        for (time, line) in &self.0 {
            shown += time.saturating_sub(last).min(LONGEST_PAUSE);
            last = *time;
            let _ = write!(body, "<g class=\"l\" style=\"animation-delay:{:.2}s\">", shown.as_secs_f64());
            for part in wrapped(pieces(line)) {
                let y = BAR + MARGIN + HEIGHT * row;
                let _ = write!(body, "<text x=\"{MARGIN}\" y=\"{y}\">");
                for (class, text) in part {
                    let text = escaped(&text);
                    let _ = match class {
                        "" => write!(body, "{text}"),
                        class => write!(body, "<tspan class=\"{class}\">{text}</tspan>"),
                    };
                }
                body.push_str("</text>");
                row += 1;
            }
            body.push_str("</g>\n");
        }
        let width = (f64::from(u32::try_from(COLUMNS).unwrap_or_default()) * WIDTH).ceil() + 2.0 * 18.0;
        let height = BAR + 2 * MARGIN + HEIGHT * row.saturating_sub(1);
        let middle = width / 2.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"10\" class=\"window\"/>\n\
             <path d=\"M0 10a10 10 0 0 1 10-10h{}a10 10 0 0 1 10 10v{}H0z\" class=\"bar\"/>\n\
             <circle cx=\"20\" cy=\"17\" r=\"6\" fill=\"#f2665a\"/><circle cx=\"40\" cy=\"17\" r=\"6\" fill=\"#f0b73e\"/><circle cx=\"60\" cy=\"17\" r=\"6\" fill=\"#4fc253\"/>\n\
             <text x=\"{middle}\" y=\"22\" text-anchor=\"middle\" class=\"dim\">{title}</text>\n{body}</svg>\n",
            width - 20.0,
            BAR - 10,
            title = escaped(title),
        )
    }
}

const STYLE: &str = "text{font:14px ui-monospace,'SF Mono','Cascadia Mono','DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#dbe3ea;white-space:pre}\
 .window{fill:#11171d}.bar{fill:#1d252d}.title{fill:#74d69f;font-weight:700}.literal{fill:#6cc7dd}.dim{fill:#8794a1}.bad{fill:#f68d97}.pending{fill:#e8b95a}.good{fill:#74d69f}.bold{font-weight:700}\
 .l{animation:appear .15s linear both}@keyframes appear{from{opacity:.42}to{opacity:1}}\
 @media(prefers-reduced-motion:reduce){.l{animation:none}}";

/// The lines of a recording as text.
pub fn text_of(svg: &str) -> String {
    let lines = svg.lines().filter(|line| line.starts_with("<g "));
    lines.map(|line| unescaped(&without_tags(line)).trim_end().to_owned() + "\n").collect()
}

fn without_tags(line: &str) -> String {
    line.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

type Piece = (&'static str, String);

/// A line as pieces of one style each.
fn pieces(line: &str) -> Vec<Piece> {
    let mut parts = line.split("\u{1b}[");
    let mut pieces = vec![("", parts.next().unwrap_or_default().to_owned())];
    let mut codes: Vec<u8> = Vec::new();
    for part in parts {
        let (code, text) = part.split_once('m').unwrap_or(("", part));
        for code in code.split(';').map(|code| code.parse().unwrap_or(0)) {
            match code {
                0 => codes.clear(),
                code => codes.push(code),
            }
        }
        pieces.push((class(&codes), text.to_owned()));
    }
    pieces.retain(|(_, text)| !text.is_empty());
    pieces
}

/// The class for codes that select a style.
fn class(codes: &[u8]) -> &'static str {
    let has = |code: u8| codes.contains(&code);
    match () {
        () if has(32) && has(1) => "title",
        () if has(32) || has(92) => "good",
        () if has(31) || has(91) => "bad",
        () if has(33) || has(93) => "pending",
        () if has(36) || has(96) => "literal",
        () if has(2) => "dim",
        () if has(1) => "bold",
        () => "",
    }
}

/// The rows of a line in a terminal of [`COLUMNS`] columns; at least one.
fn wrapped(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let mut rows = vec![Vec::new()];
    let mut column = 0;
    for (class, text) in pieces {
        for character in text.chars() {
            if column == COLUMNS {
                rows.push(Vec::new());
                column = 0;
            }
            column += 1;
            let row: &mut Vec<Piece> = rows.last_mut().expect("there is one");
            match row.last_mut() {
                Some((known, text)) if *known == class => text.push(character),
                _ => row.push((class, character.to_string())),
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_keeps_its_text_and_its_colours() {
        let long = "x".repeat(COLUMNS + 5);
        let printed =
            format!("\u{1b}[1m\u{1b}[32m1. a <title>\u{1b}[0m\n\n   \u{1b}[36m$ a && b\u{1b}[0m\n{long}\n");
        let recording = Recording::of(printed.as_bytes()).unwrap();
        let text = format!("1. a <title>\n\n   $ a && b\n{long}\n");
        assert_eq!(recording.text(), text);
        let svg = recording.to_svg("a & b");
        assert_eq!(text_of(&svg), text);
        assert!(svg.contains("<tspan class=\"title\">1. a &lt;title&gt;</tspan>"), "{svg}");
        assert!(svg.contains("<tspan class=\"literal\">$ a &amp;&amp; b</tspan>"), "{svg}");
        assert_eq!(svg.matches("<text ").count(), 1 + 5, "the title, and one line takes two rows");
    }
}
