//! The view of a foreign bubble: that it is foreign and why, what its log says, and the only steps that there are.

use crate::view::ForeignNotice;
use crate::view::foreign::last_recorded;
use crate::view::pane::line::wrapped;
use crate::view::pane::sections::{LABEL, Section, labelled};
use crate::view::pane::{PaneLine, Scene, Shade, blocks};
use crate::view::status::Status;

/// How many lines the reason takes at most.
const WHY: usize = 4;

/// The first lines: that the bubble is foreign, and why.
pub(super) fn head(scene: &Scene<'_>, notice: &ForeignNotice, columns: usize) -> Vec<PaneLine> {
    let text = format!("{} is foreign: {}.", scene.state.id, notice.why);
    let mut lines: Vec<_> = wrapped(&text, columns, WHY).iter().map(|text| PaneLine::of(Shade::Bad, text)).collect();
    let unproven = "Nothing is done for it. Below is what its log says; none of it was checked here.";
    lines.extend(wrapped(unproven, columns, 2).iter().map(|text| PaneLine::of(Shade::Warn, text)));
    lines
}

/// What the log says, and the commands that adopt the bubble or remove it; they stand apart, because they come last.
pub(super) fn record(scene: &Scene<'_>, notice: &ForeignNotice, columns: usize) -> (Vec<Section>, Section) {
    let status = Status::of(scene.state, scene.now);
    let room = columns.saturating_sub(LABEL);
    let last = wrapped(&last_recorded(&status.fields), room, 3);
    let last: Vec<_> = last.iter().map(|text| PaneLine::of(Shade::Plain, text)).collect();
    let sections = vec![
        Section::new(1, last.len(), labelled("Log", last)),
        blocks::findings(scene.state, columns),
        blocks::checks(&status),
        blocks::work(&status),
    ];
    let command = |line: &String| PaneLine::of(Shade::Strong, line);
    let mut steps = labelled("Next", vec![command(&notice.next)]);
    steps.extend(labelled("Remove", notice.remove.iter().map(command).collect()));
    if !scene.pane {
        steps.push(PaneLine::of(Shade::Faint, "q leaves this view"));
    }
    (sections, Section::new(0, steps.len(), steps))
}
