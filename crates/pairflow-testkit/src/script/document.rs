//! The whole table, state by command, written out as a document.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use pairflow_core::bubble::{BubbleState, Phase, Refusal, StateName};
use pairflow_core::log::{Body, MessageKind};
use pairflow_core::respond::handle;

use super::check::play;
use super::play::{Move, Play};
use super::samples::{Sample, samples};

/// A state with what makes it this one, and a script that leads there.
struct Stop {
    name: &'static str,
    script: String,
}

/// Renders `docs/state-machine.md`.
pub fn state_machine() -> String {
    let stops = stops();
    let plays: Vec<_> = stops.iter().map(|stop| play(&stop.script)).collect();
    let mut out = include_str!("state-machine-intro.md").to_owned();
    out.push_str("\n## Every transition\n\nFrom one state to another, by which command. ");
    out.push_str("Whatever is not here changes no state.\n\n| from | command | to |\n|---|---|---|\n");
    for (from, sample, to) in transitions(&plays) {
        writeln!(out, "| `{from}` | {} | `{to}` |", sample.name).expect("writing to a string cannot fail");
    }
    out.push_str("\n## Every state and command\n");
    for (stop, play) in stops.iter().zip(&plays) {
        write!(out, "\n### {}\n\n| command | from | outcome |\n|---|---|---|\n", stop.name)
            .expect("writing to a string cannot fail");
        for sample in samples(&play.state) {
            let outcome = outcome(play, &sample).replace('|', "\\|");
            writeln!(out, "| {} | {} | {outcome} |", sample.name, sample.from)
                .expect("writing to a string cannot fail");
        }
    }
    out
}

/// What a sample leads to, in words.
fn outcome(play: &Play, sample: &Sample) -> String {
    match after(play, sample) {
        Err(refusal) => format!("refused: {refusal}"),
        Ok((_, kinds)) if kinds.is_empty() => "nothing to do".to_owned(),
        Ok((state, kinds)) => {
            let facts = kinds.join(", ");
            let (before, now) = (play.state.phase.name(), state.phase.name());
            if before == now { format!("stays, {facts}") } else { format!("**{now}**, {facts}") }
        }
    }
}

fn after(play: &Play, sample: &Sample) -> Result<(BubbleState, Vec<String>), Refusal> {
    let decided = handle(&play.state, &sample.command, sample.now)?;
    let mut next = play.clone();
    next.append(&decided.events);
    Ok((next.state, decided.events.iter().map(|event| kind(&event.body)).collect()))
}

fn kind(body: &Body) -> String {
    let name = serde_json::to_string(&body.kind()).expect("the name of a message type is text");
    let name = name.trim_matches('"');
    let json: serde_json::Value = serde_json::from_str(&body.to_json()).expect("a payload is written as JSON");
    let detail = match body.kind() {
        MessageKind::Lifecycle => json.get("event"),
        MessageKind::Evidence => json.get("kind"),
        MessageKind::Control => json.get("action"),
        MessageKind::ApprovalDecision => json.get("decision"),
        _ => None,
    };
    match detail.and_then(|detail| detail.as_str()) {
        Some(detail) => format!("{name} {detail}"),
        None => name.to_owned(),
    }
}

/// Returns every change of state that the document shows, by the name of the command.
pub fn documented_moves() -> BTreeSet<Move> {
    let plays: Vec<_> = stops().iter().map(|stop| play(&stop.script)).collect();
    transitions(&plays)
        .into_iter()
        .map(|(from, sample, to)| (from.as_str(), sample.command.name(), to.as_str()))
        .collect()
}

/// Every change of state that some sample brings about, each once, in the order of the states.
fn transitions(plays: &[Play]) -> Vec<(StateName, Sample, StateName)> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for play in plays {
        for sample in samples(&play.state) {
            let Ok((state, _)) = after(play, &sample) else { continue };
            let (from, to) = (play.state.phase.name(), state.phase.name());
            if from != to && seen.insert((from.as_str(), sample.name, to.as_str())) {
                all.push((from, sample, to));
            }
        }
    }
    all
}

/// The ten states; those in which more than the state decides appear once for each case.
fn stops() -> Vec<Stop> {
    let stops: Vec<Stop> = running_stops().into_iter().chain(waiting_stops()).chain(later_stops()).collect();
    for stop in &stops {
        let got = play(&stop.script).state.phase;
        assert!(stop.name.starts_with(Phase::name(&got).as_str()), "'{}' leads to {}", stop.name, got.name());
    }
    stops
}

/// How a bubble gets to the turns of its first round, and to the last review.
struct Ways {
    running: &'static str,
    reviewing: String,
    second: String,
    last: String,
    document: String,
}

fn ways() -> Ways {
    let running = "start";
    let reviewing = format!("{running}\ncodex edits src/lib.rs\ncodex: pass 'first cut'");
    let second = format!("{reviewing}\nclaude: pass clean");
    let last = format!("given max_rounds 1\n{reviewing}\nclaude: pass P1 'no rollback'");
    let document =
        "given document\nstart\ncodex edits docs/prd.md\ncodex: pass step dry-run\nclaude: pass clean stepped";
    let document = format!("{document}\ncodex: pass clean stepped");
    Ways { running, reviewing, second, last, document }
}

fn stop(name: &'static str, script: String) -> Stop {
    Stop { name, script }
}

