//! The figures as one HTML page with charts drawn as SVG: no script, no external resource. Every chart has its numbers in
//! it, and each series a pattern of its own, so that the page reads the same without colours.

use maud::{Markup, PreEscaped, html};

use super::figures::{Metrics, MetricsReport, MetricsTable, SEVERITIES, Spread, Tally, sum};
use crate::safe::{safe_line, width};
use crate::text::counted;
use crate::view::export::{STYLE, SafeText};

const CHART_STYLE: &str = include_str!("charts.css");

/// The places in a chart, in units of its own: names, bars, and the sums behind them.
const CHART_WIDTH: u64 = 430;
const SUM_WIDTH: u64 = 44;
const ROW_HEIGHT: u64 = 28;
const BAR_HEIGHT: u64 = 18;
/// The room that a character of a name or a number needs.
const CHARACTER: u64 = 8;
/// How many values of a distribution have a bar of their own.
const VALUES: u32 = 9;
/// How many characters of a name are shown.
const NAME_COLUMNS: usize = 20;

/// What the parts of bars stand for.
type Series = &'static [(&'static str, &'static str)];

const ONE: Series = &[("one", "")];
const OUTCOMES: Series =
    &[("good", "confirmed"), ("soft", "conceded"), ("link", "dismissed"), ("warn", "waived"), ("bad", "open")];
const BY_SEVERITY: Series = &[("bad", "P0"), ("warn", "P1"), ("link", "P2"), ("soft", "P3")];
const FIXES: Series = &[("good", "shown"), ("bad", "unproven"), ("soft", "untestable")];
const COMMANDS: Series = &[("good", "held"), ("warn", "withdrawn"), ("bad", "dropped")];

/// One bar: its name, and the length of each of its parts.
struct Bar {
    name: String,
    parts: Vec<u64>,
}

/// Renders the page. The same logs give the same bytes.
pub fn render(report: &MetricsReport) -> String {
    let markup = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Nothing may be loaded or run, even if a mistake of ours let foreign markup through.
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                title { "Metrics of " (SafeText(repository(report))) }
                style { (PreEscaped(STYLE)) (PreEscaped(CHART_STYLE)) }
            }
            body {
                (patterns())
                header {
                    p.over { "pairflow metrics" }
                    h1 { (SafeText(repository(report))) }
                    p { (report.own.summary()) }
                    @if let Some(caution) = report.own.caution() { p.caution { (caution) } }
                }
                main {
                    @if !report.own.is_empty() { (sections(&report.own)) }
                    (foreign(&report.foreign))
                    (unreadable(report))
                }
                footer { p { "Made from the logs of " code { (SafeText(&report.repo)) } " by " code { "pairflow metrics --html" } "." } }
            }
        }
    };
    markup.into_string()
}

/// The name of the repository: the last part of its path.
fn repository(report: &MetricsReport) -> &str {
    report.repo.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&report.repo)
}

fn sections(metrics: &Metrics) -> Markup {
    let (total, converged) = (metrics.total(), &metrics.converged);
    html! {
        @if converged.bubbles > 0 {
            section id="converge" {
                h2 { "To converge" }
                p { (counted(converged.bubbles, "bubble")) " converged, " (converged.by_person) " of them because a person accepted the work at a tie-break." }
                div.charts {
                    (chart("Looks", &middle(&converged.looks), ONE, &distribution(&converged.looks)))
                    (chart("Rounds", &middle(&converged.rounds), ONE, &distribution(&converged.rounds)))
                }
            }
        }
        @if total.filed > 0 {
            section id="findings" {
                h2 { "Findings" }
                p.dim {
                    "Confirmed: fixed, as a reviewer or a passing reproducer says. Conceded: disputed, and the reviewer agreed. "
                    "Dismissed: by a judge or a person. Disputed and upheld: at some time."
                }
                div.charts {
                    (chart("What became of them", "by severity", OUTCOMES, &by_severity(metrics)))
                    (chart("Who filed them", "by agent and severity", BY_SEVERITY, &by_agent(metrics, |it| it.filed)))
                }
                (table(&metrics.severity_table())) (table(&metrics.agent_table()))
            }
        }
        (evidence(metrics))
        (people(metrics))
        (escaped(metrics))
    }
}

