//! What a person can do about a foreign bubble: adopt it, or remove it.

use pairflow_core::ids::BubbleId;
use pairflow_core::view::{ForeignNotice, quoted};

use crate::engine::{Bubble, EngineError};
use crate::git::Repo;
use crate::store::Foreign;

impl Bubble {
    /// Says why the bubble is foreign and what can be done about it; nothing if it is this user's.
    pub fn foreign_notice(&self) -> Result<Option<ForeignNotice>, EngineError> {
        Ok(self.foreign()?.map(|why| self.notice_of(&why)))
    }

    /// Says what can be done about a bubble that is foreign because of `why`.
    pub fn notice_of(&self, why: &Foreign) -> ForeignNotice {
        ForeignNotice { why: why.to_string(), adopt: adopting(&self.id, why), remove: self.removing(why) }
    }

    /// Returns the command lines that remove the bubble. `delete` is for one's own bubbles only, so whatever has no
    /// record, worktree or branch of this user's is removed as a plain directory.
    fn removing(&self, why: &Foreign) -> Vec<String> {
        let by_hand = |line: String| self.untracking().into_iter().chain([line]).collect();
        match why {
            Foreign::Linked { path } => by_hand(format!("rm {}", quoted(&path.display().to_string()))),
            Foreign::Unknown | Foreign::Copy { .. } | Foreign::OtherUser => {
                by_hand(format!("rm -r {}", quoted(&self.dir().display().to_string())))
            }
            Foreign::Moved { .. }
            | Foreign::RolledBack { .. }
            | Foreign::Replaced { .. }
            | Foreign::Forged { .. }
            | Foreign::KeyLost { .. } => {
                vec![format!("pairflow adopt {}", self.id), format!("pairflow delete {}", self.id)]
            }
        }
    }

    /// Returns the command line that has git forget `.pairflow`, if git tracks it: a checkout would bring it back.
    fn untracking(&self) -> Option<String> {
        let repo = Repo::locate(self.control.repo()).ok()?;
        let root = quoted(&repo.root.display().to_string());
        self.engine.tracks_control(&repo).then(|| format!("git -C {root} rm -r --cached .pairflow"))
    }
}

/// Returns the command line that makes a foreign bubble this user's; nothing where it cannot be adopted.
pub(super) fn adopting(id: &BubbleId, why: &Foreign) -> Option<String> {
    let adoptable = !matches!(why, Foreign::Linked { .. } | Foreign::OtherUser);
    adoptable.then(|| format!("pairflow adopt {id}"))
}
