//! What a page about a bubble is made of: the log, what `verify` says of it, and the changes as git has them. Only reads.

use pairflow_core::ids::TreeId;
use pairflow_core::view::export::{Export, LogFacts, Patches, VerifiedClaim};

use crate::engine::{Bubble, EngineError};
use crate::git::{Git, diff_text};
use crate::verbs::verify;

/// The longest patch that is read, in bytes. A page shows less.
const LIMIT: usize = 2 * 1024 * 1024;

/// Gathers everything that a page about the bubble shows. Fails on any damage of the log, as `verify` does.
pub fn export(bubble: &Bubble) -> Result<Export, EngineError> {
    let report = verify(bubble)?;
    let mut facts = LogFacts::new(bubble.id.clone());
    bubble.log().visit(&mut |envelope| {
        // What was written since the log was checked is left to the next page.
        if envelope.seq <= report.envelopes {
            facts.step(&envelope);
        }
    })?;
    let verified = report.rows.into_iter().map(|row| {
        let problem = (!row.holds).then_some(row.problem);
        VerifiedClaim { what: row.what, problem }
    });
    let patches = patches(bubble, &facts);
    Ok(Export { lines: report.envelopes, head: report.head, verified: verified.collect(), patches, facts })
}

/// The changes; why they cannot be shown is part of the page.
fn patches(bubble: &Bubble, facts: &LogFacts) -> Patches {
    let state = facts.state();
    let (Some(record), Some(snapshot)) = (&state.evidence.workspace, &state.evidence.snapshot) else {
        return Patches::default();
    };
    let missing = |error: EngineError| Patches { missing: Some(error.to_string()), ..Patches::default() };
    let git = match bubble.workspace(state).and_then(|workspace| Ok(workspace.repo()?.git())) {
        Ok(git) => git,
        Err(error) => return missing(error),
    };
    let rounds = facts.rounds.list.iter().filter(|round| round.from != round.to);
    let rounds = rounds.map(|round| Ok((round.round, patch(&git, &round.from, &round.to)?)));
    let read = || -> Result<Patches, EngineError> {
        let whole = patch(&git, &record.base_tree, &snapshot.tree)?;
        Ok(Patches { whole, rounds: rounds.collect::<Result<_, EngineError>>()?, missing: None })
    };
    read().unwrap_or_else(missing)
}

fn patch(git: &Git, from: &TreeId, to: &TreeId) -> Result<String, EngineError> {
    Ok(String::from_utf8_lossy(&diff_text(git, from, to, LIMIT)?).into_owned())
}
