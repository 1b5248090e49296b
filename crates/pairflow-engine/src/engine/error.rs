//! How a command can fail. Each kind has its own exit code.

use std::path::PathBuf;

use pairflow_core::bubble::{Refusal, RefusedCaller, Unseen};
use pairflow_core::config::ConfigErrors;
use pairflow_core::ids::BubbleId;

use crate::git::GitError;
use crate::store::StoreError;
use crate::workspace::WorkspaceError;

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Refused by the rules.
    #[error("{refusal}")]
    Refused {
        /// Which bubble.
        id: BubbleId,
        /// Who asked.
        caller: RefusedCaller,
        /// Why.
        refusal: Box<Refusal>,
    },
    /// No such bubble.
    #[error("there is no bubble '{id}' in {}", .repo.display())]
    NoBubble {
        /// The name.
        id: BubbleId,
        /// Where it was looked for.
        repo: PathBuf,
    },
    /// The id is taken.
    #[error("a bubble '{id}' already exists in {}", .repo.display())]
    Exists {
        /// The name.
        id: BubbleId,
        /// Where.
        repo: PathBuf,
        /// Whether someone else made it while this command was at it.
        raced: bool,
    },
    /// There is nothing to show.
    #[error(transparent)]
    Unseen(#[from] Unseen),
    /// The caller could not prove who it is.
    #[error("{0}")]
    NotProven(String),
    /// Invalid input.
    #[error("{0}")]
    BadInput(String),
    /// The configuration is wrong.
    #[error("the configuration cannot be used")]
    Config(#[from] ConfigErrors),
    /// The log failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The workspace failed.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// An artifact could not be used.
    #[error(transparent)]
    Artifact(#[from] crate::store::ArtifactError),
    /// An effect failed; the bubble records that, too.
    #[error("{0}")]
    Effect(String),
    /// An I/O error.
    #[error("{what}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl EngineError {
    /// Makes an error out of what the system said when `what` was tried.
    pub fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }
}

/// Returns an error with its causes, each once, as one sentence.
pub fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = next.source();
    }
    text
}