fn evidence(metrics: &Metrics) -> Markup {
    let figures = metrics.evidence_table();
    let fixes = |it: &Tally| vec![it.fixes_shown, it.fixes_unproven, it.fixes_untestable];
    let commands = |it: &Tally| {
        let held = it.reproducers.saturating_sub(it.withdrawn + it.dropped);
        vec![held, it.withdrawn, it.dropped]
    };
    html! {
        @if !figures.rows.is_empty() {
            section id="evidence" {
                h2 { "Evidence" }
                div.charts {
                    (chart("Fixes of P0 and P1", "shown: a test or reproducer failed before and passes now", FIXES, &agents(metrics, fixes)))
                    (chart("Reproducers", "dropped: it did not fail, or could not be run, when it was filed", COMMANDS, &agents(metrics, commands)))
                }
                (table(&figures))
            }
        }
    }
}

fn people(metrics: &Metrics) -> Markup {
    let (questions, rework) = (&metrics.questions, metrics.rework);
    let all = counted(metrics.bubbles.total, "bubble");
    let bars: Vec<_> =
        questions.named().into_iter().map(|(name, count)| Bar { name: name.to_owned(), parts: vec![count] }).collect();
    html! {
        @if questions.total > 0 || rework.requests > 0 {
            section id="people" {
                h2 { "People" }
                p {
                    (questions.bubbles) " of " (all) " asked a person. Accepted work was sent back " (counted(rework.requests, "time")) " in "
                    (counted(rework.bubbles, "bubble")) "; " (rework.after_approval) " of that after approval."
                }
                div.charts { (chart("Questions", &format!("{} in {all}", questions.total), ONE, &bars)) }
            }
        }
    }
}

fn escaped(metrics: &Metrics) -> Markup {
    let found = &metrics.escaped;
    let bars = SEVERITIES.iter().map(|severity| Bar {
        name: severity.to_string(),
        parts: vec![found.by_severity.get(severity).copied().unwrap_or_default()],
    });
    let bars: Vec<_> = bars.collect();
    let older = found.total.saturating_sub(found.newest.len() as u64);
    html! {
        @if metrics.bubbles.done > 0 {
            section id="escaped" {
                h2 { "Escaped defects" }
                @if found.total == 0 {
                    p { "None is recorded against " (counted(metrics.bubbles.done, "bubble")) " that are done. " code { "pairflow escaped ID \"text\"" } " records one." }
                } @else {
                    p { (counted(found.total, "defect")) " escaped from " (found.bubbles) " of " (counted(metrics.bubbles.done, "bubble")) " done." }
                    div.charts { (chart("Found later", "by severity", ONE, &bars)) }
                    div.wide { table { thead { tr { th { "Severity" } th { "Bubble" } th { "Defect" } } }
                        tbody { @for one in &found.newest {
                            tr { td { (one.severity.to_string()) } td { (one.bubble_id.as_str()) } td { (SafeText(&one.text)) } }
                        } }
                    } }
                    @if older > 0 { p.cut { (older) " older ones are not listed." } }
                }
            }
        }
    }
}

/// The figures of foreign bubbles stand apart, as tables alone.
fn foreign(metrics: &Metrics) -> Markup {
    html! {
        @if !metrics.is_empty() {
            section id="foreign" {
                h2 { "Foreign bubbles" }
                p { (metrics.summary()) ". Their logs are not yours: the figures above leave them out." }
                @for figures in metrics.tables() { (table(&figures)) }
                ul { @for remark in metrics.remarks() { li { (remark) } } }
            }
        }
    }
}

