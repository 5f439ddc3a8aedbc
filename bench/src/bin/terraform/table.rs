//! Figures side by side, each with its bar.

use std::io::{self, Write as _};
use std::time::Duration;

use bench::{Figure, Outcome, Run, Unit};

use crate::folder::State;
use crate::lifecycle::{How, Measured, Step};
use crate::peer::{Connection, Peer};

/// Our plan without a change, as a multiple of what Terraform itself needs for it.
const FLOOR_BAR: f64 = 1.3;
/// Our memory in megabytes, however many objects there are.
const MEMORY_BAR: f64 = 30.0;
/// Our processor time for an object among many, as a multiple of that for one among few.
const GROWTH_BAR: f64 = 1.1;

/// Prints one table; the first of `measured` is ours, and faster than the second is what it should be.
pub(crate) fn print(
    names: &[&str],
    measured: &[Measured],
    terraform_data: Duration,
    objects: usize,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "{:<12}", "")?;
    for name in names {
        write!(out, "{name:>18}")?;
    }
    writeln!(out, "   ratio  bar    requests/object (bar), others")?;
    let floor = measured.first().and_then(Measured::over_floor);
    for step in Step::ALL {
        write!(out, "{:<12}", step.name())?;
        for measured in measured {
            write!(out, "{:>16.2} s", measured.seconds(step))?;
        }
        match ratio(measured, |measured| measured.seconds(step)) {
            Some(ratio) => write!(out, "{ratio:>8.2}  <1 {}", verdict(ratio < 1.0))?,
            None => write!(out, "{:>14}", "")?,
        }
        for (number, measured) in measured.iter().enumerate() {
            let asked = measured.asked(step);
            let each = share(asked.objects, objects);
            write!(out, "   {each:.2}")?;
            if number == 0 {
                write!(out, " (≤{} {})", step.bar(), verdict(each <= step.bar()))?;
            }
            write!(out, ", {}", asked.else_)?;
        }
        writeln!(out)?;
        if let (Step::NoOp, Some(floor)) = (step, floor) {
            let data = terraform_data.as_secs_f64();
            writeln!(
                out,
                "{:<12}{floor:>17.2} ×  of a provider that answers at once (≤{FLOOR_BAR} {}); terraform_data: {data:.2} s",
                "  floor",
                verdict(floor <= FLOOR_BAR)
            )?;
        }
    }
    write!(out, "{:<12}", "memory")?;
    for measured in measured {
        write!(out, "{:>15.1} MB", megabytes(measured))?;
    }
    let within = measured.first().is_none_or(|ours| megabytes(ours) <= MEMORY_BAR);
    let ratio = ratio(measured, megabytes).map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    writeln!(out, "{ratio:>8}  ≤{MEMORY_BAR} MB {}", verdict(within))
}

/// Keeps the figures of one provider for the charts, and what they were measured with unless it is what is usual.
pub(crate) fn record(run: &mut Run, peer: &Peer, how: &How, measured: &Measured, objects: usize) {
    let mut record = |what: &str, unit: Unit, value: f64| {
        let what = format!("{what}{}", setting(how));
        run.record(Figure { what: &what, who: peer.name, role: peer.role, size: Some(objects), unit }, value);
    };
    for step in Step::ALL {
        record(step.name(), Unit::Seconds, measured.seconds(step));
        let requests = format!("requests of {}", step.name());
        record(&requests, Unit::Count, share(measured.asked(step).objects, objects));
        let time = format!("the provider's processor time of {}", step.name());
        record(&time, Unit::Seconds, measured.usage(step).plugins.as_secs_f64());
    }
    record("memory", Unit::Megabytes, megabytes(measured));
}

/// Holds our figures, which are the first ones, to their bars.
pub(crate) fn hold(run: &mut Run, how: &How, measured: &[Measured], objects: usize) -> Outcome<()> {
    let Some(ours) = measured.first() else { return Ok(()) };
    let of = format!("{objects} objects{}", setting(how));
    for step in Step::ALL {
        if let Some(ratio) = ratio(measured, |measured| measured.seconds(step)) {
            run.at_most(&format!("{} of {of}, to the yardstick's", step.name()), ratio, 1.0)?;
        }
        let requests = share(ours.asked(step).objects, objects);
        run.at_most(&format!("requests per object, {} of {of}", step.name()), requests, step.bar())?;
    }
    if let Some(floor) = ours.over_floor() {
        run.at_most(&format!("no-op plan of {of}, to a provider that answers at once"), floor, FLOOR_BAR)?;
    }
    run.at_most(&format!("memory for {of}, in MB"), megabytes(ours), MEMORY_BAR)
}

/// Holds the processor time of our provider for an object among many to that for one among few.
pub(crate) fn hold_growth(
    run: &mut Run,
    how: &How,
    (few, first): (usize, &[Measured]),
    (many, last): (usize, &[Measured]),
) -> Outcome<()> {
    let (Some(first), Some(last)) = (first.first(), last.first()) else { return Ok(()) };
    for step in Step::ALL {
        let time = |measured: &Measured, objects| each(measured.usage(step).plugins.as_secs_f64(), objects);
        let growth = time(last, many) / time(first, few);
        let what = format!(
            "the provider's processor time per object, {} of {few} to {many}{}",
            step.name(),
            setting(how)
        );
        run.at_most(&what, growth, GROWTH_BAR)?;
    }
    Ok(())
}

/// What was not as usual: the state on a server, the connection in the provider block.
fn setting(how: &How) -> String {
    let state = if how.state == State::Local { ", local state" } else { "" };
    let connection =
        if how.connection == Connection::Resource { ", connection in every resource" } else { "" };
    format!("{state}{connection}")
}

/// Prints whether an object among many takes longer than one among few. What the client does alone is shown beside it:
/// it copies its whole state after every resource.
pub(crate) fn print_growth(
    names: &[&str],
    (few, first): (usize, &[Measured]),
    (many, last): (usize, &[Measured]),
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "\nmilliseconds per object, {few} → {many}: elapsed, provider's processor time, client's own"
    )?;
    for ((name, first), last) in names.iter().zip(first).zip(last) {
        for step in Step::ALL {
            write!(out, "{name:<17} {:<11}", step.name())?;
            let figures: [fn(&Measured, Step) -> f64; 3] = [
                |measured, step| measured.seconds(step),
                |measured, step| measured.usage(step).plugins.as_secs_f64(),
                |measured, step| measured.usage(step).client.as_secs_f64(),
            ];
            for figure in figures {
                let (before, after) = (each(figure(first, step), few), each(figure(last, step), many));
                write!(out, "{before:>8.2} → {after:<6.2}{}", verdict(after <= before * GROWTH_BAR))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

fn each(seconds: f64, objects: usize) -> f64 {
    1000.0 * seconds / number(objects)
}

/// Ours to the yardstick's, if there is one.
fn ratio(measured: &[Measured], figure: impl Fn(&Measured) -> f64) -> Option<f64> {
    match measured {
        [ours, yardstick, ..] => Some(figure(ours) / figure(yardstick)),
        _ => None,
    }
}

fn share(requests: usize, objects: usize) -> f64 {
    number(requests) / number(objects)
}

fn megabytes(measured: &Measured) -> f64 {
    number(usize::try_from(measured.memory()).unwrap_or(usize::MAX)) / 1024.0
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

const fn verdict(holds: bool) -> &'static str {
    if holds { "✓" } else { "✗" }
}
