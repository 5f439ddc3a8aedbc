//! Draws charts as SVG: bars side by side, lines that grow, and bars that end at what is allowed.
//!
//! Colours are those of a light page. A dark one has others, by the style that each picture brings along.

use anyhow::{Result, anyhow, ensure};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::charts::{Chart, Kind, Share, Unit};
use super::results::{Figure, Results, Role};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xff);
const INK: RGBColor = RGBColor(0x18, 0x20, 0x2a);
const QUIET: RGBColor = RGBColor(0x58, 0x64, 0x71);
const GRID: RGBColor = RGBColor(0xdf, 0xe4, 0xe9);
const OURS: RGBColor = RGBColor(0x0a, 0x5c, 0x9e);
const YARDSTICK: RGBColor = RGBColor(0xc9, 0x8a, 0x3d);
const MISSED: RGBColor = RGBColor(0xb0, 0x1e, 0x2e);
const FLOOR: RGBColor = RGBColor(0x9a, 0xa6, 0xb2);
/// The same colours on a dark page, in this order.
const DARK: [(RGBColor, &str); 8] = [
    (PAPER, "#11161c"),
    (INK, "#e4e9ee"),
    (QUIET, "#98a5b2"),
    (GRID, "#2a333d"),
    (OURS, "#7ab8f5"),
    (YARDSTICK, "#d99a50"),
    (MISSED, "#f68d97"),
    (FLOOR, "#5f6d7a"),
];

const WIDTH: u32 = 820;
/// Of the column with the labels of bars.
const LABELS: i32 = 190;
const BAR: i32 = 17;
const FONT: &str = "system-ui, sans-serif";

impl Unit {
    /// A figure, which is in seconds or megabytes, in this unit.
    fn of(self, value: f64) -> f64 {
        if self == Self::Milliseconds { value * 1000.0 } else { value }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Megabytes => "MB",
        }
    }
}

/// A chart as SVG.
pub(super) fn chart(chart: &Chart, results: &Results) -> Result<String> {
    let mut svg = String::new();
    match &chart.kind {
        Kind::Compared { rows, unit, largest } => {
            let groups = groups(rows, *largest, results);
            let bars: usize = groups.iter().map(|(_, figures)| figures.len()).sum();
            let height = 78 + i32::try_from(bars)? * (BAR + 3) + i32::try_from(groups.len())? * 16;
            let area = SVGBackend::with_string(&mut svg, (WIDTH, u32::try_from(height)?)).into_drawing_area();
            compared(&area, chart.title, &groups, *unit)
                .map_err(|error| anyhow!("{}: {error}", chart.name))?;
        }
        Kind::Growth { what, unit, share, objects } => {
            let area = SVGBackend::with_string(&mut svg, (WIDTH, 330)).into_drawing_area();
            let lines = lines(what, *unit, *share, results);
            ensure!(!lines.is_empty(), "{}: there are no figures", chart.name);
            growth(&area, chart.title, &lines, objects)
                .map_err(|error| anyhow!("{}: {error}", chart.name))?;
        }
        Kind::Bars => {
            let height = 60 + i32::try_from(results.bars.len())? * (BAR + 12);
            let area = SVGBackend::with_string(&mut svg, (WIDTH, u32::try_from(height)?)).into_drawing_area();
            bars(&area, chart.title, results).map_err(|error| anyhow!("{}: {error}", chart.name))?;
        }
    }
    Ok(themed(&svg))
}

/// The figures of a chart, for readers who do not see it.
pub(super) fn in_words(chart: &Chart, results: &Results) -> String {
    match &chart.kind {
        Kind::Compared { rows, unit, largest } => {
            let group = |(label, figures): &(String, Vec<&Figure>)| {
                let said =
                    figures.iter().map(|figure| format!("{} {}", figure.who, number(unit.of(figure.value))));
                format!("{label}: {}", said.collect::<Vec<_>>().join(", "))
            };
            groups(rows, *largest, results).iter().map(group).collect::<Vec<_>>().join("; ")
        }
        Kind::Growth { what, unit, share, .. } => {
            let line = |line: &Line<'_>| {
                let said = line.points.iter().map(|(size, value)| format!("{} at {size}", number(*value)));
                format!("{} {}", line.who, said.collect::<Vec<_>>().join(", "))
            };
            lines(what, *unit, *share, results).iter().map(line).collect::<Vec<_>>().join("; ")
        }
        Kind::Bars => {
            let said = results
                .bars
                .iter()
                .map(|bar| format!("{} {} of {}", bar.what, number(bar.figure), bar.at_most));
            said.collect::<Vec<_>>().join("; ")
        }
    }
}