fn unreadable(report: &MetricsReport) -> Markup {
    html! {
        @if !report.unreadable.is_empty() {
            section id="unreadable" {
                h2 { "Not readable" }
                p { "These bubbles are in no figure." }
                ul { @for one in &report.unreadable {
                    li {
                        b { (SafeText(&one.bubble_id)) } @if one.archived { " " span.dim { "archived" } } ": " (SafeText(&one.error))
                    }
                } }
                @if report.unreadable_left_out > 0 { p.cut { "and " (report.unreadable_left_out) " more" } }
            }
        }
    }
}

fn table(figures: &MetricsTable) -> Markup {
    let head = |text: &str| {
        let mut lower = text.to_lowercase();
        if let Some(first) = lower.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        lower
    };
    html! {
        div.wide { table.figures {
            thead { tr { @for text in &figures.heads { th { (head(text)) } } } }
            tbody { @for row in &figures.rows {
                tr class=[(row.first().map(String::as_str) == Some("all")).then_some("all")] { @for cell in row { td { (SafeText(cell)) } } }
            } }
        } }
    }
}

/// A bar for every value that occurred, and for those between them; large ones share the last bar.
fn distribution(spread: &Spread) -> Vec<Bar> {
    let (Some(first), Some(last)) = (spread.0.keys().next().copied(), spread.most()) else { return Vec::new() };
    let end = last.min(first.saturating_add(VALUES - 1));
    let count = |value: u32| spread.0.get(&value).copied().unwrap_or_default();
    let above: u64 = spread.0.range(end..).map(|(_, count)| count).sum();
    let mut bars: Vec<_> =
        (first..end).map(|value| Bar { name: value.to_string(), parts: vec![count(value)] }).collect();
    let name = if last > end { format!("{end} or more") } else { end.to_string() };
    bars.push(Bar { name, parts: vec![above] });
    bars
}

fn middle(spread: &Spread) -> String {
    match (spread.percentile(50), spread.percentile(90)) {
        (Some(median), Some(p90)) => format!("bubbles that took so many; median {median}, 90 % took {p90} or fewer"),
        _ => String::new(),
    }
}

fn by_severity(metrics: &Metrics) -> Vec<Bar> {
    let bar = |(severity, it): (_, &Tally)| Bar {
        name: format!("{severity}"),
        parts: vec![it.confirmed, it.conceded, it.dismissed, it.waived, it.open],
    };
    metrics.by_severity.iter().filter(|(_, it)| it.filed > 0).map(bar).collect()
}

/// A bar for each agent, with a part for each severity.
fn by_agent(metrics: &Metrics, number: fn(&Tally) -> u64) -> Vec<Bar> {
    let bars = metrics.by_agent.iter().map(|(agent, tallies)| {
        let parts = SEVERITIES.iter().map(|severity| tallies.get(severity).map_or(0, number)).collect();
        Bar { name: agent.clone(), parts }
    });
    bars.filter(|bar| bar.parts.iter().any(|part| *part > 0)).collect()
}

/// A bar for each agent, with the parts that its whole tally has.
fn agents(metrics: &Metrics, parts: impl Fn(&Tally) -> Vec<u64>) -> Vec<Bar> {
    let bars = metrics
        .by_agent
        .iter()
        .map(|(agent, tallies)| Bar { name: agent.clone(), parts: parts(&sum(tallies.values())) });
    bars.filter(|bar| bar.parts.iter().any(|part| *part > 0)).collect()
}

/// Horizontal bars, one below the other, each with its parts and its sum.
fn chart(title: &str, about: &str, series: Series, bars: &[Bar]) -> Markup {
    let longest = bars.iter().map(|bar| bar.parts.iter().sum::<u64>()).max().unwrap_or_default();
    let height = ROW_HEIGHT * bars.len() as u64;
    let view = format!("0 0 {CHART_WIDTH} {height}");
    let longest_name = bars.iter().map(|bar| width(&safe_line(&bar.name, NAME_COLUMNS))).max().unwrap_or_default();
    let names = CHARACTER * (longest_name as u64 + 1);
    html! {
        @if longest > 0 {
            figure {
                figcaption { (title) @if !about.is_empty() { span.dim { (about) } } }
                svg viewBox=(view) role="img" aria-label=(told(title, series, bars)) {
                    @for (nth, bar) in bars.iter().enumerate() { (drawn(bar, series, (names, nth as u64 * ROW_HEIGHT), longest)) }
                    line.axis x1=(names) x2=(names) y1="0" y2=(height) {}
                }
                @if series.len() > 1 {
                    ul.legend { @for (nth, (tone, name)) in series.iter().enumerate() {
                        li {
                            svg viewBox="0 0 18 12" aria-hidden="true" { rect width="18" height="12" fill={ "url(#fill-" (tone) ")" } {} }
                            (name) " " (bars.iter().filter_map(|bar| bar.parts.get(nth)).sum::<u64>())
                        }
                    } }
                }
            }
        }
    }
}

