//! The bubble's log, told line by line as it grows.

use std::time::{Duration, Instant};

use pairflow_core::bubble::Phase;
use pairflow_core::ids::Party;
use pairflow_core::log::{Body, Envelope, Lifecycle};
use pairflow_core::safe::width;
use pairflow_core::time::Timestamp;
use pairflow_core::view::timeline::{TimelineRow, TimelineState};
use pairflow_engine::engine::Bubble;

use crate::commands::status::paint;
use crate::exit::CommandError;
use crate::out::{Line, Out, Paint};

/// How long a part of the story may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many columns stand before the text of a line.
const INDENT: usize = 22;
/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// A story that is being told.
pub(super) struct Story<'a> {
    bubble: &'a Bubble,
    state: TimelineState,
    told: u64,
    began: Option<Timestamp>,
    pause: Duration,
}

impl<'a> Story<'a> {
    /// Begins the story of `bubble`; `pause` passes before each line.
    pub(super) fn new(bubble: &'a Bubble, pause: Duration) -> Self {
        Self { bubble, state: TimelineState::new(bubble.id.clone()), told: 0, began: None, pause }
    }

    /// Tells what happens until the bubble is as `done` wants it. A bubble that needs help fails the demo.
    pub(super) fn follow(&mut self, out: &mut Out, done: fn(&Phase) -> bool) -> Result<(), CommandError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let head = self.bubble.load()?.head;
            let mut envelopes = self.bubble.log().envelopes().map_err(pairflow_engine::engine::EngineError::from)?;
            envelopes.retain(|envelope| envelope.seq > self.told);
            for envelope in &envelopes {
                self.tell(envelope, out)?;
            }
            let state = self.state.state();
            if done(&state.phase) {
                return Ok(());
            }
            if let Some(question) = state.gate.questions.first() {
                return Err(CommandError::world(format_args!(
                    "the demo stopped with a question: {}",
                    question.question
                )));
            }
            if state.phase.is_final() {
                return Err(CommandError::world(format_args!("the demo ended early, as {}.", state.phase.name())));
            }
            if Instant::now() >= until {
                let message = format!(
                    "nothing more happened within {} s; the bubble is {}.",
                    PATIENCE.as_secs(),
                    state.phase.name()
                );
                return Err(CommandError::world(message));
            }
            self.bubble.log().wait_past(&head, LOOK);
        }
    }

    fn tell(&mut self, envelope: &Envelope, out: &mut Out) -> Result<(), CommandError> {
        self.told = envelope.seq;
        let began = *self.began.get_or_insert(envelope.at.ts);
        let rows = self.state.step(envelope);
        if matches!(envelope.event.body, Body::Lifecycle(Lifecycle::TokenMinted { .. })) {
            return Ok(());
        }
        let agent = matches!(envelope.event.sender, Party::Agent(_));
        for row in rows {
            if row.kind.is_none() {
                out.line(format_args!(""))?;
            }
            std::thread::sleep(self.pause);
            line(&row, began, agent, out)?;
        }
        Ok(())
    }
}

fn line(row: &TimelineRow, began: Timestamp, agent: bool, out: &mut Out) -> Result<(), CommandError> {
    let millis = row.at.millis().saturating_sub(began.millis()).max(0);
    let at = format!("  {:>3}.{:02} s  ", millis / 1000, millis % 1000 / 10);
    // What only follows from a message is said by pairflow, no matter who sent the message.
    let who = if agent && row.kind.is_some() || row.who == "human" { Paint::Bold } else { Paint::Dim };
    let room = out.columns().map_or(usize::MAX, |columns| columns.saturating_sub(INDENT + 2).max(30));
    let mut start = Line::new().add(Paint::Dim, at).add(who, format!("{:<9} ", row.who));
    for part in wrapped(&row.what, room) {
        out.paint(&start.add(paint(row.tone), part))?;
        start = Line::new().plain(" ".repeat(INDENT));
    }
    out.flush()
}

/// Breaks a text at its spaces into lines of at most `room` columns.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a first line from the beginning");
        if last.is_empty() {
            last.push_str(word);
        } else if width(last).saturating_add(1 + width(word)) <= room {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_at_its_spaces() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one two three", usize::MAX), ["one two three"]);
        assert_eq!(wrapped("unbreakable is", 4), ["unbreakable", "is"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
