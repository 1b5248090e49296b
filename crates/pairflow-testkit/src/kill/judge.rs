//! The questions that are asked after every ending of a process.

use std::time::Duration;

use pairflow_core::bubble::Phase;
use pairflow_core::log::scan::End;
use pairflow_core::log::{Body, Envelope};
use pairflow_engine::engine::ControlDir;

use super::scene::Scene;
use super::stage::Stage;
use super::verbs::Verb;
use crate::script::broken;
use crate::sim::Witness;

/// How long the next writer waits for those who are still at work.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known of how a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// It said that it was done.
    Done,
    /// It said that it was refused.
    Refused,
    /// It said that the world failed, and that nothing was recorded.
    Failed,
    /// It said nothing, or that it does not know.
    Nothing,
}

/// What the log says after an ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Whether the command had counted.
    pub(super) counted: bool,
    /// Whether it left a torn tail.
    pub(super) torn: bool,
}

/// Looks at the log after a process ended: everything acknowledged is there, and the command counted or did not.
pub(super) fn judge(scene: &mut Scene, verb: Verb, told: Told) -> Result<Verdict, String> {
    let bytes = scene.transcript()?;
    let news = scene.witness.look(&bytes)?;
    let fresh = &scene.witness.log[scene.witness.firm()..];
    let counted = counted(verb, fresh)?;
    let wrong = match told {
        Told::Done => !counted && verb != Verb::Status,
        Told::Refused | Told::Failed => counted,
        Told::Nothing => false,
    };
    if wrong {
        return Err(format!("{} was told {told:?}, and the log says counted: {counted}", verb.name()));
    }
    let rules = broken(&scene.witness.state, &scene.witness.log);
    if !rules.is_empty() {
        return Err(rules.join("; "));
    }
    Ok(Verdict { counted, torn: matches!(news.end, End::Torn(_)) })
}

/// The next writer heals what was left: the store and the witness tell the same, and nothing is torn any more.
///
/// Nobody else may write while both are asked: whoever answers a dead caller's wish may still be at it.
pub(super) fn heal(stage: &Stage, scene: &mut Scene) -> Result<(), String> {
    let log = scene.bubble.log();
    let alone = log.lock(PATIENCE).map_err(|error| format!("the next command: {error}"))?;
    let bytes = scene.transcript()?;
    let news = scene.witness.look(&bytes)?;
    let loaded = scene.bubble.load().map_err(|error| error.to_string())?;
    if news.end != End::Clean || loaded.torn.is_some() || loaded.unterminated {
        return Err(format!("the end of the log was not mended: {:?}", news.end));
    }
    if loaded.state != scene.witness.state {
        return Err(format!("the store tells another state than the log (read from {:?})", loaded.from));
    }
    drop(alone);
    scene.witness.make_firm();
    if matches!(scene.state().phase, Phase::Created) { Ok(()) } else { scene.settle(stage.workspace()) }
}

/// Whether these new records say that the verb counted; it must have counted at most once.
fn counted(verb: Verb, fresh: &[Envelope]) -> Result<bool, String> {
    let own = fresh.iter().filter(|envelope| verb.leaves(&envelope.event.body)).count();
    let strange =
        fresh.iter().find(|envelope| !verb.leaves(&envelope.event.body) && !belongs(verb, &envelope.event.body));
    match (own, strange) {
        (_, Some(envelope)) => Err(format!("{} left {:?}", verb.name(), envelope.event.body)),
        (0 | 1, None) => Ok(own == 1),
        (many, None) => Err(format!("{} was recorded {many} times", verb.name())),
    }
}

/// Whether a record may stand beside the verb's own: a warning, an acceptance, or what someone was waiting for.
fn belongs(verb: Verb, body: &Body) -> bool {
    match body {
        Body::ProtocolWarning(_) => true,
        Body::ApprovalRequest(_) => verb == Verb::Converged,
        Body::Lifecycle(_) | Body::Task(_) | Body::DonePackage(_) => matches!(verb, Verb::Start | Verb::Commit),
        _ => false,
    }
}

/// A bubble that was being created is there as a whole, or not at all.
pub(super) fn judge_created(stage: &Stage, id: &str, told: Told) -> Result<bool, String> {
    let id = id.parse().map_err(|why| format!("{id}: {why}"))?;
    let files = ControlDir::of(stage.repo()).files(&id);
    let Ok(bytes) = std::fs::read(files.transcript()) else {
        return if told == Told::Done { Err(format!("{id} was created, and is not there")) } else { Ok(false) };
    };
    let mut witness = Witness::new(id.clone());
    witness.look(&bytes)?;
    let whole = matches!(&witness.log[..], [one] if Verb::Create.leaves(&one.event.body));
    let bubble = stage.engine().bubble(stage.repo(), &id).map_err(|error| error.to_string())?;
    let state = bubble.load().map_err(|error| error.to_string())?.state;
    if whole && state == witness.state { Ok(true) } else { Err(format!("{id} was created in part: {:?}", witness.log)) }
}
