//! What a person can do about a foreign bubble: adopt it, or remove it.

use std::path::Path;

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
        ForeignNotice { why: why.to_string(), next: onward(&self.id, why), remove: self.removing(why) }
    }

    /// Returns the command lines that remove the bubble; none where the next step leaves it behind. `delete` is for one's
    /// own bubbles only, so what has no record, worktree or branch of this user's is removed as a plain directory.
    fn removing(&self, why: &Foreign) -> Vec<String> {
        match why {
            Foreign::Linked { .. } | Foreign::OtherUser { .. } => Vec::new(),
            Foreign::Unknown | Foreign::Copy { .. } => {
                let line = format!("rm -r {}", quoted(&self.dir().display().to_string()));
                self.untracking().into_iter().chain([line]).collect()
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

/// Returns the command line that goes on from a bubble that is foreign because of `why`.
pub(super) fn onward(id: &BubbleId, why: &Foreign) -> String {
    match why {
        // It leads to files of unknown origin, so it is moved away, never followed.
        Foreign::Linked { path } => {
            let path = path.display().to_string();
            format!("mv {} {}", quoted(&path), quoted(&format!("{path}.old")))
        }
        // Each user has bubbles in a clone of their own.
        Foreign::OtherUser { path } => {
            let control = path.ancestors().find(|dir| dir.ends_with(".pairflow"));
            let repo = control.and_then(Path::parent).unwrap_or(path).display().to_string();
            format!("git clone {} YOUR-CLONE", quoted(&repo))
        }
        _ => format!("pairflow adopt {id}"),
    }
}