/// The figures of each row with its label, of the largest size if there are several.
fn groups<'r>(rows: &[(&str, &str)], largest: bool, results: &'r Results) -> Vec<(String, Vec<&'r Figure>)> {
    let group = |(what, label): &(&str, &str)| {
        let size = results.sizes(what).last().copied().filter(|_| largest);
        let label = size.map_or((*label).to_owned(), |size| format!("{label} ({size})"));
        (label, results.of(what, size))
    };
    rows.iter().map(group).filter(|(_, figures)| !figures.is_empty()).collect()
}

/// How a figure of one program grows.
struct Line<'r> {
    who: &'r str,
    role: Role,
    points: Vec<(u32, f64)>,
}

fn lines<'r>(what: &str, unit: Unit, share: Share, results: &'r Results) -> Vec<Line<'r>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for size in results.sizes(what) {
        for Figure { who, role, value, .. } in results.of(what, Some(size)) {
            let value = if share == Share::Each { value / f64::from(size) } else { *value };
            let point = (size, unit.of(value));
            match lines.iter_mut().find(|line| line.who == who) {
                Some(line) => line.points.push(point),
                None => lines.push(Line { who, role: *role, points: vec![point] }),
            }
        }
    }
    lines
}

fn compared(
    area: &Area<'_>,
    title: &str,
    groups: &[(String, Vec<&Figure>)],
    unit: Unit,
) -> Result<(), Box<dyn std::error::Error>> {
    heading(area, title)?;
    let most = groups
        .iter()
        .flat_map(|(_, figures)| figures)
        .map(|figure| unit.of(figure.value))
        .fold(0.0, f64::max);
    let right = i32::try_from(WIDTH)? - 190;
    let mut y = 48;
    for (label, figures) in groups {
        let middle = y + i32::try_from(figures.len())? * (BAR + 3) / 2;
        text(area, label, (LABELS - 12, middle - 1), INK, (HPos::Right, VPos::Center), 18.0)?;
        for figure in figures {
            let value = unit.of(figure.value);
            let length = scaled(value / most, right - LABELS).max(2);
            bar(area, (LABELS, y), length, colour(figure.role))?;
            let said = format!("{} {}  {}", number(value), unit.name(), figure.who);
            text(area, &said, (LABELS + length + 8, y + BAR / 2), QUIET, (HPos::Left, VPos::Center), 16.5)?;
            y += BAR + 3;
        }
        y += 16;
    }
    area.present()?;
    Ok(())
}

fn growth(
    area: &Area<'_>,
    title: &str,
    lines: &[Line<'_>],
    objects: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    heading(area, title)?;
    let points = || lines.iter().flat_map(|line| &line.points);
    let widest = points().map(|(size, _)| *size).max().unwrap_or(1);
    let most = points().map(|(_, value)| *value).fold(0.0, f64::max) * 1.15;
    let inner = area.margin(38, 6, 10, 130);
    let mut chart = ChartBuilder::on(&inner)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..f64::from(widest) * 1.02, 0.0..most)?;
    let labels = |colour: RGBColor| (FONT, 16).into_font().color(&colour);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_desc(objects)
        .x_labels(8)
        .y_labels(5)
        .x_label_formatter(&|size| number(*size))
        .y_label_formatter(&|value| number(*value))
        .label_style(labels(QUIET))
        .axis_desc_style(labels(QUIET))
        .draw()?;
    for line in lines {
        let colour = colour(line.role);
        let points: Vec<(f64, f64)> =
            line.points.iter().map(|(size, value)| (f64::from(*size), *value)).collect();
        chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(3)))?;
        chart.draw_series(points.iter().map(|point| Circle::new(*point, 4, colour.filled())))?;
        if let Some(last) = points.last() {
            let place = chart.backend_coord(last);
            text(area, line.who, (place.0 + 12, place.1), colour, (HPos::Left, VPos::Center), 17.0)?;
        }
    }
    area.present()?;
    Ok(())
}

