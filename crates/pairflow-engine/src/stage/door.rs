//! How the supervisor talks to a stage.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::play::{Arrived, Cue, Play, Props};
use crate::engine::EngineError;

/// A bubble's session in the care of this process.
pub(crate) struct Stage {
    cues: Sender<Cue>,
    thread: JoinHandle<()>,
    arrived: Arrived,
    over: Arc<AtomicBool>,
    begun: Instant,
}

/// Says at the end of a thread that it is over, also when a panic ends it.
struct LastWord(Arc<AtomicBool>, Box<dyn Fn() + Send>);

impl Drop for LastWord {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        (self.1)();
    }
}

impl Stage {
    /// Begins to look after the session of a bubble.
    pub(crate) fn begin(mut props: Props) -> Result<Self, EngineError> {
        let (cues, heard) = channel();
        let own = cues.clone();
        let arrived = Arrived::default();
        let seen = arrived.clone();
        let over = Arc::new(AtomicBool::new(false));
        let last = LastWord(over.clone(), std::mem::replace(&mut props.over, Box::new(|| ())));
        let play = move || {
            let _last = last;
            Play::new(props, own, seen).run(&heard);
        };
        let thread = std::thread::Builder::new().name("stage".to_owned()).spawn(play);
        let thread = thread.map_err(|error| EngineError::io("cannot look after a session", error))?;
        Ok(Self { cues, thread, arrived, over, begun: Instant::now() })
    }

    /// Whether its thread has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// How long ago it began.
    pub(crate) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Tells it that the log has changed. A stage that has ended needs no telling.
    pub(crate) fn look(&self) {
        let _ = self.cues.send(Cue::Look);
    }

    /// Tells it in which environment agents are to be started from here on.
    pub(crate) fn person(&self, env: Vec<(String, String)>) {
        *self.arrived.lock().unwrap_or_else(PoisonError::into_inner) = Some(env);
        let _ = self.cues.send(Cue::Person);
    }

    /// Ends it, leaves the panes as they are, and returns how to wait for its end.
    pub(crate) fn leave(self) -> JoinHandle<()> {
        let _ = self.cues.send(Cue::Leave);
        self.thread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_thread_is_told_also_when_it_panics() {
        let (over, (told, heard)) = (Arc::new(AtomicBool::new(false)), channel());
        let last = LastWord(over.clone(), Box::new(move || told.send(()).unwrap()));
        let thread = std::thread::spawn(move || {
            let _last = last;
            panic!("a test of what comes after a panic");
        });
        heard.recv().unwrap();
        assert!(over.load(Ordering::SeqCst), "a caller that is told sees that it is over");
        assert!(thread.join().is_err());
    }
}
