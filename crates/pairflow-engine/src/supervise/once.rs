//! Pays what is owed now, in this process, and ends.

use std::path::Path;

use pairflow_core::unit::Command;

use crate::engine::{Engine, EngineError};
use crate::perform::{Settled, settle};
use crate::process::Cancel;

/// A bubble's name, and how far its debts are paid or why they are not.
pub type Outcome = (String, Result<Settled, EngineError>);

/// Settles every bubble of the repository at `repo` once. One bad bubble does not keep the others waiting.
pub fn once(engine: &Engine, repo: &Path) -> Result<Vec<Outcome>, EngineError> {
    let cancel = Cancel::new().map_err(|error| EngineError::world("cannot make a pipe", error))?;
    let mut results = Vec::new();
    for listed in engine.list(repo)? {
        let id = listed.bubble.id.to_string();
        match listed.unit {
            Ok(unit) if unit.phase.is_final() => {}
            Ok(_) => {
                let settled = listed.bubble.apply(&Command::Tick).and_then(|_| settle(&listed.bubble, &cancel));
                results.push((id, settled));
            }
            Err(error) => results.push((id, Err(error))),
        }
    }
    Ok(results)
}
