//! The life of the bubble itself: starting, updating, stopping, and letting agents in.

use crate::config::{Until, changes, changes_until};

use crate::bubble::decided::own;
use crate::bubble::{Approval, BubbleState, Command, Decided, Phase, Refusal, Stage, Turn, answers, human};
use crate::ids::{AgentId, Party};
use crate::log::{Body, CommitIdentity, Conflict, Event, Evidence, Judged, Lifecycle, Task, Verdict, Workspace};
use crate::policy;
use crate::progress::CheckState;
use crate::rules::Rules;

/// A start is asked for.
pub(super) fn start(state: &BubbleState, rules: &Rules) -> Result<Decided, Refusal> {
    checkable(rules)?;
    let rules = Box::new(policy::with_version(rules.clone()));
    Ok(Decided::one(own(state, Lifecycle::StartRequested { rules })))
}

/// Refuses rules by which nothing would be checked.
fn checkable(rules: &Rules) -> Result<(), Refusal> {
    if rules.checks.is_empty() && rules.manual_checks.is_empty() {
        let why = "nothing would be checked: give a test command, or --no-tests with at least one --manual-check";
        return Err(Refusal::BadRules { why: why.to_owned() });
    }
    Ok(())
}

/// The workspace is there: the task goes out.
pub(super) fn ready(state: &BubbleState, workspace: &Workspace) -> Decided {
    let task = Task {
        task: state.about.task.clone(),
        acceptance_criteria: state.about.acceptance_criteria.clone(),
        scope: state.rules.scope.clone(),
    };
    let mut out = Event::own(1, Body::Task(task));
    out.recipient = Party::Agent(state.rules.agents.implementer.clone());
    Decided::of(vec![own(state, Lifecycle::WorkspaceReady { workspace: workspace.clone() }), out])
}

/// The workspace could not be made; the bubble can be started again.
pub(super) fn start_failed(state: &BubbleState, reason: &str) -> Decided {
    Decided::one(own(state, Lifecycle::StartFailed { reason: reason.to_owned() }))
}

/// An agent process is about to be let in; its old token is void.
pub(super) fn mint(state: &BubbleState, agent: &AgentId, token_sha256: &str) -> Result<Decided, Refusal> {
    if !state.rules.agents.contain(agent) {
        let known = state.rules.agents.all().map(|agent| agent.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Refusal::NoSeat { agent: agent.clone(), known });
    }
    let event = Lifecycle::TokenMinted { agent: agent.clone(), token_sha256: token_sha256.to_owned() };
    Ok(Decided::one(own(state, event)))
}

/// The person adopts what git says now about who commits.
pub(super) fn set_identity(state: &BubbleState, identity: &CommitIdentity) -> Decided {
    if state.about.identity.as_ref() == Some(identity) {
        return Decided::default();
    }
    Decided::one(own(state, Lifecycle::IdentitySet { identity: identity.clone() }))
}

/// The base branch is to be merged while a turn is interrupted.
pub(super) fn update_paused(state: &BubbleState) -> Result<Decided, Refusal> {
    if state.paused {
        return Ok(update(state));
    }
    let why = match state.phase {
        Phase::WaitingHuman(_) => "its turn goes on once you have answered, so the bubble has to be paused first",
        _ => "an agent is at work, and has to be paused first",
    };
    Err(Refusal::Untimely { state: state.phase.name(), command: "update", why, first: "pause" })
}

/// The base branch is to be merged.
pub(super) fn update(state: &BubbleState) -> Decided {
    if state.gate.updating {
        return Decided::default();
    }
    Decided::one(own(state, Lifecycle::UpdateRequested { resolved: None }))
}

/// The merge that `update` asks for is to be made again, now that the person has resolved its conflict.
pub(super) fn update_resolved(state: &BubbleState, mut update: Decided) -> Result<Decided, Refusal> {
    let Some(conflict) = &state.gate.conflict else {
        let why = "no update has met a conflict since, so there is none to resolve";
        return Err(Refusal::Untimely { state: state.phase.name(), command: "update", why, first: "update" });
    };
    for event in &mut update.events {
        if let Body::Lifecycle(Lifecycle::UpdateRequested { resolved }) = &mut event.body {
            *resolved = Some(conflict.clone());
        }
    }
    Ok(update)
}

/// The base branch is to be merged although the work is approved.
pub(super) fn update_approved(state: &BubbleState, at: &Approval) -> Result<Decided, Refusal> {
    if at.commit.is_some() {
        return Err(Refusal::CommitUnderWay);
    }
    Ok(update(state))
}

impl BubbleState {
    /// Says what a merge of the base branch takes away, as the object of a sentence; nothing if it costs nothing.
    /// `same_patch` says whether the work stays the same change.
    pub fn lost_by_update(&self, same_patch: bool) -> Option<String> {
        let lost = if same_patch { &[] } else { self.rounds.streak.as_slice() };
        let reviews: Vec<_> = lost.iter().map(|review| format!("{} (round {})", review.agent, review.round)).collect();
        let reviews = match reviews.len() {
            0 => None,
            1 => Some(format!("the clean review of {}", reviews[0])),
            _ => Some(format!("the clean reviews of {}", reviews.join(" and "))),
        };
        let approval = matches!(self.phase, Phase::Approved(_)).then(|| "your approval".to_owned());
        let lost: Vec<_> = reviews.into_iter().chain(approval).collect();
        (!lost.is_empty()).then(|| lost.join(", and "))
    }
}