fn bars(area: &Area<'_>, title: &str, results: &Results) -> Result<(), Box<dyn std::error::Error>> {
    const NAMES: i32 = 400;
    heading(area, title)?;
    let full = i32::try_from(WIDTH)? - NAMES - 150;
    let mut y = 48;
    for result in &results.bars {
        text(area, &result.what, (NAMES - 12, y + BAR / 2), INK, (HPos::Right, VPos::Center), 16.5)?;
        area.draw(&Rectangle::new([(NAMES, y), (NAMES + full, y + BAR)], GRID.filled()))?;
        let part = if result.at_most > 0.0 { result.figure / result.at_most } else { result.figure };
        let length = scaled(part.min(1.0), full);
        let colour = if part > 1.0 { MISSED } else { OURS };
        if length > 0 {
            bar(area, (NAMES, y), length, colour)?;
        }
        let said = format!("{} of {}", number(result.figure), number(result.at_most));
        text(area, &said, (NAMES + full + 12, y + BAR / 2), QUIET, (HPos::Left, VPos::Center), 16.5)?;
        y += BAR + 12;
    }
    area.present()?;
    Ok(())
}

fn heading(area: &Area<'_>, title: &str) -> Result<(), Box<dyn std::error::Error>> {
    area.fill(&PAPER)?;
    let style = (FONT, 19.0, FontStyle::Bold).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Top));
    area.draw(&Text::new(title.to_owned(), (14, 12), style))?;
    Ok(())
}

fn bar(
    area: &Area<'_>,
    (x, y): (i32, i32),
    length: i32,
    colour: RGBColor,
) -> Result<(), Box<dyn std::error::Error>> {
    area.draw(&Rectangle::new([(x, y), (x + length, y + BAR)], colour.filled()))?;
    Ok(())
}

fn text(
    area: &Area<'_>,
    text: &str,
    place: (i32, i32),
    colour: RGBColor,
    (horizontal, vertical): (HPos, VPos),
    size: f64,
) -> Result<(), Box<dyn std::error::Error>> {
    let style = (FONT, size).into_font().color(&colour).pos(Pos::new(horizontal, vertical));
    area.draw(&Text::new(text.to_owned(), place, style))?;
    Ok(())
}

const fn colour(role: Role) -> RGBColor {
    match role {
        Role::Ours => OURS,
        Role::Yardstick => YARDSTICK,
        Role::Floor => FLOOR,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a part of the width of a picture")]
fn scaled(part: f64, width: i32) -> i32 {
    (part * f64::from(width)).round() as i32
}

/// A figure as short as it can be compared.
fn number(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => trimmed(&format!("{value:.1}")),
        value if value >= 0.095 => trimmed(&format!("{value:.2}")),
        value if value >= 0.0095 => trimmed(&format!("{value:.3}")),
        value => trimmed(&format!("{value:.4}")),
    }
}

fn trimmed(text: &str) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The picture with the colours for a dark page.
fn themed(svg: &str) -> String {
    let mut rules = String::new();
    for (RGBColor(red, green, blue), dark) in DARK {
        let light = format!("#{red:02X}{green:02X}{blue:02X}");
        rules += &["[fill=\"", &light, "\"]{fill:", dark, "}[stroke=\"", &light, "\"]{stroke:", dark, "}"]
            .concat();
    }
    let style = format!("<style>@media(prefers-color-scheme:dark){{{rules}}}</style>");
    match svg.find('>') {
        Some(end) => format!("{}\n{style}{}\n", &svg[..=end], &svg[end + 1..]),
        None => svg.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let check = |value: f64, expected: &str| assert_eq!(number(value), expected);
        check(0.0, "0");
        check(2500.0, "2500");
        check(12.34, "12.3");
        check(3.0, "3");
        check(0.5, "0.5");
        check(0.0998, "0.1");
        check(0.0744, "0.074");
        check(0.00123, "0.0012");
    }

    #[test]
    fn every_colour_has_another_on_a_dark_page() {
        let svg = themed("<svg a=\"b\">\n<rect fill=\"#0A5C9E\"/></svg>");
        assert!(svg.contains("[fill=\"#0A5C9E\"]{fill:#7ab8f5}"), "{svg}");
        assert!(svg.starts_with("<svg a=\"b\">\n<style>"), "{svg}");
    }
}