/// One bar. What is there at all is wide enough to be seen.
fn drawn(bar: &Bar, series: Series, (names, top): (u64, u64), longest: u64) -> Markup {
    let (name, sum) = (safe_line(&bar.name, NAME_COLUMNS), bar.parts.iter().sum::<u64>());
    let baseline = top + ROW_HEIGHT / 2 + 4;
    let room = CHART_WIDTH - SUM_WIDTH - names;
    let width = |part: u64| if part == 0 { 0 } else { (part.saturating_mul(room) / longest.max(1)).max(2) };
    let mut left = names;
    html! {
        text.name x=(names - 6) y=(baseline) text-anchor="end" { (name) }
        @for (part, (tone, of)) in bar.parts.iter().zip(series).filter(|(part, _)| **part > 0) {
            @let wide = width(*part);
            rect.bar x=(left) y=(top + (ROW_HEIGHT - BAR_HEIGHT) / 2) width=(wide) height=(BAR_HEIGHT) fill={ "url(#fill-" (tone) ")" } {
                title { (name) @if !of.is_empty() { ", " (of) } ": " (part) }
            }
            @if series.len() > 1 && wide >= CHARACTER * (part.to_string().len() as u64 + 1) {
                text.inside x=(left + wide / 2) y=(baseline) text-anchor="middle" { (part) }
            }
            ({ left += wide; "" })
        }
        text x=(left + 6) y=(baseline) { (sum) }
    }
}

/// The chart in words.
fn told(title: &str, series: Series, bars: &[Bar]) -> String {
    let part = |(value, (_, of)): (&u64, &(&str, &str))| {
        if of.is_empty() { value.to_string() } else { format!("{value} {of}") }
    };
    let bar = |bar: &Bar| {
        let parts: Vec<_> = bar.parts.iter().zip(series).filter(|(value, _)| **value > 0).map(part).collect();
        let parts = if parts.is_empty() { "0".to_owned() } else { parts.join(", ") };
        format!("{}: {parts}", safe_line(&bar.name, NAME_COLUMNS))
    };
    format!("{title}. {}", bars.iter().map(bar).collect::<Vec<_>>().join("; "))
}

/// The fillings of bars: a pattern for each tone, so that tones differ without colours, too.
fn patterns() -> Markup {
    html! {
        svg.patterns width="0" height="0" aria-hidden="true" {
            defs {
                pattern.link id="fill-one" width="8" height="8" patternUnits="userSpaceOnUse" { rect width="8" height="8" {} }
                pattern.good id="fill-good" width="8" height="8" patternUnits="userSpaceOnUse" { rect width="8" height="8" {} }
                pattern.soft id="fill-soft" width="6" height="6" patternUnits="userSpaceOnUse" {
                    rect.ground width="6" height="6" {} path d="M0 3h6" {}
                }
                pattern.link id="fill-link" width="6" height="6" patternUnits="userSpaceOnUse" {
                    rect.ground width="6" height="6" {} rect width="4.2" height="6" {}
                }
                pattern.warn id="fill-warn" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect.ground width="7" height="7" {} rect width="3.4" height="7" {}
                }
                pattern.bad id="fill-bad" width="7" height="7" patternUnits="userSpaceOnUse" {
                    rect.ground width="7" height="7" {} path d="M0 0l7 7M7 0l-7 7" {}
                }
            }
        }
    }
}