/// The base branch was merged.
pub(super) fn updated(state: &BubbleState, command: &Command) -> Result<Decided, Refusal> {
    let Command::UpdateMade { base, base_tree, snapshots, same_patch } = command else {
        return Err(Refusal::NotOwed);
    };
    if state.phase.turn().is_some_and(|turn| matches!(turn.stage, Stage::Closing(_))) {
        return Err(Refusal::NotOwed);
    }
    // Work that was changed since its review is not what was reviewed.
    let same_patch = *same_patch && snapshots.len() == 1;
    let fact = Lifecycle::Updated { base: base.clone(), base_tree: base_tree.clone(), same_patch };
    let mut events = vec![own(state, fact)];
    for snapshot in snapshots {
        let fact = Evidence::Snapshot { snapshot: snapshot.clone() };
        events.push(Event::own(state.rounds.round, Body::Evidence(fact)));
    }
    events.extend(
        verdict_on_merge(state, same_patch).map(|verdict| Event::own(state.rounds.round, Body::Verdict(verdict))),
    );
    events.extend(human::another_tree(state));
    Ok(Decided::of(events))
}

/// The verdict on a merge of the base; nothing unless the reviews suffice.
pub(super) fn verdict_on_merge(state: &BubbleState, same_patch: bool) -> Option<Verdict> {
    let settled = |turn: &Turn| matches!(turn.stage, Stage::Settled | Stage::Accepted);
    let accepted = matches!(state.phase, Phase::ReadyForApproval(_) | Phase::Approved(_));
    (accepted || state.phase.turn().is_some_and(settled)).then(|| {
        let policy = state.policy();
        policy.after_merge(state.facts(), same_patch).verdict(policy, Judged::Merge)
    })
}

/// The base branch could not be merged; nothing has changed.
pub(super) fn update_failed(state: &BubbleState, reason: &str, conflict: &Option<Conflict>) -> Decided {
    let fact = Lifecycle::UpdateFailed { reason: reason.to_owned(), conflict: conflict.clone() };
    Decided::one(own(state, fact))
}

/// The person changes the configuration. What a waiting package was judged by stays as it was.
pub(super) fn configure(state: &BubbleState, rules: &Rules) -> Result<Decided, Refusal> {
    let changes = changes(&state.rules, rules);
    // Before the start nothing but the document that the work follows is settled.
    let created = state.phase == Phase::Created;
    let settled = if created { Until::Creation } else { Until::Start };
    let is_open = |key: &str| changes_until(key) > settled;
    let fixed: Vec<_> = changes.iter().map(|one| one.key.clone()).filter(|key| !is_open(key)).collect();
    if !fixed.is_empty() {
        return Err(Refusal::FixedKeys { keys: fixed });
    }
    checkable(rules)?;
    let judged = matches!(state.phase, Phase::ReadyForApproval(_) | Phase::Approved(_));
    if judged && changes.iter().any(|one| is_judged_by(&one.key)) {
        let why = "the work was judged by the present values, and has to be sent back first";
        return Err(Refusal::Untimely { state: state.phase.name(), command: "config", why, first: "request-rework" });
    }
    if changes.is_empty() {
        return Ok(Decided::default());
    }
    let (other, set_up_anew) = (state.rules.changed_checks(rules), state.rules.setup != rules.setup);
    let recheck = any_missing(state, rules) && (set_up_anew || !other.is_empty());
    // A change of the configuration leaves the policy and its version alone.
    let (policy, policy_version) = (state.rules.policy.clone(), state.rules.policy_version);
    let rules_in_force = Box::new(Rules { policy, policy_version, ..rules.clone() });
    let mut event = own(state, Lifecycle::Configured { rules: rules_in_force, changes, recheck });
    event.sender = Party::Human;
    event.recipient = Party::Orchestrator;
    let verdict =
        verdict_with_rules(state, rules).map(|verdict| Event::own(state.rounds.round, Body::Verdict(verdict)));
    let answers = human::try_again(state, |check| set_up_anew || other.contains(check));
    Ok(Decided::of(std::iter::once(event).chain(verdict).chain(answers).collect()))
}

/// The verdict on clean reviews that rest on checks which `rules` change; nothing if there are none.
pub(super) fn verdict_with_rules(state: &BubbleState, rules: &Rules) -> Option<Verdict> {
    let changed = !state.rules.changed_checks(rules).is_empty() && any_missing(state, rules);
    let settled = state.phase.turn().is_some_and(|turn| turn.stage == Stage::Settled);
    (changed && (settled || !state.rounds.streak.is_empty())).then(|| answers::no_longer_clean(state, Judged::Checks))
}

/// Whether a check has to run once `rules` are in force.
fn any_missing(state: &BubbleState, rules: &Rules) -> bool {
    let (other, set_up_anew) = (state.rules.changed_checks(rules), state.rules.setup != rules.setup);
    rules.checks.iter().any(|check| match state.check(&check.name) {
        CheckState::Missing => true,
        // What failed without the right setup command says nothing.
        CheckState::Failed(_) if set_up_anew => true,
        _ => other.contains(&check.name),
    })
}

/// Whether the value of a key has a say in what is accepted.
fn is_judged_by(key: &str) -> bool {
    changes_until(key) < Until::End
}

/// The person ends the bubble.
pub(super) fn stop(state: &BubbleState, reason: &str) -> Decided {
    Decided::one(own(state, Lifecycle::Cancelled { reason: reason.to_owned() }))
}

/// Something is lost that the bubble cannot go on without.
pub(super) fn give_up(state: &BubbleState, reason: &str) -> Decided {
    Decided::one(own(state, Lifecycle::Failed { reason: reason.to_owned() }))
}
