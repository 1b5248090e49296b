//! What still runs for a bubble: processes on record, and the server of its terminal.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pairflow_core::text::counted;

use crate::engine::Bubble;
use crate::process::{is_alive, records};
use crate::tmux::Tmux;

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(10);

/// What runs for a bubble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// How many programs.
    pub programs: usize,
    /// Whether its terminal has a server.
    pub server: bool,
}

impl Left {
    /// Whether nothing runs.
    pub fn is_nothing(self) -> bool {
        self.programs == 0 && !self.server
    }
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.programs, self.server) {
            (0, false) => f.write_str("nothing"),
            (0, true) => f.write_str("its tmux server"),
            (n, _) => f.write_str(&counted(n, "program")),
        }
    }
}

impl Bubble {
    /// Returns what runs for the bubble at this moment.
    pub fn left(&self) -> Left {
        // Records that cannot be read name nobody.
        let recorded = self.registries().into_iter().flat_map(|dir| records(&dir).unwrap_or_default());
        let server = Tmux::new(self.control.tmux_socket(&self.id), []).is_there();
        Left { programs: recorded.filter(is_alive).count(), server }
    }

    /// Whether anything is on record as running for the bubble; it may have ended with the machine.
    pub(crate) fn has_left(&self) -> bool {
        let recorded = |dir: PathBuf| records(&dir).is_ok_and(|left| !left.is_empty());
        // The socket goes last: the process that ends the server removes it when that is gone.
        self.registries().into_iter().any(recorded) || self.control.tmux_socket(&self.id).exists()
    }

    /// Waits until nothing is on record as running for the bubble, `patience` at most.
    pub(crate) fn wait_for_end(&self, patience: Duration) {
        let until = Instant::now() + patience;
        while self.has_left() && Instant::now() < until {
            std::thread::sleep(PAUSE);
        }
    }

    /// The directories with records of processes: one for checks and the like, and one for each pane.
    fn registries(&self) -> Vec<PathBuf> {
        let panes = std::fs::read_dir(self.control.runtime(&self.id).join("panes")).into_iter().flatten().flatten();
        std::iter::once(self.registry()).chain(panes.map(|pane| pane.path())).collect()
    }
}
