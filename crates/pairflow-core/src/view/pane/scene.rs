//! What there is to show, and how much room there is for it.

use crate::bubble::BubbleState;
use crate::time::{Moment, Timestamp};
use crate::view::ForeignNotice;
use crate::view::pane::SeatNow;
use crate::view::timeline::TimelineRow;

/// Below this many milliseconds a count-down stands out.
pub(super) const CLOSE: u64 = 120_000;
/// From this many milliseconds on a count-down shows no seconds.
const HOUR: u64 = 3_600_000;

/// Everything that the view is made of.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The bubble.
    pub state: &'a BubbleState,
    /// The agents as the supervisor sees them; nothing if it has not said.
    pub seats: Option<&'a [SeatNow]>,
    /// What happened, newest last.
    pub story: &'a [TimelineRow],
    /// The time.
    pub now: Moment,
    /// Why the bubble is foreign, if it is: then only its record is shown.
    pub foreign: Option<&'a ForeignNotice>,
    /// What is wrong around the bubble.
    pub alarms: &'a [Alarm],
    /// Whether a supervisor runs that counts how long an agent is silent.
    pub supervised: bool,
    /// Whether the view is the session's own, which nobody leaves.
    pub pane: bool,
}

/// Something that is wrong around a bubble, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// What.
    pub what: String,
    /// The command that helps, if one does.
    pub next: Option<String>,
}

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

/// Returns in how many milliseconds the silence of the turn's holder becomes a question; nothing while no agent is waited
/// for. The later of what the log and what the supervisor has heard counts.
pub fn silence_left(scene: &Scene<'_>) -> Option<u64> {
    let (heard, limit) = scene.state.silence_ends(active(scene))?;
    Some(limit.saturating_sub(scene.now.since(heard)))
}

/// Returns after how many seconds the view shows something else, although nothing happened: each second counts only while
/// a count-down shows seconds.
pub fn pace(scene: &Scene<'_>) -> u64 {
    let seconds = |left: Option<u64>| scene.supervised && left.is_some_and(|left| left < HOUR);
    let counted = seconds(silence_left(scene)) || seconds(turn_left(scene));
    if counted && scene.foreign.is_none() { 1 } else { 10 }
}

/// Returns in how many milliseconds the present turn will have taken too long.
pub(super) fn turn_left(scene: &Scene<'_>) -> Option<u64> {
    let (since, limit) = scene.state.turn_ends()?;
    Some(limit.saturating_sub(scene.now.since(since)))
}

/// The last sign of life of the turn's holder that the supervisor knows of, as far as it is of this run of the machine.
fn active(scene: &Scene<'_>) -> Option<Moment> {
    let agent = &scene.state.phase.turn()?.agent;
    let seat = scene.seats?.iter().find(|seat| seat.agent == *agent)?;
    let up = seat.active.filter(|up| *up <= scene.now.up)?;
    let ago = i64::try_from(scene.now.up - up).unwrap_or(i64::MAX);
    Some(Moment { ts: Timestamp::from_millis(scene.now.ts.millis().saturating_sub(ago)), up })
}
