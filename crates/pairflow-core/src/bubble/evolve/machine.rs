//! The bubble as a machine: what the store needs to keep its log.

use std::path::Path;

use crate::bubble::{BubbleState, StateFields};
use crate::ids::BubbleId;
use crate::log::envelope::{Machine, Places};
use crate::log::{Body, Envelope};

impl Machine for BubbleState {
    type Body = Body;
    type Shown = StateFields;

    const DIR: &'static str = "bubbles";
    const LOCK: &'static str = "lock";
    const CACHE_FORMAT: u32 = 8;

    fn new(id: BubbleId) -> Self {
        Self::new(id)
    }

    fn id(&self) -> &BubbleId {
        &self.id
    }

    fn advance(&mut self, envelope: &Envelope) {
        super::advance(self, envelope);
    }

    fn shown(&self) -> StateFields {
        StateFields::of(self)
    }

    fn place(&mut self, at: &Places<'_>) {
        let text = |path: &Path| path.display().to_string();
        if !self.about.repo.is_empty() {
            self.about.repo = text(at.repo);
        }
        let Some(record) = &mut self.evidence.workspace else { return };
        let clone = record.git_dir == record.common_dir;
        let common_dir = if clone { at.worktree.join(".git") } else { (at.common_dir)() };
        // The name that git has given to the worktree; the bubble's own if none is recorded.
        let name = Path::new(&record.git_dir).file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or(self.id.as_str());
        let git_dir = if clone { common_dir.clone() } else { common_dir.join("worktrees").join(name) };
        (record.path, record.common_dir, record.git_dir) = (text(at.worktree), text(&common_dir), text(&git_dir));
    }
}
