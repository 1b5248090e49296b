//! Arranges the sections in one column, or in two if there is room.

use crate::bubble::BubbleState;
use crate::view::pane::blocks::{self, PaneSection};
use crate::view::pane::{PaneInput, Size};
use crate::view::status::Status;
use crate::view::{StyledLine, Tone};

/// From this many columns on, the timeline is shown beside the state.
const WIDE: usize = 140;
/// How many columns the state takes at most beside the story.
const STATE: usize = 100;
/// The separator of the two columns.
const BETWEEN: &str = " │ ";
/// From this many rows on there is room for what only looks good.
const TALL: usize = 16;

/// Renders the view: at most as many lines as there are rows, none wider than the columns, the most important first.
pub fn render(input: &PaneInput<'_>, size: Size) -> Vec<StyledLine> {
    let mut lines = if size.columns >= WIDE { wide(input, size) } else { narrow(input, size) };
    lines.truncate(size.rows);
    lines.into_iter().map(|line| line.cut(size.columns)).collect()
}

/// One column: the state, then the story, then what helps.
fn narrow(input: &PaneInput<'_>, size: Size) -> Vec<StyledLine> {
    let tall = size.rows >= TALL;
    let mut lines = head(input, size.columns);
    if tall {
        lines.push(blocks::task(input.state));
        lines.push(rule("", size.columns));
    }
    let (mut sections, help) = state(input, size.columns);
    let heading = rule(" Timeline (UTC) ", size.columns);
    let least = if tall { 5 } else { 1 };
    sections.push(PaneSection::new(5, least, blocks::timeline(input.timeline, size.rows)).newest_last(heading));
    sections.push(help);
    lines.extend(stacked(sections, size.rows.saturating_sub(lines.len())));
    lines
}

/// Two columns under a common head: the state on the left, the story on the right.
fn wide(input: &PaneInput<'_>, size: Size) -> Vec<StyledLine> {
    let mut lines = match input.foreign {
        Some(_) => head(input, size.columns),
        None => vec![titled(input)],
    };
    if size.rows >= TALL {
        lines.push(rule("", size.columns));
    }
    let rows = size.rows.saturating_sub(lines.len());
    let left = STATE.min(size.columns / 2);
    let right = size.columns.saturating_sub(left + BETWEEN.chars().count());
    let (mut sections, help) = state(input, left);
    sections.push(help);
    let state = stacked(sections, rows);
    let mut timeline = blocks::timeline(input.timeline, rows).into_iter();
    let mut state = state.into_iter();
    for _ in 0..rows {
        let (line, told) = (state.next().unwrap_or_default(), timeline.next().unwrap_or_default());
        lines.push(line.pad(left).add(Tone::Faint, BETWEEN).join(told.cut(right)));
    }
    lines
}

/// The head with what the bubble is about behind it.
fn titled(input: &PaneInput<'_>) -> StyledLine {
    blocks::head(input).add(Tone::Plain, "  ").join(blocks::task(input.state))
}

/// The first lines: name and state of the bubble, or that it is foreign.
fn head(input: &PaneInput<'_>, columns: usize) -> Vec<StyledLine> {
    match input.foreign {
        Some(notice) => blocks::foreign_head(input, notice, columns),
        None => vec![blocks::head(input)],
    }
}

/// All sections but the timeline; the help is apart, because it comes last.
fn state(input: &PaneInput<'_>, columns: usize) -> (Vec<PaneSection>, PaneSection) {
    if let Some(notice) = input.foreign {
        return blocks::foreign_record(input, notice, columns);
    }
    let state: &BubbleState = input.state;
    let status = Status::of(state, input.now);
    let sections = vec![
        blocks::alarms(input, columns),
        blocks::waiting(input, columns),
        blocks::turn(input),
        blocks::watchdog(input, &status),
        blocks::agents(input),
        blocks::nothing_waits(state),
        blocks::findings(state, columns),
        blocks::checks(&status),
        blocks::work(&status),
        blocks::missing(state, &status, columns),
    ];
    (sections, blocks::help(input, &status, columns))
}

fn rule(title: &str, columns: usize) -> StyledLine {
    let begin = if title.is_empty() { "" } else { "──" };
    let used = begin.chars().count() + title.chars().count();
    StyledLine::of(Tone::Faint, format!("{begin}{title}{}", "─".repeat(columns.saturating_sub(used))))
}

/// Returns as many lines as fit into `rows`, in the order of the sections; with room to spare they are set apart.
fn stacked(sections: Vec<PaneSection>, rows: usize) -> Vec<StyledLine> {
    let sections: Vec<_> = sections.into_iter().filter(|section| !section.lines.is_empty()).collect();
    let given = allotted(&sections, rows);
    let used: usize = given.iter().sum();
    let all: usize = sections.iter().map(PaneSection::len).sum();
    // Gaps are added only if no section loses a line.
    let gaps = used == all && used + sections.len().saturating_sub(1) <= rows;
    let mut lines = Vec::with_capacity(rows);
    for (section, count) in sections.into_iter().zip(given) {
        if gaps && !lines.is_empty() {
            lines.push(StyledLine::default());
        }
        lines.extend(section.shown(count));
    }
    lines
}

/// How many rows each section gets.
fn allotted(sections: &[PaneSection], rows: usize) -> Vec<usize> {
    let mut given = vec![0; sections.len()];
    let mut left = rows;
    let mut order: Vec<_> = (0..sections.len()).collect();
    order.sort_by_key(|at| sections[*at].rank);
    for at in &order {
        given[*at] = sections[*at].least.min(sections[*at].len()).min(left);
        left -= given[*at];
    }
    for at in &order {
        let more = (sections[*at].len() - given[*at]).min(left);
        given[*at] += more;
        left -= more;
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(rank: u8, least: usize, name: &str, count: usize) -> PaneSection {
        PaneSection::new(rank, least, (1..=count).map(|n| StyledLine::of(Tone::Plain, format!("{name}{n}"))).collect())
    }

    fn shown(rows: usize) -> String {
        let timeline = section(2, 1, "b", 3).newest_last(StyledLine::of(Tone::Plain, "B"));
        let sections = vec![section(0, 1, "a", 2), timeline, section(1, 2, "c", 2)];
        stacked(sections, rows).iter().map(StyledLine::text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rows_go_to_what_matters_and_the_order_stays() {
        assert_eq!(shown(0), "");
        assert_eq!(shown(1), "a1");
        assert_eq!(shown(2), "a1 c1");
        assert_eq!(shown(3), "a1 c1 c2");
        assert_eq!(shown(4), "a1 b3 c1 c2");
        assert_eq!(shown(5), "a1 a2 b3 c1 c2");
        assert_eq!(shown(6), "a1 a2 B b3 c1 c2");
        assert_eq!(shown(8), "a1 a2 B b1 b2 b3 c1 c2");
        assert_eq!(shown(9), "a1 a2 B b1 b2 b3 c1 c2", "there is room for one gap, but not for all");
        assert_eq!(shown(10), "a1 a2  B b1 b2 b3  c1 c2");
    }
}
