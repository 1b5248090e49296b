//! How the person is told that something waits: `[notifications]` of a configuration, but for the webhook.
//!
//! The address of a webhook is a secret, and a log is never rid of what it holds. So it stays in the files.

use serde::{Deserialize, Serialize};

/// How the person is told that something waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notifications {
    /// Whether anything is sounded, shown or sent.
    pub enabled: bool,
    /// Whether the status view rings the terminal's bell when no sound can be played.
    pub bell: bool,
    /// Whether a notification appears on the desktop.
    pub desktop: bool,
    /// The sound file for a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_human_sound: Option<String>,
    /// The sound file for convergence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub converged_sound: Option<String>,
}

impl Default for Notifications {
    fn default() -> Self {
        Self { enabled: true, bell: true, desktop: false, waiting_human_sound: None, converged_sound: None }
    }
}
