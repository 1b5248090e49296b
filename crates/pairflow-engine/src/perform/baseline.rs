//! Which checks are known to pass on a base, so that the next bubble that is cut from it does not wait for them again.
//!
//! Only what passed is remembered: what failed may have been repaired on this machine since.

use std::path::{Path, PathBuf};

use pairflow_core::bubble::BubbleState;
use pairflow_core::facts::{CheckPlace, Outcome, Receipt};
use pairflow_core::hash::sha256;

use super::bench::Errand;
use crate::checks::Checked;
use crate::engine::Bubble;

/// How many notes are kept at most.
const MOST: usize = 1_000;

/// Where it is remembered that a command passes on a tree.
pub(super) struct Known {
    note: PathBuf,
}

impl Known {
    /// The note about this command on this tree, after this setup command.
    pub(super) fn of(bubble: &Bubble, state: &BubbleState, errand: Errand<'_>) -> Self {
        let (setup, place) = (state.rules.setup.as_deref().unwrap_or_default(), state.rules.checks_in);
        let what = format!("{}\0{}\0{setup}\0{place:?}", errand.tree, errand.command);
        Self { note: bubble.engine.dirs.state.join("baselines").join(sha256(what.as_bytes())) }
    }

    /// Whether it passed.
    pub(super) fn passed(&self) -> bool {
        self.note.is_file()
    }

    /// Remembers a pass.
    pub(super) fn note(&self, receipt: &Receipt) {
        if receipt.outcome.passed() {
            // Without the note the check runs once more.
            let _ = self.note.parent().map(make_room);
            let _ = crate::regular::write(&self.note, "");
        }
    }
}

/// Makes the directory of notes, or empties it when there are many: most are about bases that nobody cuts from any more.
fn make_room(notes: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(notes)?;
    if std::fs::read_dir(notes)?.count() >= MOST {
        std::fs::remove_dir_all(notes)?;
        std::fs::create_dir_all(notes)?;
    }
    Ok(())
}

/// What comes of a check that is known to pass.
pub(super) fn passed_before(errand: Errand<'_>) -> Checked {
    let tail = "it passed on this tree before, so it was not run again".to_owned();
    let receipt = Receipt {
        check: errand.name.to_owned(),
        command: errand.command.to_owned(),
        tree: errand.tree.clone(),
        outcome: Outcome::Passed,
        duration_ms: 0,
        output: None,
        place: CheckPlace::Base,
        tail: tail.clone(),
    };
    Checked { receipt, output: format!("{tail}\n").into_bytes() }
}