/// Before the loop stops for anybody.
fn running_stops() -> Vec<Stop> {
    let Ways { running, reviewing, second, last, document } = ways();
    vec![
        stop("CREATED", "wait 1s".to_owned()),
        stop("PREPARING_WORKSPACE", "start (hold)".to_owned()),
        stop("RUNNING: the implementer has the turn", running.to_owned()),
        stop("RUNNING: the snapshot of a hand-over is owed", format!("{reviewing} (hold)")),
        stop("RUNNING: the checks are owed", format!("{reviewing} (hold)\nstep")),
        stop("RUNNING: the reviewer has the turn", reviewing.clone()),
        stop("RUNNING: the second reviewer has the turn", second.clone()),
        stop(
            "RUNNING: the second reviewer has the turn, in the last round of its budget",
            format!("given max_rounds 1\n{second}"),
        ),
        stop(
            "RUNNING: the snapshot of the review that suffices is owed",
            format!("{second}\ncodex: pass clean (hold)"),
        ),
        stop("RUNNING: the snapshot of the last review of the budget is owed", format!("{last} (hold)")),
        stop(
            "RUNNING: a check could not be run twice",
            format!("{reviewing} (hold)\ntest cannot run\nstep\nstep\nstep"),
        ),
        stop(
            "RUNNING: the reproducer of a finding is owed",
            format!("{reviewing}\nclaude: pass P1 'no rollback' by './repro' (hold)\nstep"),
        ),
        stop(
            "RUNNING: the reproducer of a finding of the last review is owed",
            format!("given max_rounds 1\n{reviewing}\nclaude: pass P1 'no rollback' by './repro' (hold)\nstep"),
        ),
        stop(
            "RUNNING: the implementer has the turn, and a finding is open",
            format!("{reviewing}\nclaude: pass P1 'no rollback'"),
        ),
        stop("RUNNING: the implementer has the turn, because a check fails", format!("test fails\n{reviewing}")),
        stop("RUNNING: the last review that a document needs is owed its snapshot", format!("{document} (hold)")),
        stop("RUNNING: paused", format!("{running}\nhuman: pause")),
        stop(
            "RUNNING: paused after the review that suffices",
            format!("{second}\ncodex: pass clean (hold)\nhuman: pause"),
        ),
        stop(
            "RUNNING: paused after the review that suffices, in the last round of its budget, and the base is being merged",
            format!("given max_rounds 1\n{second}\ncodex: pass clean (hold)\nhuman: pause\nhuman: update (hold)"),
        ),
        stop("RUNNING: paused, and the base is being merged", format!("{running}\nhuman: pause\nhuman: update (hold)")),
    ]
}

/// While a person is asked.
fn waiting_stops() -> Vec<Stop> {
    let Ways { running, reviewing, second, last, document } = ways();
    let undone = format!("{reviewing}\nclaude: pass P1 'no lock'\ncodex edits src/lib.rs\ncodex: pass fixes F1");
    let undone = format!("{undone}\nclaude: pass P1 'a lock is too slow' undoes F1");
    vec![
        stop("WAITING_HUMAN: an agent asks", format!("{running}\ncodex: asks 'which database?'")),
        stop("WAITING_HUMAN: two agents ask", format!("{running}\ncodex: asks 'a?'\nclaude: asks 'b?'")),
        stop("WAITING_HUMAN: an agent was silent", format!("{running}\nwait 6m")),
        stop("WAITING_HUMAN: the reviewer whose review would suffice was silent", format!("{second}\nwait 6m")),
        stop(
            "WAITING_HUMAN: an agent asked before the review that suffices was recorded",
            format!("{second}\ncodex: pass clean (hold)\ncodex: asks 'is it fast enough?'"),
        ),
        stop(
            "WAITING_HUMAN: an effect failed before the review that suffices was recorded",
            format!("{second}\ncodex: pass clean (hold)\ntrouble 'no space left'"),
        ),
        stop("WAITING_HUMAN: tie-break", last),
        stop("WAITING_HUMAN: a finding asks to undo an earlier one", undone),
        stop("WAITING_HUMAN: a document has to be understood", document),
        stop("WAITING_HUMAN: a check could not be run", format!("test cannot run\n{reviewing}")),
    ]
}

/// Once the loop has come to an end.
fn later_stops() -> Vec<Stop> {
    let Ways { running, second, .. } = ways();
    let ready = format!("{second}\ncodex: pass clean");
    let approved = format!("{ready}\nhuman: approve");
    vec![
        stop("READY_FOR_APPROVAL", ready.clone()),
        stop("READY_FOR_APPROVAL: the base is being merged", format!("{ready}\nhuman: update (hold)")),
        stop(
            "READY_FOR_APPROVAL: there are no checks, and the base is being merged",
            format!("given no checks\ngiven manual 'look at it'\n{ready}\nhuman: update (hold)"),
        ),
        stop(
            "RUNNING: reviews are kept, and the checks of the merged tree are owed",
            format!("{ready}\nbase moves README.md\nhuman: update (hold)\nstep"),
        ),
        stop("APPROVED_FOR_COMMIT", approved.clone()),
        stop("APPROVED_FOR_COMMIT: the commit is under way", format!("{approved}\nhuman: commit (hold)")),
        stop("APPROVED_FOR_COMMIT: the base is being merged", format!("{approved}\nhuman: update (hold)")),
        stop(
            "APPROVED_FOR_COMMIT: there are no checks, and the base is being merged",
            format!("given no checks\ngiven manual 'look at it'\n{approved}\nhuman: update (hold)"),
        ),
        stop("COMMITTED", format!("{approved}\nhuman: commit (hold)\nraw commit-made (hold)")),
        stop("DONE", format!("{approved}\nhuman: commit")),
        stop("FAILED", format!("{running}\nlost 'the repository is gone'")),
        stop("CANCELLED", format!("{running}\nhuman: stop")),
    ]
}
