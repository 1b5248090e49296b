//! Recomputes what the log claims, offline: chain, state, artifacts, documents, snapshots, verdicts, certificate, commit.

use std::collections::BTreeSet;
use std::time::Duration;

use pairflow_core::bubble::{
    BubbleState, Phase, Recomputed, Unfounded, VerdictStand, evolve, recompute, recompute_verdicts,
};
use pairflow_core::facts::Certificate;
use pairflow_core::hash::sha256;
use pairflow_core::log::seal::SealState;
use pairflow_core::log::{Body, Envelope, Evidence, Lifecycle};
use serde::Serialize;

use crate::engine::{Bubble, EngineError};
use crate::git::{Git, GitCall, same_change};
use crate::store::{ArtifactError, CacheCondition, Foreign, StoreError, Verified};

/// What `verify` found.
#[derive(Debug, Clone, Serialize)]
pub struct VerifyReport {
    /// The bubble.
    pub bubble_id: String,
    /// How many lines the log has.
    pub envelopes: u64,
    /// The hash of its last line, which stands for all of it.
    pub head: String,
    /// What its seals are worth.
    pub seal: SealResult,
    /// What was accepted; nothing before acceptance.
    pub certificate: Option<Certificate>,
    /// What was looked at.
    pub rows: Vec<VerifyRow>,
    /// The answer as a whole: the weakest of the rows.
    pub answer: VerifyAnswer,
    /// Whether everything was checked and holds.
    pub holds: bool,
}

/// What a check came to. Ordered: the weakest answer is the maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyAnswer {
    /// It was checked and holds.
    Holds,
    /// Nothing wrong was found, but it cannot be checked here.
    Unchecked,
    /// It does not hold.
    Wrong,
}

/// Who wrote a log, as far as its seals tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SealResult {
    /// This user's pairflow.
    Own,
    /// A pairflow with another key, which cannot be checked here.
    OtherKey,
    /// It has no seal.
    Unsealed,
    /// It was changed after it was sealed.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct VerifyRow {
    /// What.
    pub what: String,
    /// What the check came to.
    pub answer: VerifyAnswer,
    /// Whether it was checked and holds.
    pub holds: bool,
    /// What is wrong; empty if nothing is.
    pub problem: String,
}

/// Checks everything that the bubble's log claims. Only reads.
pub fn verify(bubble: &Bubble) -> Result<VerifyReport, EngineError> {
    let verified = bubble.log().verify()?;
    let mut envelopes = bubble.log().envelopes()?;
    // What was written since the log was checked is left to the next check.
    envelopes.truncate(usize::try_from(verified.envelopes).unwrap_or(usize::MAX));
    let mut rows = vec![row("log: chain, checksums and numbers", Ok(()))];
    let (seal, told) = seal(bubble)?;
    rows.push(told);
    rows.push(ownership(bubble)?);
    rows.extend(bubble.log().set_aside().iter().map(|path| {
        let path = path.display();
        row(format!("log: it was damaged once, and a repair dropped lines; the damaged log is kept in {path}"), Ok(()))
    }));
    rows.push(cached_state(bubble, &verified, &envelopes));
    rows.extend(artifacts(bubble, &envelopes));
    rows.extend(bubble.documents_hold(&verified.state).into_iter().map(|(what, result)| row(what, result)));
    rows.extend(snapshots(bubble, &verified.state, &envelopes));
    rows.extend(kept_reviews(bubble, &verified.state, &envelopes));
    rows.extend(verdicts(&envelopes, bubble));
    rows.extend(certificate(&envelopes, bubble));
    rows.extend(package(bubble, &verified.state));
    rows.extend(commit(bubble, &verified.state));
    let answer = rows.iter().map(|row| row.answer).max().unwrap_or(VerifyAnswer::Unchecked);
    Ok(VerifyReport {
        bubble_id: bubble.id.to_string(),
        envelopes: verified.envelopes,
        head: verified.hash.to_string(),
        seal,
        certificate: verified.state.gate.certificate.clone(),
        rows,
        answer,
        holds: answer == VerifyAnswer::Holds,
    })
}

fn row(what: impl Into<String>, result: Result<(), String>) -> VerifyRow {
    let answer = if result.is_ok() { VerifyAnswer::Holds } else { VerifyAnswer::Wrong };
    VerifyRow { what: what.into(), answer, holds: result.is_ok(), problem: result.err().unwrap_or_default() }
}

