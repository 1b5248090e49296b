//! A failed command as its caller sees it: exit code, sentence, and the next command. It can be sent over a socket.

use std::path::Path;

use pairflow_core::bubble::{BubbleState, Refusal};
use pairflow_core::ids::BubbleId;
use pairflow_core::rules::DriverKind;
use pairflow_core::view::waiting::line_that_waits;
use pairflow_core::view::{ForeignNotice, quoted};
use serde::{Deserialize, Serialize};

use crate::engine::{Bubble, EngineError, sentence};
use crate::git::{GitError, GitHead, Repo, head};
use crate::store::{Foreign, StoreError};
use crate::workspace::{Location, locate};

/// Refused by the rules.
const REFUSED: u8 = 1;
/// An I/O error.
const IO_ERROR: u8 = 3;
/// Lost a race.
const LOST_RACE: u8 = 4;
/// The log is damaged.
const LOG_DAMAGED: u8 = 5;

/// Why a command failed, with the message and the exit code that its caller gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Denial {
    /// The exit code of the calling process.
    pub exit: u8,
    /// What went wrong, as a sentence.
    pub message: String,
    /// The next command to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Denial {
    /// Makes a refusal.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { exit: REFUSED, message: message.into(), next: None }
    }

    /// Makes the refusal for an agent of bubble `own` that named another bubble.
    pub fn other_bubble(own: &str, named: &str) -> Self {
        Self::refused(format!("this agent works in bubble {own}, not in '{named}'."))
            .next(format!("pairflow status {own}"))
    }

    /// Makes the denial for an agent that is run by `driver`. One that gets no notices is told how to wait.
    pub fn to_agent(driver: DriverKind, error: &EngineError) -> Self {
        let denial = Self::from(error);
        match error {
            EngineError::Refused { refusal, id, .. } if driver == DriverKind::External => {
                Self { next: line_that_waits(refusal, id).or(denial.next), ..denial }
            }
            _ => denial,
        }
    }

    /// Adds the next command to run.
    pub fn next(self, command: String) -> Self {
        Self { next: Some(command), ..self }
    }
}

impl From<&EngineError> for Denial {
    fn from(error: &EngineError) -> Self {
        match error {
            EngineError::Refused { id, caller, refusal } => {
                let exit = if matches!(**refusal, Refusal::LostRace(_)) { LOST_RACE } else { REFUSED };
                Self { exit, message: format!("{id}: {refusal}"), next: refusal.next(id, *caller) }
            }
            EngineError::NoBubble { .. } => Self::refused(error.to_string()).next("pairflow list".to_owned()),
            EngineError::Exists { id, raced, .. } => {
                let exit = if *raced { LOST_RACE } else { REFUSED };
                Self { exit, message: error.to_string(), next: Some(format!("pairflow status {id}")) }
            }
            EngineError::Unseen(unseen) => Self::refused(unseen.to_string()).next(unseen.next()),
            EngineError::NotProven(_) | EngineError::BadInput(_) => Self::refused(error.to_string()),
            EngineError::Store(store) => of_store(store, error),
            EngineError::Git(GitError::TooOld { .. }) => {
                Self { exit: IO_ERROR, message: sentence(error), next: Some("pairflow doctor".to_owned()) }
            }
            EngineError::Git(GitError::NotARepository { .. }) => {
                Self::refused(sentence(error)).next("cd YOUR-PROJECT".to_owned())
            }
            EngineError::Git(git) if is_refusal(git) => Self::refused(sentence(error)),
            _ => Self { exit: IO_ERROR, message: sentence(error), next: None },
        }
    }
}

impl Bubble {
    /// Refuses an agent of this bubble that calls from the worktree of another bubble, or from the person's own checkout,
    /// where its work would not count.
    pub fn misplaced(&self, state: &BubbleState, cwd: &Path) -> Option<Denial> {
        if state.evidence.workspace.as_ref().is_some_and(|own| cwd.starts_with(&own.path)) {
            return None;
        }
        let Ok(Location { repo, bubble }) = locate(cwd) else { return None };
        let here = repo.root == self.control.repo();
        match bubble {
            Some(other) if other == self.id && here => None,
            Some(other) => Some(elsewhere(&self.id, state, cwd, &format!("bubble {other}"))),
            // Where there is no worktree to go to, its absence is what has to be told.
            None if here && state.evidence.workspace.as_ref().is_some_and(|own| Path::new(&own.path).is_dir()) => {
                Some(elsewhere(&self.id, state, cwd, "the person's own checkout"))
            }
            None => None,
        }
    }

