//! Approved documents that an implementation follows: found, copied, pinned by hash, and compared later.

use std::path::Path;

use pairflow_core::bubble::{BubbleState, Phase};
use pairflow_core::gates::document::criteria;
use pairflow_core::hash::sha256;
use pairflow_core::ids::BubbleId;
use pairflow_core::rules::{BubbleKind, Prd, PrdApproval};

use super::loop_verbs::wrong_state;
use crate::engine::{Bubble, Engine, EngineError};
use crate::git::{Git, GitCall, Repo};
use crate::perform::document_paths;
use crate::store::ArtifactError;

/// A document as it was approved.
pub(crate) struct PinnedDocument {
    path: String,
    bytes: Vec<u8>,
}

impl PinnedDocument {
    /// Returns its path and the SHA-256 of its content.
    pub(crate) fn pin(&self) -> (String, String) {
        (self.path.clone(), sha256(&self.bytes))
    }
}

impl Engine {
    /// Finds what `source` names: an approved document bubble of `repo`, or a file of the base branch, which is not approved
    /// yet.
    pub fn approved_documents(&self, repo: &Repo, source: &str, base: &str) -> Result<ApprovedDocuments, EngineError> {
        let bubble = source.parse::<BubbleId>().ok().and_then(|id| self.bubble(&repo.root, &id).ok());
        match bubble {
            Some(bubble) => Ok(ApprovedDocuments { all: of_bubble(&bubble)?, by_bubble: true }),
            None => Ok(ApprovedDocuments { all: vec![of_file(repo, source, base)?], by_bubble: false }),
        }
    }

    /// Pins what `prd` names if it was approved: by its bubble, or by the person, who confirmed these hashes.
    pub(crate) fn pin(
        &self,
        repo: &Repo,
        prd: &mut Prd,
        base: &str,
        confirmed: &[String],
    ) -> Result<Vec<PinnedDocument>, EngineError> {
        let found = self.approved_documents(repo, &prd.source, base)?;
        prd.documents = found.all.iter().map(PinnedDocument::pin).collect();
        if let Some((path, hash)) = prd.documents.iter().find(|(_, hash)| !found.by_bubble && !confirmed.contains(hash))
        {
            return Err(EngineError::BadInput(format!(
                "{path} with the SHA-256 {hash} is not approved; name an approved document bubble, or confirm it with \
                 `--prd-approved {hash}`"
            )));
        }
        prd.approved = Some(if found.by_bubble { PrdApproval::Bubble } else { PrdApproval::Person });
        Ok(found.all)
    }
}

/// What `--prd` names.
pub struct ApprovedDocuments {
    all: Vec<PinnedDocument>,
    /// Whether a bubble made them, and a person approved that.
    pub by_bubble: bool,
}

impl ApprovedDocuments {
    /// Returns the path and the SHA-256 of each.
    pub fn pins(&self) -> Vec<(String, String)> {
        self.all.iter().map(PinnedDocument::pin).collect()
    }

    /// Returns their acceptance criteria.
    pub fn criteria(&self) -> Vec<String> {
        criteria_of(&self.all)
    }
}

/// Returns the acceptance criteria of documents.
pub(crate) fn criteria_of(documents: &[PinnedDocument]) -> Vec<String> {
    let text = |one: &PinnedDocument| (one.path.clone(), String::from_utf8_lossy(&one.bytes).into_owned());
    criteria(&documents.iter().map(text).collect::<Vec<_>>())
}

impl Bubble {
    /// Copies pinned documents beside the log: neither the bubble's tree nor its base need to have them.
    pub(crate) fn copy_documents(&self, pinned: &[PinnedDocument]) -> Result<Vec<String>, EngineError> {
        let copy = |document: &PinnedDocument| {
            let name = Prd::artifact(&document.pin().1);
            self.artifacts().put(&name, &document.bytes)?;
            Ok(format!("artifact://{name}"))
        };
        pinned.iter().map(copy).collect()
    }

    /// Checks for each pinned document whether the copy is the approved one, and whether the work left it unchanged.
    pub(super) fn documents_hold(&self, state: &BubbleState) -> Vec<(String, Result<(), String>)> {
        let pinned = state.rules.prd.iter().flat_map(|prd| &prd.documents);
        let rows = pinned.flat_map(|(path, hash)| {
            let name = Prd::artifact(hash);
            let copy = match self.artifacts().check(&name) {
                // A deleted copy may still be found at its source.
                Err(ArtifactError::Missing { .. }) => self.found_elsewhere(state, path, hash),
                other => other.map_err(|error| error.to_string()),
            };
            let copied = (format!("document {path}: artifact://{name} is the approved one"), copy);
            [copied, (format!("document {path}: the work left it alone"), self.left_alone(state, path, hash))]
        });
        rows.collect()
    }

