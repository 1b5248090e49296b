//! The configuration that is in force for a call, and how its mistakes are told.

use std::path::Path;

use pairflow_core::config::{ConfigErrors, Layer, Layers};
use pairflow_core::ids::BubbleId;
use pairflow_engine::config::{ConfigFiles, LoadError};

use crate::app::App;
use crate::exit::CommandError;

impl App {
    /// Reads every file that says something about the repository at `repo`, or one bubble of it, and puts the flags
    /// above them.
    pub fn layers(&self, repo: &Path, bubble: Option<&BubbleId>, flags: Layer) -> Result<Layers, CommandError> {
        let user = self.engine()?.dirs.config;
        let files = ConfigFiles { repo, user: Some(&user), bubble };
        files.load(flags).map_err(|error| match &error {
            LoadError::Invalid(errors) => errors.into(),
            other => CommandError::world(format_args!("{other}.")),
        })
    }
}

/// Tells every mistake with its file, its line and a mark below the wrong part.
impl From<&ConfigErrors> for CommandError {
    fn from(errors: &ConfigErrors) -> Self {
        let excerpts: Vec<_> = errors.0.iter().map(|error| error.excerpt().trim_end().to_owned()).collect();
        let text = excerpts.join("\n");
        // The word in front of the first one is added when the error is printed.
        Self::usage(text.strip_prefix("error: ").unwrap_or(&text))
    }
}
