//! The table: what a command leads to in each state. One arm is one line; the rules stand in the rooms beside.

use crate::bubble::{
    Command, Decided, Phase, Refusal, Unit, answers, approval, converge, human, lifecycle, limits, presence, turn, work,
};
use crate::ids::Party;
use crate::log::{Body, CommitIdentity, Event, Lifecycle};
use crate::policy;
use crate::time::Moment;

/// Says what `command` itself leads to, without doing any of it. [`crate::respond::handle`] adds what follows from that.
pub fn decide(unit: &Unit, command: &Command, now: Moment) -> Result<Decided, Refusal> {
    limits::admit(command)?;
    let ends = matches!(command, Command::Stop { .. } | Command::GiveUp { .. } | Command::Pause { .. });
    if !ends && policy::named(&unit.rules.policy).is_none() {
        return Err(Refusal::UnknownPolicy { name: unit.rules.policy.clone() });
    }
    let reported = presence::decide_presence(unit, command, now);
    reported.unwrap_or_else(|| decide_command(unit, command))
}

/// The table proper.
fn decide_command(unit: &Unit, command: &Command) -> Result<Decided, Refusal> {
    match (&unit.phase, command) {
        (Phase::Created, Command::Start { rules }) => lifecycle::start(unit, rules),
        (Phase::Preparing, Command::WorkspaceReady { workspace }) => Ok(lifecycle::ready(unit, workspace)),
        (Phase::Preparing, Command::StartFailed { reason }) => Ok(lifecycle::start_failed(unit, reason)),

        (Phase::Running(at), Command::Pass(pass)) => turn::pass(unit, at, pass),
        (Phase::Running(at), Command::Converged { by, .. }) => converge::claim(unit, at, by, command),
        (Phase::Running(_) | Phase::WaitingHuman(_), Command::AskHuman { .. }) => human::ask(unit, command),
        (Phase::WaitingHuman(_), Command::Pass(_) | Command::Converged { .. }) => {
            presence::come_back(unit, command).unwrap_or_else(|| human::refuse_agent(unit, command))
        }

        (Phase::WaitingHuman(at), Command::Reply { .. }) => human::reply(unit, at, command),
        (Phase::WaitingHuman(at), Command::Resume) => human::resume_waiting(unit, at),
        (Phase::Running(_), Command::Resume) => human::resume_running(unit),
        (Phase::Running(_) | Phase::WaitingHuman(_), Command::Pause { reason }) => human::pause(unit, reason),
        (Phase::Running(_) | Phase::WaitingHuman(_), Command::Waive { .. } | Command::Withdraw { .. }) => {
            answers::live_with(unit, command)
        }
        (_, Command::Reply { .. }) => Err(human::nothing_to_reply(unit)),
        (phase, Command::Configure { rules }) if phase.takes_rules() => lifecycle::configure(unit, rules),
        (Phase::ReadyForApproval(package), Command::Approve { .. }) => approval::approve(unit, package, command),
        (Phase::ReadyForApproval(package), Command::Rework { .. }) => approval::rework(unit, &package.tree, command),
        (Phase::Approved(at), Command::Rework { .. }) => approval::rework_approved(unit, at, command),
        (Phase::Approved(at), Command::Commit { .. }) => approval::commit(unit, at, command),
        (Phase::Approved(at), Command::CommitMade { commit, old_tip }) => approval::made(unit, at, commit, old_tip),
        (Phase::Approved(at), Command::CommitFailed { reason }) => approval::failed(unit, at, reason),
        (Phase::Committed(at), Command::RecordDone) => Ok(approval::done(unit, at)),
        (Phase::Done(_), Command::Merged { commit }) => Ok(approval::merged(unit, commit)),

        (Phase::Running(_) | Phase::WaitingHuman(_), Command::SnapshotTaken { snapshot }) => {
            work::snapshot(unit, snapshot)
        }
        (Phase::Running(_) | Phase::WaitingHuman(_), Command::Checked { receipt }) => work::checked(unit, receipt),
        (Phase::Running(_) | Phase::WaitingHuman(_), Command::Reproduced { finding, receipt }) => {
            work::reproduced(unit, *finding, receipt)
        }
        (Phase::Running(at), Command::TurnReady { turn: number, slices }) => work::open(unit, at, *number, *slices),
        (Phase::Running(at), Command::AgentEnded { turn: number, how, output }) => {
            work::agent_ended(unit, at, *number, (how, output))
        }
        (Phase::Running(at), Command::Packaged { package }) => converge::packaged(unit, at, package),
        (Phase::Running(_), Command::Trouble { reason }) => Ok(work::trouble(unit, reason)),
        (Phase::WaitingHuman(_), Command::Trouble { .. }) => Ok(Decided::default()),
        (Phase::Running(at) | Phase::WaitingHuman(at), Command::Restart { reason }) => human::restart(unit, at, reason),

        (Phase::Running(_) | Phase::WaitingHuman(_), Command::Update) => lifecycle::update_paused(unit),
        (Phase::ReadyForApproval(_), Command::Update) => Ok(lifecycle::update(unit)),
        (Phase::Approved(at), Command::Update) => lifecycle::update_approved(unit, at),
        (_, Command::UpdateResolved) => lifecycle::update_resolved(unit, decide_command(unit, &Command::Update)?),
        (_, Command::UpdateMade { .. }) if unit.gate.updating => lifecycle::updated(unit, command),
        (_, Command::UpdateFailed { reason, conflict }) if unit.gate.updating => {
            Ok(lifecycle::update_failed(unit, reason, conflict))
        }

        (Phase::Approved(at), Command::SetIdentity { .. }) if at.commit.is_some() => Err(Refusal::CommitUnderWay),
        (phase, Command::SetIdentity { identity }) if !phase.is_final() => Ok(lifecycle::set_identity(unit, identity)),
        (phase, Command::MintToken { agent, token_sha256 }) if !phase.is_final() => {
            lifecycle::mint(unit, agent, token_sha256)
        }
        (Phase::Approved(at), Command::Stop { reason }) => approval::stop(unit, at, reason),
        (phase, Command::Stop { reason }) if !phase.is_final() => Ok(lifecycle::stop(unit, reason)),
        (phase, Command::GiveUp { reason }) if !phase.is_final() && *phase != Phase::Created => {
            Ok(lifecycle::give_up(unit, reason))
        }
        (_, result) if result.is_result() => Err(Refusal::NotOwed),
        (phase, _) => Err(wrong_state(unit, phase, command)),
    }
}