/// A row about something that cannot be checked here.
fn unchecked(what: impl Into<String>) -> VerifyRow {
    VerifyRow { what: what.into(), answer: VerifyAnswer::Unchecked, holds: false, problem: String::new() }
}

/// Says who wrote the log since it was created or last adopted.
fn seal(bubble: &Bubble) -> Result<(SealResult, VerifyRow), EngineError> {
    let Some(key) = bubble.engine.registry().key().map_err(StoreError::from)? else {
        let what = "seal: there is no key in your state directory, so it cannot be checked here who wrote the log";
        return Ok((SealResult::OtherKey, unchecked(what)));
    };
    let (judged, before) = bubble.log().seals(&key)?;
    let earlier =
        if before > 0 { format!("; {before} appends before it was adopted do not count") } else { String::new() };
    Ok(match judged.worst {
        SealState::Own => (SealResult::Own, row(format!("seal: sealed by you{earlier}"), Ok(()))),
        SealState::OtherKey => {
            let what = format!("seal: sealed with another key, which cannot be checked here{earlier}");
            (SealResult::OtherKey, unchecked(what))
        }
        SealState::Unsealed => (
            SealResult::Unsealed,
            unchecked(format!("seal: not sealed, so it cannot be checked who wrote it{earlier}")),
        ),
        SealState::Broken => {
            let broken = "lines were changed or added after it was sealed".to_owned();
            (SealResult::Broken, row(format!("seal: sealed by you{earlier}"), Err(broken)))
        }
    })
}

/// Compares the log with what this machine has on record of it.
fn ownership(bubble: &Bubble) -> Result<VerifyRow, EngineError> {
    let what = "record: the log is the one that this machine knows";
    Ok(match bubble.foreign()? {
        None => row(what, Ok(())),
        Some(why @ (Foreign::RolledBack { .. } | Foreign::Replaced { .. } | Foreign::Forged { .. })) => {
            row(what, Err(why.to_string()))
        }
        Some(why) => unchecked(format!("record: the bubble is foreign, because {why}")),
    })
}

/// `state.json` says what the log says, as far as it goes. One that is absent or old is no fault: the log is the truth.
fn cached_state(bubble: &Bubble, verified: &Verified, envelopes: &[Envelope]) -> VerifyRow {
    let agrees = "state: state.json agrees with the log";
    let wrong = |why: &str| {
        let id = &bubble.id;
        row(
            agrees,
            Err(format!("{why}; pairflow does not use it and writes it anew from the log: pairflow status {id}")),
        )
    };
    let (seq, state) = match bubble.log().state_file() {
        Ok(CacheCondition::Absent) => return row("state: state.json is not there; it is rebuilt from the log", Ok(())),
        Ok(CacheCondition::OtherVersion) => {
            return row("state: state.json is of another version of pairflow; it is rebuilt from the log", Ok(()));
        }
        Ok(CacheCondition::NotYours) if !bubble.foreign().is_ok_and(|foreign| foreign.is_none()) => {
            return row("state: state.json was not written by your pairflow; it is not used", Ok(()));
        }
        Ok(CacheCondition::NotYours) => return wrong("it was not written by your pairflow"),
        Ok(CacheCondition::Wrong(why)) => return wrong(why),
        Ok(CacheCondition::Says { seq, state }) => (seq, state),
        Err(error) => return row(agrees, Err(error.to_string())),
    };
    if seq > verified.envelopes {
        // The log was checked first, so it may have grown since; then it has this line now.
        let grown = bubble.load().is_ok_and(|loaded| loaded.head.seq >= seq);
        return if grown { row(agrees, Ok(())) } else { wrong("it knows more lines than the log has") };
    }
    let told = usize::try_from(seq).map_or(envelopes, |seq| &envelopes[..seq.min(envelopes.len())]);
    let mut told = told.iter().fold(BubbleState::new(bubble.id.clone()), evolve);
    let mut cached = state;
    // Where the files are is never taken from either.
    [&mut told, &mut *cached].into_iter().for_each(|state| bubble.log().set_locations(state));
    if told != *cached {
        return wrong("it does not say what the log says");
    }
    let older = seq < verified.envelopes;
    row(if older { "state: state.json is older than the log; it is rebuilt from the log" } else { agrees }, Ok(()))
}

