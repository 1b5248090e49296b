//! The ways to a person, each walked in a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::order::Order;
use super::{desktop, sound, webhook};

/// Where the supervisor tells what it does, a line at a time.
pub(super) type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// How many channels of one bubble may be busy at a time; what comes on top of that is left out.
const MOST_BUSY: usize = 8;

/// How a person is reached for one bubble.
#[derive(Debug, Default)]
pub(super) struct Channels {
    busy: Arc<AtomicUsize>,
}

impl Channels {
    /// Tells the person on every channel that the order names. Returns at once.
    pub(super) fn tell(&self, order: &Order, say: &Say) {
        if order.sound().is_some() {
            self.walk("sound", order, sound::play, say);
        }
        if order.how.desktop {
            self.walk("desktop", order, desktop::show, say);
        }
        // Whether there is a webhook stands in files, which are read where nobody waits for it.
        self.walk("webhook", order, webhook::post, say);
    }

    fn walk(&self, name: &str, order: &Order, way: fn(&Order) -> Result<(), String>, say: &Say) {
        let failed = format!("{}: the {name} notification failed", order.bubble.id);
        if self.busy.fetch_add(1, Ordering::SeqCst) >= MOST_BUSY {
            self.busy.fetch_sub(1, Ordering::SeqCst);
            return say(&format!("{failed}: earlier ones are still under way"));
        }
        let (order, say_later, busy, failure) = (order.clone(), say.clone(), self.busy.clone(), failed.clone());
        let thread = std::thread::Builder::new().name(format!("tell-{name}")).spawn(move || {
            if let Err(why) = way(&order) {
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
