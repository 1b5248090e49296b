//! Where things stand: one column, or two where there is room for them.

use crate::bubble::BubbleState;
use crate::view::pane::sections::{Section, stacked};
use crate::view::pane::{PaneLine, Scene, Shade, Size, agents, blocks, foreign};
use crate::view::status::Status;

/// From this many columns on the story stands beside the state.
const WIDE: usize = 140;
/// How many columns the state takes at most beside the story.
const STATE: usize = 100;
/// What stands between the two.
const BETWEEN: &str = " │ ";
/// From this many rows on there is room for what only looks good.
const TALL: usize = 16;

/// Renders the view: at most as many lines as there are rows, none wider than the columns, the most important first.
pub fn render(scene: &Scene<'_>, size: Size) -> Vec<PaneLine> {
    let mut lines = if size.columns >= WIDE { wide(scene, size) } else { narrow(scene, size) };
    lines.truncate(size.rows);
    lines.into_iter().map(|line| line.cut(size.columns)).collect()
}

/// One column: the state, then the story, then what helps.
fn narrow(scene: &Scene<'_>, size: Size) -> Vec<PaneLine> {
    let tall = size.rows >= TALL;
    let mut lines = head(scene, size.columns);
    if tall {
        lines.push(blocks::task(scene.state));
        lines.push(rule("", size.columns));
    }
    let (mut sections, help) = state(scene, size.columns);
    let heading = rule(" Timeline (UTC) ", size.columns);
    let least = if tall { 5 } else { 1 };
    sections.push(Section::new(5, least, blocks::story(scene.story, size.rows)).newest_last(heading));
    sections.push(help);
    lines.extend(stacked(sections, size.rows.saturating_sub(lines.len())));
    lines
}

/// Two columns under a common head: the state on the left, the story on the right.
fn wide(scene: &Scene<'_>, size: Size) -> Vec<PaneLine> {
    let mut lines = match scene.foreign {
        Some(_) => head(scene, size.columns),
        None => vec![titled(scene)],
    };
    if size.rows >= TALL {
        lines.push(rule("", size.columns));
    }
    let rows = size.rows.saturating_sub(lines.len());
    let left = STATE.min(size.columns / 2);
    let right = size.columns.saturating_sub(left + BETWEEN.chars().count());
    let (mut sections, help) = state(scene, left);
    sections.push(help);
    let state = stacked(sections, rows);
    let mut story = blocks::story(scene.story, rows).into_iter();
    let mut state = state.into_iter();
    for _ in 0..rows {
        let (line, told) = (state.next().unwrap_or_default(), story.next().unwrap_or_default());
        lines.push(line.pad(left).add(Shade::Faint, BETWEEN).join(told.cut(right)));
    }
    lines
}

/// The head with what the bubble is about behind it.
fn titled(scene: &Scene<'_>) -> PaneLine {
    blocks::head(scene).add(Shade::Plain, "  ").join(blocks::task(scene.state))
}

/// The first lines: what the bubble is called and where it stands, or that it is foreign.
fn head(scene: &Scene<'_>, columns: usize) -> Vec<PaneLine> {
    match scene.foreign {
        Some(notice) => foreign::head(scene, notice, columns),
        None => vec![blocks::head(scene)],
    }
}

/// Everything but the story; what helps stands apart, because it comes last.
fn state(scene: &Scene<'_>, columns: usize) -> (Vec<Section>, Section) {
    if let Some(notice) = scene.foreign {
        return foreign::record(scene, notice, columns);
    }
    let state: &BubbleState = scene.state;
    let status = Status::of(state, scene.now);
    let sections = vec![
        blocks::alarms(scene, columns),
        blocks::waiting(scene, columns),
        blocks::turn(scene),
        blocks::watchdog(scene, &status),
        agents::agents(scene),
        blocks::nothing_waits(state),
        blocks::findings(state, columns),
        blocks::checks(&status),
        blocks::work(&status),
        blocks::missing(state, &status, columns),
    ];
    (sections, blocks::help(scene, &status, columns))
}

fn rule(title: &str, columns: usize) -> PaneLine {
    let begin = if title.is_empty() { "" } else { "──" };
    let used = begin.chars().count() + title.chars().count();
    PaneLine::of(Shade::Faint, format!("{begin}{title}{}", "─".repeat(columns.saturating_sub(used))))
}
