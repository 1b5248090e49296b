//! Pays what is owed now, in this process, and ends.

use std::path::Path;
use std::time::Duration;

use pairflow_core::bubble::Command;

use super::activity::last_seen;
use crate::engine::{Bubble, Engine, EngineError};
use crate::perform::{Care, Settled, settle};
use crate::process::Cancel;
use crate::store::StoreError;

/// A bubble's name, and how far its debts are paid or why they are not; nothing if another process looks after it.
pub type Outcome = (String, Result<Option<Settled>, EngineError>);

/// Settles every bubble of the repository at `repo` once. One bad bubble does not keep the others waiting.
pub fn once(engine: &Engine, repo: &Path) -> Result<Vec<Outcome>, EngineError> {
    let cancel = Cancel::new().map_err(|error| EngineError::io("cannot make a pipe", error))?;
    let mut results = Vec::new();
    for listed in engine.list(repo)? {
        let id = listed.bubble.id.to_string();
        if let Some(why) = listed.foreign {
            let foreign = StoreError::Foreign { id: listed.bubble.id.clone(), why };
            results.push((id, Err(foreign.into())));
            continue;
        }
        match listed.state {
            Ok(state) if state.phase.is_final() => {}
            Ok(_) => results.push((id, in_care(&listed.bubble, &cancel))),
            Err(error) => results.push((id, Err(error))),
        }
    }
    Ok(results)
}

fn in_care(bubble: &Bubble, cancel: &Cancel) -> Result<Option<Settled>, EngineError> {
    let Some(_care) = Care::take(bubble, Duration::ZERO)? else { return Ok(None) };
    let active = last_seen(bubble, &bubble.load()?.state);
    bubble.apply(&Command::Tick { active })?;
    settle(bubble, cancel).map(Some)
}
