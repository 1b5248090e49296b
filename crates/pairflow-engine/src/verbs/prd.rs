//! The approved document that an implementation follows: found, and pinned by its hash.

use std::path::Path;

use pairflow_core::hash::sha256;
use pairflow_core::ids::BubbleId;
use pairflow_core::rules::{BubbleKind, Prd};
use pairflow_core::unit::Phase;

use crate::engine::{Engine, EngineError};
use crate::git::{Call, Repo};
use crate::perform::documents;

impl Engine {
    /// Finds what `source` names: a document bubble of `repo` that is approved, or a file of the base branch.
    pub fn prd(&self, repo: &Repo, source: &str, base: &str) -> Result<Prd, EngineError> {
        let bubble = source.parse::<BubbleId>().ok().and_then(|id| self.bubble(&repo.root, &id).ok());
        let documents = match bubble {
            Some(bubble) => of_bubble(&bubble)?,
            None => vec![of_file(repo, source, base)?],
        };
        Ok(Prd { source: source.to_owned(), documents })
    }
}

/// The documents of a bubble that a person approved.
fn of_bubble(bubble: &crate::engine::Bubble) -> Result<Vec<(String, String)>, EngineError> {
    let unit = bubble.load()?.unit;
    if unit.rules.kind != BubbleKind::Document {
        return Err(EngineError::Effect(format!(
            "bubble '{}' makes {}, not a document; name a bubble of `--kind document`, or a file",
            bubble.id, unit.rules.kind
        )));
    }
    let (Phase::Approved(_) | Phase::Committed(_) | Phase::Done(_)) = &unit.phase else {
        return Err(EngineError::Effect(format!(
            "the document of bubble '{}' is not approved; next: pairflow ok {}",
            bubble.id, bubble.id
        )));
    };
    let Some(tree) = unit.tree() else { return Err(none(bubble.id.as_str())) };
    let git = bubble.workspace(&unit)?.git();
    let pinned = documents(&unit).into_iter().map(|path| {
        let blob = git.run(Call::new(["cat-file", "blob", &format!("{tree}:{path}")]))?;
        Ok::<_, EngineError>((path, sha256(&blob.stdout)))
    });
    let pinned = pinned.collect::<Result<Vec<_>, _>>()?;
    if pinned.is_empty() { Err(none(bubble.id.as_str())) } else { Ok(pinned) }
}

/// A document that the base branch holds, so that somebody has taken it.
fn of_file(repo: &Repo, path: &str, base: &str) -> Result<(String, String), EngineError> {
    let plain = path.strip_prefix("artifact://").unwrap_or(path);
    let inside = Path::new(plain).strip_prefix(&repo.root).unwrap_or(Path::new(plain));
    let name = inside.to_string_lossy().trim_start_matches("./").to_owned();
    let blob = repo.git().run(Call::new(["cat-file", "blob", &format!("{base}:{name}")]));
    let unknown = |_| {
        EngineError::Effect(format!(
            "there is no bubble '{path}', and branch {base} has no file of that name; name an approved document bubble, \
             or a committed file"
        ))
    };
    let blob = blob.map_err(unknown)?;
    Ok((name, sha256(&blob.stdout)))
}

fn none(id: &str) -> EngineError {
    EngineError::Effect(format!("bubble '{id}' has no document; name the file with `--prd PATH`"))
}
