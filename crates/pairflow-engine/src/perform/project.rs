//! Files made out of the log for people and agents to read. Each can be deleted and is written again.

use std::collections::BTreeSet;

use pairflow_core::bubble::BubbleState;
use pairflow_core::view::messages::{message_file, message_name};

use crate::engine::{Bubble, EngineError};
use crate::store::StoreError;

/// Writes the message files that are missing, the brief of the agent that has the turn, and what the others are told.
///
/// Returns how many slices of the change the holder of the turn has to confirm.
pub fn write_projections(bubble: &Bubble, state: &BubbleState) -> Result<u32, EngineError> {
    let dir = bubble.dir().join("artifacts/messages");
    let there: BTreeSet<String> = bubble.engine.disk.list_dir(&dir).map_err(StoreError::from)?.into_iter().collect();
    let mut written = Ok(());
    bubble.log().visit(&mut |envelope| {
        let missing = message_name(&envelope).is_some_and(|name| !there.contains(&name)) && written.is_ok();
        if let Some(file) = missing.then(|| message_file(&envelope)).flatten() {
            written = bubble.log().project_artifact(&format!("messages/{}", file.name), file.text.as_bytes());
        }
    })?;
    written?;
    bubble.write_briefings(state)?;
    bubble.write_brief(state)
}
