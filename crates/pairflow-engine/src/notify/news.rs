//! What a person was told of one bubble: remembered beside it, so that a supervisor that is started again does not
//! tell it twice. The file can be deleted at any time; then what still waits is told once more.

use std::path::PathBuf;
use std::sync::Arc;

use pairflow_core::bubble::BubbleState;
use pairflow_core::view::inbox::{Announced, due_notification};

use super::channel::{Channels, Say};
use super::order::{Order, Person};
use crate::engine::Bubble;
use crate::regular;

/// The news of one bubble.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Nothing until the bubble was looked at for the first time.
    told: Option<Announced>,
    channels: Channels,
}

impl News {
    /// Tells `person` what is new in the bubble, if its rules say so. Returns at once.
    pub(crate) fn look(&mut self, bubble: &Arc<Bubble>, state: &BubbleState, person: Person<'_>, say: &Say) {
        let now = Announced::all_of(state);
        let told = self.told.get_or_insert_with(|| read(bubble));
        if *told == now {
            return;
        }
        if let Some(notification) = due_notification(told, state).filter(|_| state.rules.notifications.enabled) {
            self.channels.tell(&Order::new(bubble, notification, &state.rules.notifications, person), say);
        }
        if let Err(error) = write(bubble, &now) {
            say(&format!("{}: cannot note what its person was told: {error}", bubble.id));
        }
        self.told = Some(now);
    }
}

fn path(bubble: &Bubble) -> PathBuf {
    bubble.control.runtime(&bubble.id).join("told.json")
}

fn read(bubble: &Bubble) -> Announced {
    let bytes = regular::read(&path(bubble)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn write(bubble: &Bubble, told: &Announced) -> std::io::Result<()> {
    // Nothing is left behind for a bubble that was deleted meanwhile.
    if !bubble.dir().exists() {
        return Ok(());
    }
    std::fs::create_dir_all(bubble.control.runtime(&bubble.id))?;
    regular::write(&path(bubble), serde_json::to_vec(told)?)
}
