//! The table: what a command leads to in each state. One arm is one line; the rules are in the files beside this one.
//!
//! [`decide`] says what a command itself leads to. What its facts lead to ([`follow`]: questions of pairflow's own, work that
//! goes back, acceptance) is asked of the state that has them, one step after the other, and recorded with them.

mod checks;
mod lifecycle;
mod presence;
mod questions;
mod turn;

use crate::bubble::command::{by_person, event};
use crate::bubble::derived::fixes_to_test;
use crate::bubble::{BubbleState, Command, Decided, Phase, Refusal, Stage, admission, missing_checks};
use crate::facts::{Certificate, Seat};
use crate::log::{Body, CommitIdentity, Event, Judged, Lifecycle, NextTurn, Verdict};
use crate::policy;
use crate::policy::{After, Unmet};
use crate::time::Moment;

pub(super) use lifecycle::{verdict_on_merge, verdict_with_rules};
pub use presence::{ATTEMPTS, LONGEST_PARK, NUDGES};
pub(super) use questions::verdict_without_waiver;
pub use turn::found_author;
pub(super) use turn::verdict_on_handover;

/// Says what `command` itself leads to, without doing any of it. [`crate::respond::handle`] adds what follows from that.
pub fn decide(state: &BubbleState, command: &Command, now: Moment) -> Result<Decided, Refusal> {
    admission::admit(command)?;
    let without_policy = matches!(
        command,
        Command::Stop { .. } | Command::GiveUp { .. } | Command::Pause { .. } | Command::Escaped { .. }
    );
    if !without_policy && !policy::knows(&state.rules) {
        let name = match policy::named(&state.rules.policy) {
            Some(_) => format!("{} version {}", state.rules.policy, state.rules.policy_version),
            None => state.rules.policy.clone(),
        };
        return Err(Refusal::UnknownPolicy { name });
    }
    let reported = presence::decide_presence(state, command, now);
    reported.unwrap_or_else(|| decide_command(state, command))
}

/// The table proper.
fn decide_command(state: &BubbleState, command: &Command) -> Result<Decided, Refusal> {
    match (&state.phase, command) {
        (Phase::Created, Command::Start { rules }) => lifecycle::start(state, rules),

        (Phase::Running(at), Command::Pass(pass)) => turn::pass(state, at, pass),
        (Phase::Running(at), Command::Judge { .. }) => turn::judge(state, at, command),
        (Phase::Running(at), Command::Converged { by, .. }) => lifecycle::claim(state, at, by, command),
        (Phase::Running(_) | Phase::WaitingHuman(_), Command::AskHuman { .. }) => questions::ask(state, command),
        (Phase::WaitingHuman(_), Command::Pass(_) | Command::Converged { .. } | Command::Judge { .. }) => {
            presence::come_back(state, command).unwrap_or_else(|| questions::refuse_agent(state, command))
        }

        (Phase::WaitingHuman(at), Command::Reply { .. }) => questions::reply(state, at, command),
        (Phase::WaitingHuman(at), Command::Resume) => questions::resume_waiting(state, at),
        (Phase::Running(_), Command::Resume) => questions::resume_running(state),
        (Phase::Running(_) | Phase::WaitingHuman(_), Command::Pause { reason }) => questions::pause(state, reason),
        (Phase::Running(_) | Phase::WaitingHuman(_), Command::Waive { .. } | Command::Withdraw { .. }) => {
            questions::live_with(state, command)
        }
        (_, Command::Reply { .. }) => Err(questions::nothing_to_reply(state)),
        (phase, Command::Configure { rules }) if phase.takes_rules() => lifecycle::configure(state, rules),
        (Phase::ReadyForApproval(package), Command::Approve { .. }) => lifecycle::approve(state, package, command),
        (Phase::ReadyForApproval(package), Command::Rework { .. }) => lifecycle::rework(state, &package.tree, command),
        (Phase::Approved(at), Command::Rework { .. }) => lifecycle::rework_approved(state, at, command),
        (Phase::Approved(at), Command::Commit { .. }) => lifecycle::commit(state, at, command),
        (Phase::Done(_), Command::Merged { commit }) => Ok(lifecycle::merged(state, commit)),
        (Phase::Done(_), Command::Escaped { .. }) => lifecycle::escaped(state, command),
        (phase, Command::Escaped { .. }) => Err(Refusal::NotDone { state: phase.name() }),

        (Phase::Running(at) | Phase::WaitingHuman(at), Command::Restart { reason }) => {
            questions::restart(state, at, reason)
        }

        (Phase::Running(_) | Phase::WaitingHuman(_), Command::Update) => lifecycle::update_paused(state),
        (Phase::ReadyForApproval(_), Command::Update) => Ok(lifecycle::update(state)),
        (Phase::Approved(at), Command::Update) => lifecycle::update_approved(state, at),
        (_, Command::UpdateResolved) => lifecycle::update_resolved(state, decide_command(state, &Command::Update)?),
        (Phase::Approved(at), Command::SetIdentity { .. }) if at.commit.is_some() => Err(Refusal::CommitUnderWay),
        (phase, Command::SetIdentity { identity }) if !phase.is_final() => Ok(lifecycle::set_identity(state, identity)),
        (phase, Command::MintToken { agent, token_sha256: hash }) if !phase.is_final() => {
            lifecycle::mint(state, agent, hash)
        }
        (Phase::Approved(at), Command::Stop { reason }) => lifecycle::stop_approved(state, at, reason),
        (phase, Command::Stop { reason }) if !phase.is_final() => Ok(lifecycle::stop(state, reason)),
        (phase, Command::GiveUp { reason }) if !phase.is_final() && *phase != Phase::Created => {
            Ok(lifecycle::give_up(state, reason))
        }
        (_, result) if result.is_result() => decide_result(state, result),
        (phase, _) => Err(wrong_state(state, phase, command)),
    }
}

