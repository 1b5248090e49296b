//! What a later supervisor wants to know of the programs, in a file. It can be deleted: then a notice that was still to
//! be typed waits for the watchdog, and nothing else is lost.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pairflow_core::ids::AgentId;

use super::overview;
use super::play::Play;
use super::seat::{Kept, Status};

impl Play {
    /// Where a later supervisor finds what this one knew of the programs.
    pub(super) fn kept_path(&self) -> PathBuf {
        self.bubble().control.runtime(&self.bubble().id).join("stage.json")
    }

    /// Takes over what an earlier supervisor knew.
    pub(super) fn remember(&mut self) {
        let Ok(text) = crate::regular::read_text(&self.kept_path()) else { return };
        let Ok(kept) = serde_json::from_str::<BTreeMap<AgentId, Kept>>(&text) else { return };
        for (agent, kept) in kept {
            let seat = self.seat(&agent);
            if seat.status == Status::Unknown {
                (seat.status, seat.kept) = (kept.status, kept);
            }
        }
    }

    /// Writes down what is known now, if it is anything new.
    pub(super) fn keep(&mut self) -> std::io::Result<()> {
        let kept: BTreeMap<_, _> = self.seats.iter().map(|(agent, seat)| (agent, &seat.kept)).collect();
        let json = serde_json::to_vec(&kept).expect("what is kept holds text and numbers only");
        if json != self.kept {
            overview::replace(&self.kept_path(), &json)?;
            self.kept = json;
        }
        Ok(())
    }
}
