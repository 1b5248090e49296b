//! The life of a bubble: start, configuration, merges of the base, acceptance, approval, commit, end.

use super::{questions, turn};
use crate::bubble::command::{by_person, event, has_seat, not_updating};
use crate::bubble::derived::Claimed;
use crate::bubble::{
    Approval, BubbleState, Command, Committed, Decided, Package, Phase, Refusal, Stage, Turn, hidden_from, key_of,
};
use crate::config::{Until, changes, changes_until};
use crate::facts::Seat;
use crate::ids::{AgentId, CommitId, Party, TreeId};
use crate::log::{
    ApprovalDecision, ApprovalRequest, Body, CommitIdentity, Conflict, Convergence, DonePackage, Event, Evidence,
    GateDecision, Judged, Lifecycle, MAX_ESCAPED, QuestionKind, Task, Verdict, Warning, WorkspaceRecord,
};
use crate::policy;
use crate::policy::{Facts, Unmet, waivers};
use crate::progress::CheckState;
use crate::rules::Rules;
use crate::text::list;

/// A start is asked for.
pub(crate) fn start(state: &BubbleState, rules: &Rules) -> Result<Decided, Refusal> {
    checkable(rules)?;
    let rules = Box::new(policy::with_version(rules.clone()));
    Ok(Decided::one(event(state, Lifecycle::StartRequested { rules })))
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
pub(crate) fn ready(state: &BubbleState, workspace: &WorkspaceRecord) -> Decided {
    let task = Task {
        task: state.about.task.clone(),
        acceptance_criteria: state.about.acceptance_criteria.clone(),
        scope: state.rules.scope.clone(),
    };
    let out = Event::own(1, Body::Task(task)).to(Party::Agent(state.rules.agents.implementer.clone()));
    Decided::of(vec![event(state, Lifecycle::WorkspaceReady { workspace: workspace.clone() }), out])
}

/// The workspace could not be made; the bubble can be started again.
pub(crate) fn start_failed(state: &BubbleState, reason: &str) -> Decided {
    Decided::one(event(state, Lifecycle::StartFailed { reason: reason.to_owned() }))
}

/// An agent process is about to be let in; its old token is void.
pub(crate) fn mint(state: &BubbleState, agent: &AgentId, token_sha256: &str) -> Result<Decided, Refusal> {
    has_seat(state, agent)?;
    let fact = Lifecycle::TokenMinted { agent: agent.clone(), token_sha256: token_sha256.to_owned() };
    Ok(Decided::one(event(state, fact)))
}

/// The person adopts what git says now about who commits.
pub(crate) fn set_identity(state: &BubbleState, identity: &CommitIdentity) -> Decided {
    if state.about.identity.as_ref() == Some(identity) {
        return Decided::default();
    }
    Decided::one(event(state, Lifecycle::IdentitySet { identity: identity.clone() }))
}

/// The base branch is to be merged while a turn is interrupted.
pub(crate) fn update_paused(state: &BubbleState) -> Result<Decided, Refusal> {
    if state.paused {
        return Ok(update(state));
    }
    let why = match state.phase {
        Phase::WaitingHuman(_) => "its turn continues once you answer; pause the bubble first",
        _ => "an agent is working; pause the bubble first",
    };
    Err(Refusal::Untimely { state: state.phase.name(), command: "update", why, first: "pause" })
}

/// The base branch is to be merged.
pub(crate) fn update(state: &BubbleState) -> Decided {
    if state.gate.updating {
        return Decided::default();
    }
    Decided::one(event(state, Lifecycle::UpdateRequested { resolved: None }))
}

/// The merge that `update` asks for is to be made again, now that the person has resolved its conflict.
pub(crate) fn update_resolved(state: &BubbleState, mut update: Decided) -> Result<Decided, Refusal> {
    let Some(conflict) = &state.gate.conflict else {
        let why = "no update has met a conflict, so there is nothing to resolve";
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
pub(crate) fn update_approved(state: &BubbleState, at: &Approval) -> Result<Decided, Refusal> {
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
pub(crate) fn updated(state: &BubbleState, command: &Command) -> Result<Decided, Refusal> {
    let Command::UpdateMade { base, base_tree, snapshots, same_patch } = command else {
        return Err(Refusal::NotOwed);
    };
    if state.phase.turn().is_some_and(|turn| matches!(turn.stage, Stage::Closing(_))) {
        return Err(Refusal::NotOwed);
    }
    // Work that was changed since its review is not what was reviewed.
    let same_patch = *same_patch && snapshots.len() == 1;
    let fact = Lifecycle::Updated { base: base.clone(), base_tree: base_tree.clone(), same_patch };
    let mut events = vec![event(state, fact)];
    for snapshot in snapshots {
        let fact = Evidence::Snapshot { snapshot: snapshot.clone() };
        events.push(event(state, fact));
    }
    events.extend(verdict_on_merge(state, same_patch).map(|verdict| event(state, verdict)));
    events.extend(questions::another_tree(state));
    Ok(Decided::of(events))
}

/// The verdict on a merge of the base; nothing unless the reviews suffice.
pub(crate) fn verdict_on_merge(state: &BubbleState, same_patch: bool) -> Option<Verdict> {
    let settled = |turn: &Turn| matches!(turn.stage, Stage::Settled | Stage::Accepted);
    let accepted = matches!(state.phase, Phase::ReadyForApproval(_) | Phase::Approved(_));
    (accepted || state.phase.turn().is_some_and(settled)).then(|| {
        let policy = state.policy();
        policy.after_merge(state.facts(), same_patch).verdict(policy, Judged::Merge)
    })
}

/// The base branch could not be merged; nothing has changed.
pub(crate) fn update_failed(state: &BubbleState, reason: &str, conflict: &Option<Conflict>) -> Decided {
    let fact = Lifecycle::UpdateFailed { reason: reason.to_owned(), conflict: conflict.clone() };
    Decided::one(event(state, fact))
}

/// The person changes the configuration. What a waiting package was judged by stays as it was.
pub(crate) fn configure(state: &BubbleState, rules: &Rules) -> Result<Decided, Refusal> {
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
        let why = "the work was judged by the current values; send it back first";
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
    let configured = by_person(state, Lifecycle::Configured { rules: rules_in_force, changes, recheck });
    let verdict = verdict_with_rules(state, rules).map(|verdict| event(state, verdict));
    let answers = questions::try_again(state, |check| set_up_anew || other.contains(check));
    Ok(Decided::of(std::iter::once(configured).chain(verdict).chain(answers).collect()))
}

/// The verdict on clean reviews that rest on checks which `rules` change; nothing if there are none.
pub(crate) fn verdict_with_rules(state: &BubbleState, rules: &Rules) -> Option<Verdict> {
    let changed = !state.rules.changed_checks(rules).is_empty() && any_missing(state, rules);
    let settled = state.phase.turn().is_some_and(|turn| turn.stage == Stage::Settled);
    (changed && (settled || !state.rounds.streak.is_empty())).then(|| questions::no_longer_clean(state, Judged::Checks))
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
pub(crate) fn stop(state: &BubbleState, reason: &str) -> Decided {
    Decided::one(event(state, Lifecycle::Cancelled { reason: reason.to_owned() }))
}

/// Something is lost that the bubble cannot go on without.
pub(crate) fn give_up(state: &BubbleState, reason: &str) -> Decided {
    Decided::one(event(state, Lifecycle::Failed { reason: reason.to_owned() }))
}

impl Refusal {
    /// What is written down of a command that was refused.
    pub fn warning(&self, command: &Command) -> Warning {
        let unmet = match self {
            Self::NotConverged { unmet } => unmet.as_slice(),
            _ => &[],
        };
        Warning {
            command: command.name().to_owned(),
            reason: self.to_string(),
            unmet: unmet.iter().map(ToString::to_string).collect(),
        }
    }
}

/// An agent claims convergence in a running bubble.
pub(crate) fn claim(state: &BubbleState, at: &Turn, by: &AgentId, command: &Command) -> Result<Decided, Refusal> {
    let Command::Converged { summary, refs, seen, explanation, reviewed, .. } = command else {
        return Err(Refusal::NotOwed);
    };
    if at.agent == *by && at.seat == Seat::Implementer {
        return Err(Refusal::NotReviewer { by: by.clone(), seat: at.seat, round: state.rounds.round });
    }
    turn::may_act(state, at, by, "converged")?;
    match at.seat {
        Seat::Judge => return Err(turn::only_judges(state, by)),
        _ if at.acceptance => return Err(Refusal::NoAcceptance),
        // What is missing would tell what the others found.
        _ if !hidden_from(state, by).agents.is_empty() => return Err(Refusal::FirstLook),
        _ => {}
    }
    if summary.trim().is_empty() {
        return Err(Refusal::Empty { what: "the summary" });
    }
    turn::admit_slices(at, reviewed)?;
    let claimed = Claimed::of(state, by, explanation.as_ref());
    let mut unmet = state.policy().unmet(claimed.facts(state));
    // What was asked because nothing was heard of the agent is withdrawn with its claim.
    unmet.retain(|criterion| !matches!(criterion, Unmet::Questions(_)) || !state.is_asked_only_about(by));
    let unread = turn::missing_slices(at, reviewed);
    if !unread.is_empty() {
        unmet.push(Unmet::Slices(unread));
    }
    if !seen.differing.is_empty() || state.tree() != Some(&seen.tree) {
        unmet.push(Unmet::TreeChanged(seen.differing.clone()));
    }
    if !unmet.is_empty() {
        return Err(Refusal::NotConverged { unmet });
    }
    let sender = Party::Agent(by.clone());
    let mut event = accept(state, claimed.facts(state), summary, Vec::new()).ok_or(Refusal::NotOwed)?;
    event.sender = sender;
    event.refs.clone_from(refs);
    event.key = key_of(state, command);
    if let Body::Convergence(claim) = &mut event.body {
        claim.explanation.clone_from(explanation);
        claim.reviewed.clone_from(reviewed);
    }
    Ok(Decided::one(event))
}

/// Accepts work for which every criterion holds, or which a person has accepted at a tie-break.
pub(crate) fn conclude(state: &BubbleState) -> Option<Event> {
    let Phase::Running(turn) = &state.phase else { return None };
    let (facts, unmet) = (state.facts(), state.unmet());
    match (&turn.stage, unmet.as_slice()) {
        (Stage::Accepted, unmet) => accept(state, facts, "accepted by a person at a tie-break", waivers(facts, unmet)),
        (Stage::Settled, _) if state.paused => None,
        (Stage::Settled, [Unmet::Comprehension]) => Some(comprehension(state)),
        (Stage::Settled, []) => {
            let summary = state.gate.summaries.back().map(|said| said.summary.clone()).unwrap_or_default();
            accept(state, facts, &summary, Vec::new())
        }
        _ => None,
    }
}

/// The question whether the person has understood the document.
fn comprehension(state: &BubbleState) -> Event {
    let files = state.evidence.snapshot.iter().flat_map(|snapshot| &snapshot.changed).map(|file| file.path.clone());
    let files: Vec<_> = files.collect();
    let explained = state.gate.explanation.parts().into_iter().filter(|(_, text)| !text.is_empty());
    let explained: Vec<_> = explained.map(|(name, text)| format!("{name}: {text}")).collect();
    let question = format!(
        "the document is reviewed ({}). Have you read and understood it? `--decision accept` confirms it; anything else \
         goes to the implementer. {}",
        list(&files),
        explained.join("\n")
    );
    questions::own_question(state, QuestionKind::Comprehension, question.trim_end().to_owned())
}

/// The acceptance of what `facts` say, with what a person `waived`.
///
/// Returns nothing while there is no snapshot, or a check has not passed.
fn accept(state: &BubbleState, facts: Facts<'_>, summary: &str, waived: Vec<String>) -> Option<Event> {
    let certificate = state.policy().certify(facts, waived)?;
    let (summary, reviewed) = (summary.to_owned(), Vec::new());
    let body = Body::Convergence(Convergence { summary, certificate, explanation: None, reviewed });
    Some(event(state, body).to(Party::Orchestrator))
}

/// The package of accepted work was rendered: a person decides on it.
pub(crate) fn packaged(state: &BubbleState, turn: &Turn, package: &Package) -> Result<Decided, Refusal> {
    let certificate = state.gate.certificate.as_ref().filter(|_| turn.stage == Stage::Certified);
    let Some(certificate) = certificate else { return Err(Refusal::NotOwed) };
    let Package { name, commit_message, sha256 } = package.clone();
    let mut fact = event(
        state,
        ApprovalRequest {
            tree: certificate.tree.clone(),
            commit_message,
            package: name.clone(),
            package_sha256: sha256,
        },
    );
    fact.refs.push(format!("artifact://{name}"));
    Ok(Decided::one(fact))
}

/// The person approves what was shown, provided that the worktree still is what was reviewed.
pub(crate) fn approve(state: &BubbleState, package: &ApprovalRequest, command: &Command) -> Result<Decided, Refusal> {
    let Command::Approve { package_sha256, seen, .. } = command else { return Err(Refusal::NotOwed) };
    not_updating(state, "approve")?;
    if *package_sha256 != package.package_sha256 {
        return Err(Refusal::AnotherPackage.lost_race());
    }
    if seen.tree != package.tree {
        return Err(Refusal::WorktreeDiffers { files: seen.differing.clone() });
    }
    let decision = ApprovalDecision {
        decision: GateDecision::Approve,
        tree: package.tree.clone(),
        message: String::new(),
        findings: Vec::new(),
    };
    Ok(Decided::one(decision_event(state, decision, command)))
}

/// The person sends the work back.
pub(crate) fn rework(state: &BubbleState, tree: &TreeId, command: &Command) -> Result<Decided, Refusal> {
    let Command::Rework { message, reject, findings, refs, .. } = command else { return Err(Refusal::NotOwed) };
    if message.trim().is_empty() && findings.is_empty() {
        return Err(Refusal::Empty { what: "the message" });
    }
    if let Some(id) = findings.iter().find(|id| !state.ledger.open().any(|row| row.id == **id)) {
        return Err(Refusal::UnknownFinding { id: id.to_string() });
    }
    let decision = ApprovalDecision {
        decision: if *reject { GateDecision::Reject } else { GateDecision::Revise },
        tree: tree.clone(),
        message: message.clone(),
        findings: findings.clone(),
    };
    let mut event = decision_event(state, decision, command);
    event.refs.clone_from(refs);
    Ok(Decided::one(event))
}

/// The person sends approved work back; the approval is withdrawn.
pub(crate) fn rework_approved(state: &BubbleState, at: &Approval, command: &Command) -> Result<Decided, Refusal> {
    if at.commit.is_some() {
        return Err(Refusal::CommitUnderWay);
    }
    rework(state, &at.request.tree, command)
}

/// The person ends a bubble whose work is approved.
///
/// A commit that is under way may be made already; it has to be in the log before the bubble ends.
pub(crate) fn stop_approved(state: &BubbleState, at: &Approval, reason: &str) -> Result<Decided, Refusal> {
    if at.commit.is_some() {
        return Err(Refusal::CommitUnderWay);
    }
    Ok(stop(state, reason))
}

/// The person asks for the commit.
pub(crate) fn commit(state: &BubbleState, at: &Approval, command: &Command) -> Result<Decided, Refusal> {
    let Command::Commit { message, override_scope, hooks, author } = command else { return Err(Refusal::NotOwed) };
    not_updating(state, "commit")?;
    if at.commit.is_some() {
        return Err(Refusal::CommitUnderWay);
    }
    let out_of_scope =
        state.evidence.snapshot.as_ref().map(|snapshot| snapshot.out_of_scope.clone()).unwrap_or_default();
    match override_scope {
        Some(reason) if reason.trim().is_empty() => return Err(Refusal::Empty { what: "the reason of the override" }),
        None if !out_of_scope.is_empty() => return Err(Refusal::OutOfScope { files: out_of_scope }),
        _ => {}
    }
    let message = message.clone().unwrap_or_else(|| at.request.commit_message.clone());
    if message.trim().is_empty() {
        return Err(Refusal::Empty { what: "the commit message" });
    }
    let (override_scope, author) = (override_scope.clone(), author.clone());
    let order = Lifecycle::CommitRequested { message, override_scope, hooks: *hooks, author };
    Ok(Decided::one(event(state, order)))
}

/// The commit was made.
pub(crate) fn made(
    state: &BubbleState,
    at: &Approval,
    commit: &CommitId,
    old_tip: &Option<CommitId>,
) -> Result<Decided, Refusal> {
    if at.commit.is_none() {
        return Err(Refusal::NotOwed);
    }
    let fact = Lifecycle::Committed { commit: commit.clone(), old_tip: old_tip.clone() };
    Ok(Decided::one(event(state, fact)))
}

/// The commit could not be made; it can be asked for again.
pub(crate) fn failed(state: &BubbleState, at: &Approval, reason: &str) -> Result<Decided, Refusal> {
    if at.commit.is_none() {
        return Err(Refusal::NotOwed);
    }
    Ok(Decided::one(event(state, Lifecycle::CommitFailed { reason: reason.to_owned() })))
}

/// The done package is recorded.
pub(crate) fn done(state: &BubbleState, at: &Committed) -> Decided {
    let summary = at.request.commit_message.lines().next().unwrap_or_default().to_owned();
    let body = DonePackage {
        commit: at.commit.clone(),
        tree: at.tree.clone(),
        package: at.request.package.clone(),
        package_sha256: at.request.package_sha256.clone(),
        summary,
    };
    let mut fact = event(state, body);
    fact.refs.push(format!("artifact://{}", at.request.package));
    Decided::one(fact)
}

/// The bubble's commit reached the base branch.
pub(crate) fn merged(state: &BubbleState, commit: &CommitId) -> Decided {
    if state.gate.merged.as_ref() == Some(commit) {
        return Decided::default();
    }
    Decided::one(event(state, Lifecycle::Merged { commit: commit.clone() }))
}

/// The person found a defect in work that is done. The same defect is recorded once.
pub(crate) fn escaped(state: &BubbleState, command: &Command) -> Result<Decided, Refusal> {
    let Command::Escaped { severity, text } = command else { return Err(Refusal::NotOwed) };
    let (severity, text) = (*severity, text.trim().to_owned());
    match state.gate.escaped.iter().find(|known| known.text == text) {
        Some(known) if known.severity == severity => return Ok(Decided::default()),
        Some(known) => return Err(Refusal::EscapedAlready { severity: known.severity }),
        None if state.gate.escaped.len() >= MAX_ESCAPED => return Err(Refusal::TooManyEscaped),
        None => {}
    }
    let fact = by_person(state, Lifecycle::Escaped { severity, text });
    Ok(Decided::one(Event { key: key_of(state, command), ..fact }))
}

fn decision_event(state: &BubbleState, decision: ApprovalDecision, command: &Command) -> Event {
    Event { key: key_of(state, command), ..by_person(state, decision) }
}
