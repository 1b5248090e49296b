//! What a stage cannot do.

use crate::engine::EngineError;
use crate::tmux::TmuxError;

/// Why a step of a stage failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StageError {
    /// The terminal.
    #[error(transparent)]
    Tmux(#[from] TmuxError),
    /// The log, or an agent that cannot be started.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A file or a socket.
    #[error("{what}: {source}")]
    World {
        /// What was tried.
        what: String,
        /// What came of it.
        source: std::io::Error,
    },
}

impl StageError {
    /// Names what was tried with a file or a socket.
    pub(super) fn world(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::World { what, source }
    }
}