/// Returns the first facts of a new bubble.
pub fn create(created: Lifecycle) -> Vec<Event> {
    vec![Event::own(0, Body::Lifecycle(created))]
}

/// Returns the first facts of a bubble that the person takes over.
///
/// No command leads here: a bubble that is the person's own needs it no more. Commits are made as whom `identity` says.
pub fn adopt(unit: &Unit, repo: String, reason: String, identity: Option<CommitIdentity>) -> Vec<Event> {
    let mut event = Event::own(unit.rounds.round, Body::Lifecycle(Lifecycle::Adopted { repo, reason }));
    event.sender = Party::Human;
    event.recipient = Party::Orchestrator;
    let identity = identity.filter(|_| !unit.phase.is_final()).map(|identity| Lifecycle::IdentitySet { identity });
    std::iter::once(event).chain(identity.map(|fact| Event::own(unit.rounds.round, Body::Lifecycle(fact)))).collect()
}

/// Returns the first facts of a bubble that lost lines when its log was repaired: it is taken over as it is left.
///
/// The lost lines may have withdrawn what was checked, reviewed or approved before them. The agents keep the tokens that
/// are left; one that was made in a lost line does not count any more.
pub fn take_up(unit: &Unit, repo: String, reason: String) -> Vec<Event> {
    let tokens = unit.presence.tokens.iter().filter(|_| !unit.phase.is_final()).map(|(agent, hash)| {
        let fact = Lifecycle::TokenMinted { agent: agent.clone(), token_sha256: hash.clone() };
        Event::own(unit.rounds.round, Body::Lifecycle(fact))
    });
    adopt(unit, repo, reason, None).into_iter().chain(tokens).collect()
}

fn wrong_state(unit: &Unit, phase: &Phase, command: &Command) -> Refusal {
    let why = match phase {
        Phase::Created => Some("it has not been started".to_owned()),
        Phase::Preparing => Some("its workspace is being prepared".to_owned()),
        Phase::Running(turn) => {
            Some(format!("round {}, {} has the turn as {}", unit.rounds.round, turn.agent, turn.seat))
        }
        Phase::WaitingHuman(_) => {
            unit.gate.questions.first().map(|open| format!("{} asked: {}", open.by, open.in_short()))
        }
        Phase::ReadyForApproval(_) => Some("the package waits for a person's decision".to_owned()),
        Phase::Approved(_) => Some("it is approved and waits for its commit".to_owned()),
        Phase::Committed(at) | Phase::Done(at) => Some(format!("its commit is {}", at.commit.short())),
        Phase::Failed { reason } => Some(reason.clone()),
        Phase::Cancelled => Some("a person stopped it, and that is final".to_owned()),
    };
    Refusal::WrongState { state: phase.name(), command: command.name(), why }
}
