//! What a person was notified of, remembered beside the bubble, so that a restarted supervisor does not repeat it. The file
//! may be deleted at any time; then what still waits is notified once more. Each channel runs in a thread of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pairflow_core::bubble::BubbleState;
use pairflow_core::view::inbox::{Announced, due_notification};

use super::channels::{NotificationJob, PersonEnv, play_sound, post_webhook, show_on_desktop};
use crate::engine::Bubble;
use crate::regular;

/// The notifications of one bubble.
#[derive(Debug, Default)]
pub(crate) struct Notifier {
    /// `None` until the bubble was looked at for the first time.
    told: Option<Announced>,
    channels: Channels,
}

impl Notifier {
    /// Notifies the person of what is new in the bubble, if its rules say so. Returns at once.
    pub(crate) fn look(&mut self, bubble: &Arc<Bubble>, state: &BubbleState, person: PersonEnv<'_>, say: &Say) {
        let now = Announced::all_of(state);
        let told = self.told.get_or_insert_with(|| read(bubble));
        if *told == now {
            return;
        }
        if let Some(notification) = due_notification(told, state).filter(|_| state.rules.notifications.enabled) {
            self.channels.tell(&NotificationJob::new(bubble, notification, &state.rules.notifications, person), say);
        }
        if let Err(error) = write(bubble, &now) {
            say(&format!("{}: cannot record the notification: {error}", bubble.id));
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
    // A bubble that was deleted meanwhile gets no file.
    if !bubble.dir().exists() {
        return Ok(());
    }
    std::fs::create_dir_all(bubble.control.runtime(&bubble.id))?;
    regular::write(&path(bubble), serde_json::to_vec(told)?)
}

/// Writes a line to the supervisor's log.
pub(super) type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// How many channels of one bubble may be busy at a time; further notifications are dropped.
const MOST_BUSY: usize = 8;

/// The notification threads of one bubble.
#[derive(Debug, Default)]
pub(super) struct Channels {
    busy: Arc<AtomicUsize>,
}

impl Channels {
    /// Notifies the person on every configured channel. Returns at once.
    pub(super) fn tell(&self, job: &NotificationJob, say: &Say) {
        if job.sound().is_some() {
            self.spawn("sound", job, play_sound, say);
        }
        if job.how.desktop {
            self.spawn("desktop", job, show_on_desktop, say);
        }
        // Whether there is a webhook is in files, which the thread reads.
        self.spawn("webhook", job, post_webhook, say);
    }

    fn spawn(&self, name: &str, job: &NotificationJob, way: fn(&NotificationJob) -> Result<(), String>, say: &Say) {
        let failed = format!("{}: the {name} notification failed", job.bubble.id);
        if self.busy.fetch_add(1, Ordering::SeqCst) >= MOST_BUSY {
            self.busy.fetch_sub(1, Ordering::SeqCst);
            return say(&format!("{failed}: earlier ones are still running"));
        }
        let (job, say_later, busy, failure) = (job.clone(), say.clone(), self.busy.clone(), failed.clone());
        let thread = std::thread::Builder::new().name(format!("tell-{name}")).spawn(move || {
            if let Err(why) = way(&job) {
                say_later(&format!("{failure}: {why}"));
            }
            busy.fetch_sub(1, Ordering::SeqCst);
        });
        if let Err(error) = thread {
            self.busy.fetch_sub(1, Ordering::SeqCst);
            say(&format!("{failed}: {error}"));
        }
    }
}