    /// Says why the bubble is foreign and what can be done about it; nothing if it is this user's.
    pub fn foreign_notice(&self) -> Result<Option<ForeignNotice>, EngineError> {
        Ok(self.foreign()?.map(|why| self.notice_of(&why)))
    }

    /// Says what can be done about a bubble that is foreign because of `why`.
    pub fn notice_of(&self, why: &Foreign) -> ForeignNotice {
        ForeignNotice { why: why.to_string(), next: next_command(&self.id, why), remove: self.removing(why) }
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

fn elsewhere(id: &BubbleId, state: &BubbleState, cwd: &Path, other: &str) -> Denial {
    let message = format!("this agent works in bubble {id}, but {} belongs to {other}", cwd.display());
    let own = state.evidence.workspace.as_ref().map(|own| own.path.as_str()).unwrap_or_default();
    Denial::refused(message).next(format!("cd '{}'", own.replace('\'', "'\\''")))
}

/// Whether the error is a refusal, not a failure of git.
fn is_refusal(git: &GitError) -> bool {
    matches!(
        git,
        GitError::Bare { .. }
            | GitError::Empty { .. }
            | GitError::Reftable { .. }
            | GitError::OddPath { .. }
            | GitError::NoMainCheckout { .. }
            | GitError::UnknownBranch { .. }
            | GitError::EmptyMessage
            | GitError::Dirty { .. }
            | GitError::NotOnBranch { .. }
    )
}

/// Returns the command line that creates a bubble from the branch of another one's worktree.
fn create_command(worktree: Option<&Path>) -> String {
    let head = worktree.and_then(|path| Repo::locate(path).ok()).map(|repo| head(&repo.git_dir));
    match head {
        Some(GitHead::Branch(branch)) => format!("pairflow create --base {}", quoted(&branch)),
        _ => "pairflow create".to_owned(),
    }
}

fn of_store(store: &StoreError, error: &EngineError) -> Denial {
    let exit = match store {
        StoreError::Damaged { .. }
        | StoreError::Torn { .. }
        | StoreError::Unterminated { .. }
        | StoreError::Gone { .. } => LOG_DAMAGED,
        StoreError::Missing { .. }
        | StoreError::Exists { .. }
        | StoreError::Foreign { .. }
        | StoreError::OtherFormat { .. }
        | StoreError::StateShared { .. }
        | StoreError::StateOfOther { .. }
        | StoreError::TooLarge { .. } => REFUSED,
        StoreError::Changed { .. } => LOST_RACE,
        _ => IO_ERROR,
    };
    let next = match store {
        StoreError::Gone { .. } => Some("pairflow doctor".to_owned()),
        StoreError::StateOfOther(path) | StoreError::StateNotDirectory(path) => {
            Some(format!("ls -ld {}", quoted(&path.display().to_string())))
        }
        StoreError::Foreign { id, why } => Some(next_command(id, why)),
        StoreError::Changed(id) => Some(format!("pairflow adopt {id}")),
        StoreError::OtherFormat { found, read, worktree, .. } => {
            (found < read).then(|| create_command(worktree.as_deref()))
        }
        StoreError::StateShared(path) => Some(format!("chmod go-w {}", quoted(&path.display().to_string()))),
        _ if exit == LOG_DAMAGED => Some("pairflow doctor --repair".to_owned()),
        _ => None,
    };
    Denial { exit, message: sentence(error), next }
}

/// Returns the command line that goes on from a bubble that is foreign because of `why`.
pub(super) fn next_command(id: &BubbleId, why: &Foreign) -> String {
    match why {
        // It leads to files of unknown origin, so it is moved away, never followed.
        Foreign::Linked(path) => {
            let path = path.display().to_string();
            format!("mv {} {}", quoted(&path), quoted(&format!("{path}.old")))
        }
        // Each user has bubbles in a clone of their own.
        Foreign::OtherUser(path) => {
            let control = path.ancestors().find(|dir| dir.ends_with(".pairflow"));
            let repo = control.and_then(Path::parent).unwrap_or(path).display().to_string();
            format!("git clone {} YOUR-CLONE", quoted(&repo))
        }
        _ => format!("pairflow adopt {id}"),
    }
}