/// Every artifact that a line names with its hash still has it.
fn artifacts(bubble: &Bubble, envelopes: &[Envelope]) -> Vec<VerifyRow> {
    let mut names: Vec<&str> = Vec::new();
    for envelope in envelopes {
        names.extend(envelope.event.refs.iter().map(String::as_str));
        match &envelope.event.body {
            Body::Evidence(Evidence::Receipt { receipt } | Evidence::Reproduced { receipt, .. }) => {
                names.extend(receipt.output.as_deref())
            }
            Body::Evidence(Evidence::Snapshot { snapshot }) => {
                let lists = snapshot.whole.iter().flat_map(|whole| [&whole.changed.list, &whole.since_last.list]);
                names.extend(lists.map(String::as_str));
            }
            Body::Lifecycle(Lifecycle::WorkspaceReady { workspace }) => {
                names.extend(workspace.setup.iter().filter_map(|setup| setup.output.as_deref()));
            }
            _ => {}
        }
    }
    let hashed = ["artifact://checks/", "artifact://text/", "artifact://files/"];
    names.retain(|name| hashed.iter().any(|kind| name.starts_with(kind)));
    names.sort_unstable();
    names.dedup();
    let check = |name: &str| bubble.artifacts().check(name.trim_start_matches("artifact://"));
    names.iter().map(|name| row(format!("artifact {name}"), check(name).map_err(|error| error.to_string()))).collect()
}

