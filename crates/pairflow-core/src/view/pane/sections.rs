//! Parts of the view that get as many rows as there are, the important ones first.

use crate::view::pane::{PaneLine, Shade};

/// Lines that belong together.
#[derive(Debug, Clone, Default)]
pub(super) struct Section {
    /// How soon it gets rows: 0 is first.
    pub(super) rank: u8,
    /// How many rows it gets before anybody gets more.
    pub(super) least: usize,
    /// What stands above its lines; with it the end of the section is what counts, and not the beginning.
    pub(super) heading: Option<PaneLine>,
    /// All that it has to say.
    pub(super) lines: Vec<PaneLine>,
}

impl Section {
    /// Makes a section of which `least` lines come before the rest of all others.
    pub(super) fn new(rank: u8, least: usize, lines: Vec<PaneLine>) -> Self {
        Self { rank, least, heading: None, lines }
    }

    /// Gives it a heading; its newest lines are at its end.
    pub(super) fn newest_last(self, heading: PaneLine) -> Self {
        Self { heading: Some(heading), ..self }
    }

    fn len(&self) -> usize {
        self.lines.len() + usize::from(self.heading.is_some())
    }

    /// Returns `count` lines of it. A heading alone says nothing, so a single line is the newest one.
    fn shown(mut self, count: usize) -> Vec<PaneLine> {
        let Some(heading) = self.heading.filter(|_| count > 0) else {
            self.lines.truncate(count);
            return self.lines;
        };
        let own = if count > 1 { count - 1 } else { 1 };
        let newest = self.lines.split_off(self.lines.len().saturating_sub(own));
        (count > 1).then_some(heading).into_iter().chain(newest).collect()
    }
}

/// How many columns labels take, the gap included.
pub(super) const LABEL: usize = 10;

/// Puts a label before the first of some lines, and as much room before the others.
pub(super) fn labelled(label: &str, lines: Vec<PaneLine>) -> Vec<PaneLine> {
    let mut label = label;
    let with = |line: PaneLine| {
        let own = std::mem::take(&mut label);
        PaneLine::of(Shade::Faint, own).pad(LABEL).join(line)
    };
    lines.into_iter().map(with).collect()
}

/// Returns as many lines as fit into `rows`, in the order of the sections; with room to spare they are set apart.
pub(super) fn stacked(sections: Vec<Section>, rows: usize) -> Vec<PaneLine> {
    let sections: Vec<_> = sections.into_iter().filter(|section| !section.lines.is_empty()).collect();
    let given = allotted(&sections, rows);
    let used: usize = given.iter().sum();
    let all: usize = sections.iter().map(Section::len).sum();
    // Room is made only where it costs nobody a line.
    let gaps = used == all && used + sections.len().saturating_sub(1) <= rows;
    let mut lines = Vec::with_capacity(rows);
    for (section, count) in sections.into_iter().zip(given) {
        if gaps && !lines.is_empty() {
            lines.push(PaneLine::default());
        }
        lines.extend(section.shown(count));
    }
    lines
}

/// How many rows each section gets.
fn allotted(sections: &[Section], rows: usize) -> Vec<usize> {
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

    fn section(rank: u8, least: usize, name: &str, count: usize) -> Section {
        Section::new(rank, least, (1..=count).map(|n| PaneLine::of(Shade::Plain, format!("{name}{n}"))).collect())
    }

    fn shown(rows: usize) -> String {
        let story = section(2, 1, "b", 3).newest_last(PaneLine::of(Shade::Plain, "B"));
        let sections = vec![section(0, 1, "a", 2), story, section(1, 2, "c", 2)];
        stacked(sections, rows).iter().map(PaneLine::text).collect::<Vec<_>>().join(" ")
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
