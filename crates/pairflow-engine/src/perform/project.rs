//! Files made out of the log for people and agents to read. Each can be deleted and is written again.

use pairflow_core::unit::Unit;
use pairflow_core::view::messages;

use crate::engine::{Bubble, EngineError};

/// Writes the message files that are missing, and the brief of whoever has the turn.
pub fn write_projections(bubble: &Bubble, unit: &Unit) -> Result<(), EngineError> {
    let dir = bubble.dir().join("artifacts/messages");
    for envelope in bubble.log().envelopes()? {
        let Some(file) = messages::message_file(&envelope) else { continue };
        if !dir.join(&file.name).exists() {
            bubble.log().project_artifact(&format!("messages/{}", file.name), file.text.as_bytes())?;
        }
    }
    bubble.write_brief(unit)
}