/// The part of the table that takes in what effects came to. A result that nothing is owed for is refused.
fn decide_result(state: &BubbleState, result: &Command) -> Result<Decided, Refusal> {
    match (&state.phase, result) {
        (Phase::Preparing, Command::WorkspaceReady { workspace }) => Ok(lifecycle::ready(state, workspace)),
        (Phase::Preparing, Command::StartFailed { reason }) => Ok(lifecycle::start_failed(state, reason)),
        (Phase::Running(_) | Phase::WaitingHuman(_), Command::SnapshotTaken { snapshot }) => {
            turn::snapshot(state, snapshot)
        }
        (Phase::Running(_) | Phase::WaitingHuman(_), Command::Checked { receipt }) => turn::checked(state, receipt),
        (Phase::Running(_) | Phase::WaitingHuman(_), Command::Reproduced { finding, receipt }) => {
            turn::reproduced(state, *finding, receipt)
        }
        (Phase::Running(_) | Phase::WaitingHuman(_), Command::FixTested { .. }) => turn::fix_tested(state, result),
        (Phase::Running(at), Command::TurnReady { turn, slices }) => turn::open(state, at, *turn, *slices),
        (Phase::Running(at), Command::AgentEnded { turn, how, output }) => {
            turn::agent_ended(state, at, *turn, (how, output))
        }
        (Phase::Running(at), Command::Packaged { package }) => lifecycle::packaged(state, at, package),
        (Phase::Running(_), Command::Trouble { reason }) => Ok(turn::trouble(state, reason)),
        (Phase::WaitingHuman(_), Command::Trouble { .. }) => Ok(Decided::default()),
        (Phase::Approved(at), Command::CommitMade { commit, old_tip }) => lifecycle::made(state, at, commit, old_tip),
        (Phase::Approved(at), Command::CommitFailed { reason }) => lifecycle::failed(state, at, reason),
        (Phase::Committed(at), Command::RecordDone) => Ok(lifecycle::done(state, at)),
        (_, Command::UpdateMade { .. }) if state.gate.updating => lifecycle::updated(state, result),
        (_, Command::UpdateFailed { reason, conflict }) if state.gate.updating => {
            Ok(lifecycle::update_failed(state, reason, conflict))
        }
        _ => Err(Refusal::NotOwed),
    }
}

/// Returns the first facts of a new bubble.
pub fn create(mut created: Lifecycle) -> Vec<Event> {
    if let Lifecycle::Created { rules, .. } = &mut created {
        **rules = policy::with_version((**rules).clone());
    }
    vec![Event::own(0, Body::Lifecycle(created))]
}

/// Returns the first facts of a bubble that the person adopts.
///
/// No command leads here: a bubble that is the person's own needs it no more. Commits are made as whom `identity` says.
pub fn adopt(state: &BubbleState, repo: String, reason: String, identity: Option<CommitIdentity>) -> Vec<Event> {
    let identity = identity.filter(|_| !state.phase.is_final()).map(|identity| Lifecycle::IdentitySet { identity });
    let adopted = by_person(state, Lifecycle::Adopted { repo, reason });
    std::iter::once(adopted).chain(identity.map(|fact| event(state, fact))).collect()
}

/// Returns the first facts of a bubble that lost lines when its log was repaired: it is adopted as it is left.
///
/// The lost lines may have withdrawn what was checked, reviewed or approved before them. The agents keep the tokens that
/// are left; one that was made in a lost line does not count any more.
pub fn take_up(state: &BubbleState, repo: String, reason: String) -> Vec<Event> {
    let tokens = state.presence.tokens.iter().filter(|_| !state.phase.is_final()).map(|(agent, hash)| {
        let fact = Lifecycle::TokenMinted { agent: agent.clone(), token_sha256: hash.clone() };
        event(state, fact)
    });
    adopt(state, repo, reason, None).into_iter().chain(tokens).collect()
}

