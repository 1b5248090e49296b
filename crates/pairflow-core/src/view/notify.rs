//! Which news of a bubble are worth a notification, and what it says: one clean line.
//!
//! News is what waits for a person now and did not wait before. How a person is told is not known here.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::bubble::{BubbleState, Phase, StateName};
use crate::ids::{BubbleId, Party};
use crate::safe::safe_line;
use crate::view::inbox::{InboxItem, ItemKind, inbox};

/// How many columns of a question or a reason are told.
const COLUMNS: usize = 300;

/// Something that a person should hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The bubble.
    pub bubble: BubbleId,
    /// What it is about.
    pub about: About,
    /// The whole of it, in one clean line.
    pub text: String,
    /// The bubble's state.
    pub state: StateName,
    /// What the person is asked, in one clean line, if it is a question.
    pub question: Option<String>,
}

/// What a notification is about; each has its own sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// A person is asked.
    WaitingHuman,
    /// The work has converged and waits for approval.
    Converged,
    /// The bubble has failed.
    Failed,
}

/// What a person has been told of one bubble, as far as it still holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Told {
    /// The names of the news.
    pub of: BTreeSet<String>,
}

impl Told {
    /// Returns everything that there is to tell of a bubble.
    pub fn all_of(state: &BubbleState) -> Self {
        let failed = matches!(state.phase, Phase::Failed { .. }).then(|| "failed".to_owned());
        Self { of: inbox(state).iter().map(name).chain(failed).collect() }
    }
}

/// Returns what is new since the person was `told`; several new questions are one notification.
pub fn news(told: &Told, state: &BubbleState) -> Option<Notification> {
    if let Phase::Failed { reason } = &state.phase {
        let text = format!("{} has failed: {}", state.id, safe_line(reason, COLUMNS));
        let notification = Notification {
            bubble: state.id.clone(),
            about: About::Failed,
            text,
            state: state.phase.name(),
            question: None,
        };
        return (Told::all_of(state) != *told).then_some(notification);
    }
    let items = inbox(state);
    let new: Vec<_> = items.iter().filter(|item| !told.of.contains(&name(item))).collect();
    let (first, more) = new.split_first()?;
    Some(of(state, first, more.len()))
}

/// Whether the status view rings the terminal's bell for what has changed from `before` to `after`.
pub fn rings(before: &BubbleState, after: &BubbleState) -> bool {
    let wanted = &after.rules.notifications;
    wanted.enabled && wanted.bell && news(&Told::all_of(before), after).is_some()
}

fn of(state: &BubbleState, item: &InboxItem, more: usize) -> Notification {
    let (id, question) = (&state.id, safe_line(&item.question, COLUMNS));
    let about = if item.kind == ItemKind::Approval { About::Converged } else { About::WaitingHuman };
    let said = match (&item.by, about) {
        (_, About::Converged) => format!("{id} has converged: {question}"),
        (Party::Agent(agent), _) => format!("{id}: {agent} asks: {question}"),
        _ => format!("{id} waits for you: {question}"),
    };
    let text = if more == 0 { said } else { format!("{said} (and {more} more)") };
    Notification { bubble: id.clone(), about, text, state: state.phase.name(), question: Some(question) }
}

/// The same tree can be up for approval twice, so its time belongs to the name.
fn name(item: &InboxItem) -> String {
    format!("{} {}", item.id, item.since)
}