    /// Whether the base, or the bubble that it comes from, has the document that was pinned.
    fn found_elsewhere(&self, state: &BubbleState, path: &str, hash: &str) -> Result<(), String> {
        let mut found = Vec::new();
        if let (Some(git), Some(record)) = (self.git_of(state), &state.evidence.workspace) {
            let there = blob(&git, &record.base.0, path).map(|bytes| sha256(&bytes));
            found.extend(there.map(|hash| (format!("commit {}", record.base.short()), hash)));
        }
        let source = state.rules.prd.as_ref().and_then(|prd| prd.source.parse().ok());
        let source = source.and_then(|id: BubbleId| self.engine.bubble(self.control.repo(), &id).ok());
        for document in source.iter().flat_map(|source| of_bubble(source).unwrap_or_default()) {
            let (name, hash) = document.pin();
            found.extend((name == path).then(|| (format!("the bubble {}", source_name(state)), hash)));
        }
        if found.iter().any(|(_, there)| there == hash) {
            return Ok(());
        }
        let differing: Vec<_> = found.iter().map(|(place, there)| format!("{place} has one with {there}")).collect();
        let differing = if differing.is_empty() { String::new() } else { format!("; {}", differing.join(", ")) };
        Err(format!("the approved {path} with the SHA-256 {hash} is gone{differing}"))
    }

    /// Whether the newest snapshot has the document as the base has it, or as it was pinned.
    fn left_alone(&self, state: &BubbleState, path: &str, hash: &str) -> Result<(), String> {
        let (Some(git), Some(record), Some(snapshot)) =
            (self.git_of(state), &state.evidence.workspace, &state.evidence.snapshot)
        else {
            return Ok(());
        };
        let (before, now) = (blob(&git, &record.base_tree.0, path), blob(&git, &snapshot.tree.0, path));
        match &now {
            _ if now == before => Ok(()),
            Some(bytes) if sha256(bytes) == *hash => Ok(()),
            Some(bytes) => {
                let (tree, found) = (snapshot.tree.short(), sha256(bytes));
                Err(format!("tree {tree} has a {path} that was changed: its SHA-256 is {found}, and {hash} is pinned"))
            }
            None => Err(format!("tree {} has no {path} any more, which the base has", snapshot.tree.short())),
        }
    }

    fn git_of(&self, state: &BubbleState) -> Option<Git> {
        self.workspace(state).ok()?.repo().ok().map(|repo| repo.git())
    }
}

fn source_name(state: &BubbleState) -> &str {
    state.rules.prd.as_ref().map_or("", |prd| prd.source.as_str())
}

fn blob(git: &Git, treeish: &str, path: &str) -> Option<Vec<u8>> {
    git.run(GitCall::new(["cat-file", "blob", &format!("{treeish}:{path}")])).ok().map(|blob| blob.stdout)
}

/// Returns the documents of an approved bubble.
fn of_bubble(bubble: &Bubble) -> Result<Vec<PinnedDocument>, EngineError> {
    let state = bubble.load()?.state;
    if state.rules.kind != BubbleKind::Document {
        return Err(EngineError::BadInput(format!(
            "bubble '{}' makes {}, not a document; name a bubble of `--kind document`, or a file",
            bubble.id, state.rules.kind
        )));
    }
    let (Phase::Approved(_) | Phase::Committed(_) | Phase::Done(_)) = &state.phase else {
        return Err(bubble.refuse_person(wrong_state(&state, "--prd", "its document is not approved")));
    };
    let Some(tree) = state.tree() else { return Err(none(bubble.id.as_str())) };
    let git = bubble.workspace(&state)?.repo()?.git();
    let pinned = document_paths(&state).into_iter().map(|path| {
        let blob = git.run(GitCall::new(["cat-file", "blob", &format!("{tree}:{path}")]))?;
        Ok::<_, EngineError>(PinnedDocument { path, bytes: blob.stdout })
    });
    let pinned = pinned.collect::<Result<Vec<_>, _>>()?;
    if pinned.is_empty() { Err(none(bubble.id.as_str())) } else { Ok(pinned) }
}

/// Returns a document of the base branch.
fn of_file(repo: &Repo, path: &str, base: &str) -> Result<PinnedDocument, EngineError> {
    let plain = path.strip_prefix("artifact://").unwrap_or(path);
    let inside = Path::new(plain).strip_prefix(&repo.root).unwrap_or(Path::new(plain));
    let name = inside.to_string_lossy().trim_start_matches("./").to_owned();
    let blob = repo.git().run(GitCall::new(["cat-file", "blob", &format!("{base}:{name}")]));
    let unknown = |_| {
        EngineError::Effect(format!(
            "there is no bubble '{path}', and branch {base} has no file of that name; name an approved document bubble, \
             or a committed file"
        ))
    };
    let blob = blob.map_err(unknown)?;
    Ok(PinnedDocument { path: name, bytes: blob.stdout })
}

fn none(id: &str) -> EngineError {
    EngineError::BadInput(format!("bubble '{id}' has no document; name the file with `--prd PATH`"))
}
