//! The whole table, state by command, written out as a document.

use std::collections::BTreeSet;

use pairflow_core::bubble::{BubbleState, Phase, Refusal, StateName};
use pairflow_core::log::{Body, MessageKind};
use pairflow_core::respond::handle;

use super::run::play;
use super::run::{Move, ScriptRun};
use super::samples::{Sample, samples};

/// A state with what makes it this one, and a script that leads there.
struct Stop {
    name: &'static str,
    script: String,
}

/// The states in the order of a life, with short names for table heads.
const STATES: [(StateName, &str); 10] = [
    (StateName::Created, "CREATED"),
    (StateName::PreparingWorkspace, "PREPARING"),
    (StateName::Running, "RUNNING"),
    (StateName::WaitingHuman, "WAITING"),
    (StateName::ReadyForApproval, "READY"),
    (StateName::ApprovedForCommit, "APPROVED"),
    (StateName::Committed, "COMMITTED"),
    (StateName::Done, "DONE"),
    (StateName::Failed, "FAILED"),
    (StateName::Cancelled, "CANCELLED"),
];

/// Renders `docs/state-machine.md`.
pub fn state_machine() -> String {
    let plays: Vec<_> = stops().iter().map(|stop| play(&stop.script)).collect();
    let mut out = include_str!("state-machine-intro.md").to_owned();
    out += &transition_table(&plays);
    out += &command_table(&plays);
    out
}

/// Renders every case with every command and the exact outcome.
pub fn every_command() -> String {
    let mut out = "# Every state and command\n\nWritten by `UPDATE_DOCS=1 cargo test -p pairflow-core \
                   machine::document`; docs/state-machine.md is the page for people.\n"
        .to_owned();
    for stop in stops() {
        let play = play(&stop.script);
        out += &format!("\n### {}\n\n| command | from | outcome |\n|---|---|---|\n", stop.name);
        for sample in samples(&play.state) {
            let outcome = outcome(&play, &sample).replace('|', "\\|");
            out += &format!("| {} | {} | {outcome} |\n", sample.name, sample.from);
        }
    }
    out
}

/// One row for each pair of states, with the commands that lead from one to the other.
fn transition_table(plays: &[ScriptRun]) -> String {
    let mut out = "\n## Every transition\n\nNo other command changes the state.\n\n\
                   | from | to | commands |\n|---|---|---|\n"
        .to_owned();
    let all = transitions(plays);
    for ((from, _), (to, _)) in STATES.iter().flat_map(|from| STATES.iter().map(move |to| (from, to))) {
        let between = all.iter().filter(|(start, _, end)| start == from && end == to);
        let names: Vec<_> = between.map(|(_, sample, _)| format!("`{}`", sample.name)).collect();
        if !names.is_empty() {
            out += &format!("| `{from}` | `{to}` | {} |\n", names.join(", "));
        }
    }
    out
}

/// One row for each command, one column for each state.
fn command_table(plays: &[ScriptRun]) -> String {
    let heads: Vec<&str> = STATES.iter().map(|(_, head)| *head).collect();
    let mut out = format!(
        "\n## Every command in every state\n\n{}\n| command | from | {} | records |\n|---|---|{}---|\n",
        include_str!("state-machine-legend.md"),
        heads.join(" | "),
        "---|".repeat(heads.len())
    );
    let names = samples(&plays[0].state);
    for (at, named) in names.iter().enumerate() {
        let mut facts = Vec::new();
        let cells = STATES.iter().map(|(state, _)| cell(plays, *state, at, &mut facts));
        let cells: Vec<String> = cells.collect();
        out += &format!("| {} | {} | {} | {} |\n", named.name, named.from, cells.join(" | "), facts.join(", "));
    }
    out
}

/// What the command at this place of the samples leads to in all cases of a state. Collects the facts that it records.
fn cell(plays: &[ScriptRun], state: StateName, at: usize, facts: &mut Vec<String>) -> String {
    let mut marks = BTreeSet::new();
    for play in plays.iter().filter(|play| play.state.phase.name() == state) {
        let Ok((next, kinds)) = after(play, &samples(&play.state)[at]) else {
            marks.insert("·".to_owned());
            continue;
        };
        let to = next.phase.name();
        let head = STATES.iter().find(|(name, _)| *name == to).map_or("", |(_, head)| *head);
        marks.insert(match kinds.as_slice() {
            [] => "○".to_owned(),
            _ if to == state => "✓".to_owned(),
            _ => format!("→ {head}"),
        });
        let own: Vec<_> = kinds.into_iter().take(1).filter(|kind| !facts.contains(kind)).collect();
        facts.extend(own);
    }
    marks.into_iter().collect::<Vec<_>>().join(" ")
}

/// What a sample leads to, in words.
fn outcome(play: &ScriptRun, sample: &Sample) -> String {
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

fn after(play: &ScriptRun, sample: &Sample) -> Result<(BubbleState, Vec<String>), Refusal> {
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
fn transitions(plays: &[ScriptRun]) -> Vec<(StateName, Sample, StateName)> {
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

/// While the loop runs.
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
        stop(
            "RUNNING: the test of a fix is owed",
            format!(
                "{reviewing}\nclaude: pass P1 'no rollback'\ncodex edits a.rs\ncodex: pass fixes F1 (hold)\nstep\nstep"
            ),
        ),
        stop(
            "RUNNING: the test of a fix that failed on this tree before is owed",
            format!(
                "{reviewing}\nclaude: pass P1 'no rollback'\ncodex edits a.rs\nF1 fails after\ncodex: pass fixes F1\n\
                 codex: pass 'again' fixes F1 (hold)\nstep"
            ),
        ),
        stop(
            "RUNNING: the judge has the turn",
            format!(
                "{reviewing}\nclaude: pass P1 'no rollback'\ncodex: pass disputes F1 'no'\nclaude: pass reopens F1"
            ),
        ),
        stop("RUNNING: acceptance tests are written", format!("given thorough\n{running}")),
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

/// While a question is open.
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
        stop(
            "WAITING_HUMAN: the implementer disputes what a judge upheld",
            format!(
                "{reviewing}\nclaude: pass P1 'no lock'\ncodex: pass disputes F1 'no'\nclaude: pass reopens F1\n\
                 claude: upholds F1\ncodex: pass disputes F1 'still no'"
            ),
        ),
        stop("WAITING_HUMAN: a document has to be understood", document),
        stop("WAITING_HUMAN: a check could not be run", format!("test cannot run\n{reviewing}")),
    ]
}

/// After the loop.
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