/// Every snapshot's ref holds the tree that the log names.
fn snapshots(bubble: &Bubble, state: &BubbleState, envelopes: &[Envelope]) -> Vec<VerifyRow> {
    let Ok(workspace) = bubble.workspace(state) else { return Vec::new() };
    let Ok(git) = workspace.repo().map(|repo| repo.git()) else {
        return vec![row("snapshots", Err("the repository cannot be found".to_owned()))];
    };
    let taken = envelopes.iter().filter_map(|envelope| match &envelope.event.body {
        Body::Evidence(Evidence::Snapshot { snapshot }) => Some(snapshot),
        _ => None,
    });
    taken
        .map(|snapshot| {
            row(format!("snapshot {}", snapshot.r#ref), holds_tree(&git, &snapshot.r#ref, &snapshot.tree.0))
        })
        .collect()
}

/// Whether the commit called `name` is there, whole, and has the tree `tree`.
fn holds_tree(git: &Git, name: &str, tree: &str) -> Result<(), String> {
    let found = git
        .run(GitCall::new(["rev-parse", "--verify", "--quiet", &format!("{name}^{{tree}}")]))
        .and_then(|output| output.line())
        .map_err(|_| format!("{name} is gone"))?;
    if found != tree {
        return Err(format!("{name} holds tree {found}, the log says {tree}"));
    }
    let whole = git.run(GitCall::new(["fsck", "--connectivity-only", "--no-dangling", "--no-progress", name]));
    let damaged = |error| format!("objects of {name} are damaged or missing: {error}");
    whole.map_err(damaged)?;
    // Reads every file of the tree and compares it with its name, which a look at the connections does not.
    let read = GitCall::new(["rev-list", "--quiet", "--objects", "--verify-objects", "--no-walk", name]);
    git.run(read.within(Duration::from_secs(600))).map(drop).map_err(damaged)
}

/// Where reviews were kept over a merge of the base, the work is the same change as before.
fn kept_reviews(bubble: &Bubble, state: &BubbleState, envelopes: &[Envelope]) -> Vec<VerifyRow> {
    let git = bubble.workspace(state).and_then(|workspace| Ok(workspace.repo()?.git()));
    let mut rows = Vec::new();
    let (mut base, mut tree, mut kept) = (None, None, None);
    for envelope in envelopes {
        match &envelope.event.body {
            Body::Lifecycle(Lifecycle::WorkspaceReady { workspace }) => {
                (base, tree) = (Some(workspace.base_tree.clone()), Some(workspace.base_tree.clone()));
            }
            Body::Lifecycle(Lifecycle::Updated { base: at, base_tree, same_patch }) => {
                let before = base.replace(base_tree.clone()).zip(tree.clone());
                kept = before.filter(|_| *same_patch).map(|before| (at.clone(), before));
            }
            Body::Evidence(Evidence::Snapshot { snapshot }) => {
                tree = Some(snapshot.tree.clone());
                let (Some((at, before)), Some(base)) = (kept.take(), &base) else { continue };
                let result = git.as_ref().map_err(ToString::to_string).and_then(|git| {
                    let same = same_change(git, (&before.0, &before.1), (base, &snapshot.tree));
                    let same = same.map_err(|error| error.to_string())?;
                    if same { Ok(()) } else { Err("the work is another change than before".to_owned()) }
                });
                rows.push(row(format!("merge of the base at {}: changed no file of the work", at.short()), result));
            }
            _ => {}
        }
    }
    rows
}

/// Every verdict follows from what stood in the log before it. Those of rules that are not known here are not recomputed.
fn verdicts(envelopes: &[Envelope], bubble: &Bubble) -> Vec<VerifyRow> {
    let recomputed = recompute_verdicts(&bubble.id, envelopes);
    let unknown = |one: &Recomputed| match &one.stand {
        VerdictStand::NotRecomputed { policy, version } => Some(format!("{policy} version {version}")),
        _ => None,
    };
    let unknown_rules: BTreeSet<_> = recomputed.iter().filter_map(unknown).collect();
    let known: Vec<_> = recomputed.iter().filter(|one| unknown(one).is_none()).collect();
    let mut rows: Vec<_> = unknown_rules
        .into_iter()
        .map(|rules| unchecked(format!("verdicts: not recomputed, this pairflow does not know the rules of {rules}")))
        .collect();
    if !known.is_empty() {
        rows.push(row("verdicts: follow from the log", all_follow(&known)));
    }
    rows
}

/// Names the lines whose verdicts differ, and those after which one is missing.
fn all_follow(verdicts: &[&Recomputed]) -> Result<(), String> {
    let lines = |stand: VerdictStand| {
        let lines: Vec<_> = verdicts.iter().filter(|one| one.stand == stand).map(|one| one.seq.to_string()).collect();
        let noun = if lines.len() == 1 { "line" } else { "lines" };
        (!lines.is_empty()).then(|| format!("{noun} {}", lines.join(", ")))
    };
    let differ = lines(VerdictStand::Differs)
        .map(|lines| format!("the rules conclude something else than {lines} of the log says"));
    let missing = lines(VerdictStand::Missing)
        .map(|lines| format!("the verdict is missing that follows from {lines} of the log"));
    let problems: Vec<_> = differ.into_iter().chain(missing).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// The certificate follows from what stood in the log before it.
fn certificate(envelopes: &[Envelope], bubble: &Bubble) -> Option<VerifyRow> {
    let recomputed = recompute(&bubble.id, envelopes)?;
    Some(match recomputed {
        Err(why @ Unfounded::NotRecomputed { .. }) => unchecked(format!("certificate: not recomputed, {why}")),
        other => row("certificate: follows from the log", other.map_err(|why| why.to_string())),
    })
}

/// The package is the one that was put up for approval.
fn package(bubble: &Bubble, state: &BubbleState) -> Option<VerifyRow> {
    let request = state.phase.request()?;
    let result = match bubble.artifacts().read(&request.package) {
        Ok(bytes) if sha256(&bytes) == request.package_sha256 => Ok(()),
        Ok(_) => Err("it has been changed since".to_owned()),
        // What was deleted can be made again, byte for byte.
        Err(ArtifactError::Missing { .. }) => bubble.package(request).map(drop).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    Some(row(format!("package {}", request.package), result))
}

/// The commit holds exactly the approved tree.
fn commit(bubble: &Bubble, state: &BubbleState) -> Option<VerifyRow> {
    let (Phase::Committed(at) | Phase::Done(at)) = &state.phase else { return None };
    let git = bubble.workspace(state).and_then(|workspace| Ok(workspace.repo()?.git()));
    let result = match git {
        Ok(git) => holds_tree(&git, &at.commit.0, &at.tree.0),
        Err(error) => Err(error.to_string()),
    };
    Some(row(format!("commit {} holds the approved tree", at.commit.short()), result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differing_and_missing_verdicts_are_both_named() {
        let one = |seq, stand| Recomputed { seq, stand };
        let all = [
            one(3, VerdictStand::Follows),
            one(5, VerdictStand::Differs),
            one(7, VerdictStand::Missing),
            one(9, VerdictStand::Missing),
        ];
        let problem = all_follow(&all.iter().collect::<Vec<_>>()).unwrap_err();
        assert_eq!(
            problem,
            "the rules conclude something else than line 5 of the log says; the verdict is missing that follows from lines 7, 9 \
             of the log"
        );
        assert_eq!(all_follow(&[&all[0]]), Ok(()));
    }
}