fn wrong_state(state: &BubbleState, phase: &Phase, command: &Command) -> Refusal {
    let why = match phase {
        Phase::Created => Some("it has not been started".to_owned()),
        Phase::Preparing => Some("its workspace is being prepared".to_owned()),
        Phase::Running(turn) => {
            Some(format!("round {}, {} has the turn as {}", state.rounds.round, turn.agent, turn.seat))
        }
        Phase::WaitingHuman(_) => {
            state.gate.questions.first().map(|open| format!("{} asked: {}", open.by, open.in_short()))
        }
        Phase::ReadyForApproval(_) => Some("the package waits for a person's decision".to_owned()),
        Phase::Approved(_) => Some("it is approved and waits for its commit".to_owned()),
        Phase::Committed(at) | Phase::Done(at) => Some(format!("its commit is {}", at.commit.short())),
        Phase::Failed { reason } => Some(reason.clone()),
        Phase::Cancelled => Some("a person stopped it, and that is final".to_owned()),
    };
    Refusal::WrongState { state: phase.name(), command: command.name(), why }
}

/// Returns the next thing that follows from a state by itself, if anything does. Nothing follows from a final state.
pub fn follow(state: &BubbleState) -> Option<Event> {
    if state.phase.is_final() {
        return None;
    }
    move_policy(state)
        .or_else(|| checks::fails_on_base(state))
        .or_else(|| checks::could_not_check(state))
        .or_else(|| checks::differs(state))
        .or_else(|| acceptance_returned(state))
        .or_else(|| stop(state))
        .or_else(|| after_work(state))
        .or_else(|| lifecycle::conclude(state))
}

/// The rules of a loop that goes on are those of this pairflow: which ones is recorded before they are applied.
fn move_policy(state: &BubbleState) -> Option<Event> {
    let version = policy::named(&state.rules.policy)?.version();
    let older = state.phase.turn().is_some() && state.rules.policy_version < version;
    older.then(|| event(state, Lifecycle::PolicyMoved { version }))
}

/// Acceptance tests that could not be run before there is any work go back to their author, once.
fn acceptance_returned(state: &BubbleState) -> Option<Event> {
    let next = state.phase.turn().is_some_and(|turn| turn.seat == Seat::Implementer && turn.stage == Stage::Opening);
    let early = state.evidence.snapshot.is_none() && state.rounds.acceptance_turns == 1;
    let row = state.ledger.rows.iter().find(|row| row.has_lost_tests()).filter(|_| next && early)?;
    let why = row.history.last().map(|change| change.note.clone()).unwrap_or_default();
    Some(event(state, Lifecycle::AcceptanceReturned { why }))
}

/// Returns the certificate of accepted work whose package is to be rendered now.
pub fn to_package(state: &BubbleState) -> Option<&Certificate> {
    let certified = state.phase.turn().is_some_and(|turn| turn.stage == Stage::Certified);
    state.gate.certificate.as_ref().filter(|_| certified)
}

/// The one question with which a loop stops that does not get anywhere.
fn stop(state: &BubbleState) -> Option<Event> {
    let turn = state.phase.turn().filter(|turn| turn.stage == Stage::Opening)?;
    let asked = state.gate.questions.iter().any(|open| open.kind.is_tie_break());
    let facts = state.facts();
    if asked || facts.to_reproduce().next().is_some() || !fixes_to_test(state).is_empty() {
        return None;
    }
    let policy = state.policy();
    let question = policy.question(facts, turn.seat).or_else(|| policy.at_cap(facts, turn.seat))?;
    Some(Event::own(state.rounds.last_begun(), Body::HumanQuestion(question)))
}

/// What follows from work once everything was run on it.
fn after_work(state: &BubbleState) -> Option<Event> {
    if state.gate.questions.iter().any(|open| open.kind.is_about_checks()) {
        return None;
    }
    let body = match judge_work(state)? {
        After::Review => return None,
        // What cannot be accepted is for the reviewer to see.
        After::Concluded(conclusion) if conclusion.next == NextTurn::Accept && !is_acceptable(state) => return None,
        After::Concluded(conclusion) => Body::Verdict(conclusion.verdict(state.policy(), Judged::Work)),
        After::Ask(question) => Body::HumanQuestion(question),
    };
    Some(event(state, body))
}

/// The verdict on the newest work, if there is one.
pub(super) fn verdict_on_work(state: &BubbleState) -> Option<Verdict> {
    match judge_work(state)? {
        After::Concluded(conclusion) if conclusion.next == NextTurn::Accept && !is_acceptable(state) => None,
        After::Concluded(conclusion) => Some(conclusion.verdict(state.policy(), Judged::Work)),
        After::Review | After::Ask(_) => None,
    }
}

/// What the policy says of work, if a reviewer is about to look at it and all evidence about it is there.
fn judge_work(state: &BubbleState) -> Option<After> {
    let next = state.phase.turn().is_some_and(|turn| turn.seat == Seat::Reviewer && turn.stage == Stage::Opening);
    let ran = missing_checks(state).is_empty() && fixes_to_test(state).is_empty();
    let evidence = ran && state.facts().to_reproduce().next().is_none();
    (next && evidence).then(|| state.policy().after_work(state.facts()))
}

/// Whether nothing but a person's word keeps the work from being accepted.
fn is_acceptable(state: &BubbleState) -> bool {
    state.unmet().iter().all(|criterion| matches!(criterion, Unmet::Comprehension | Unmet::Questions(_)))
}
