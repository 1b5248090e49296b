//! A turn: its opening, the hand-over that ends it, and the tree that it leaves, with the verdict on a review.

use super::questions::{discussion, own_question, question_about};
use crate::bubble::command::{event, has_seat, open_row};
use crate::bubble::{
    BubbleState, Command, Decided, HeadSeen, PassCommand, Refusal, Stage, Turn, derived, hidden_from, key_of,
    missing_checks,
};
use crate::facts::{Answers, CheckPlace, Finding, Judgement, Receipt, RowState, Seat, Snapshot, Step, StepName};
use crate::findings::Row;
use crate::ids::{AgentId, FindingId, Party, TreeId};
use crate::log::{Body, Event, Evidence, Intent, Judged, Lifecycle, NextTurn, Pass, QuestionKind, Reason, Verdict};
use crate::policy::{Conclusion, Facts, Look};
use crate::rules::{BubbleKind, Check};
use crate::safe::{cut, safe};

/// A hand-over in a running bubble.
pub(crate) fn pass(state: &BubbleState, turn: &Turn, pass: &PassCommand) -> Result<Decided, Refusal> {
    may_act(state, turn, &pass.by, "pass")?;
    if turn.seat == Seat::Judge {
        return Err(only_judges(state, &pass.by));
    }
    if pass.summary.trim().is_empty() {
        return Err(Refusal::Empty { what: "the summary" });
    }
    admit_acceptance(turn, pass)?;
    blocked(state, turn.seat, &pass.blockers)?;
    let findings = declared(state, turn, pass)?;
    admit_answers(state, &pass.by, turn.seat, &pass.answers)?;
    steps_done(state, turn.seat, &pass.steps)?;
    admit_slices(turn, &pass.reviewed)?;
    on_its_branch(state, &pass.head)?;
    let inferred = match turn.seat {
        Seat::Implementer => Intent::Review,
        Seat::Reviewer if turn.acceptance => Intent::Task,
        Seat::Reviewer | Seat::Judge => Intent::FixRequest,
    };
    let body = Pass {
        summary: pass.summary.clone(),
        pass_intent: pass.intent.unwrap_or(inferred),
        findings,
        answers: pass.answers.clone(),
        explanation: pass.explanation.clone(),
        steps: pass.steps.clone(),
        discuss: pass.discuss,
        reviewed: pass.reviewed.clone(),
        judgement: None,
        acceptance: turn.acceptance,
    };
    let recipient = match turn.seat {
        Seat::Implementer => &state.rounds.seats.reviewer,
        Seat::Reviewer | Seat::Judge => &state.rounds.seats.implementer,
    };
    read_all_slices(state, turn, &pass.by, &body)?;
    admit_claim(state, pass, &body)?;
    if turn.seat == Seat::Reviewer && !turn.acceptance {
        derived::explained(state, &pass.by, &body)?;
    }
    let event = Event {
        sender: Party::Agent(pass.by.clone()),
        recipient: Party::Agent(recipient.clone()),
        round: state.rounds.round,
        body: Body::Pass(body),
        refs: pass.refs.clone(),
        in_reply_to: None,
        key: key_of(state, &Command::Pass(pass.clone())),
    };
    let mut events = vec![event];
    events.extend(pass.discuss.then(|| discussion(state, &pass.by, &pass.summary)));
    Ok(Decided::of(events))
}

/// A judge decides on one of the disputed findings.
pub(crate) fn judge(state: &BubbleState, turn: &Turn, command: &Command) -> Result<Decided, Refusal> {
    let Command::Judge { by, judgement, .. } = command else { return Err(Refusal::NotOwed) };
    may_act(state, turn, by, "judge")?;
    let (id, contested) = (judgement.finding, &state.rounds.contested);
    if turn.seat != Seat::Judge {
        return Err(Refusal::NotJudge { by: by.clone() });
    }
    if !contested.contains(&id) {
        return Err(Refusal::NotContested { id, contested: contested.clone() });
    }
    if judgement.reason.trim().is_empty() {
        return Err(Refusal::Empty { what: "the reason of a judgement" });
    }
    let Judgement { ruling, reason, .. } = judgement;
    let body = Pass {
        summary: format!("{id} {ruling}: {reason}"),
        pass_intent: Intent::Judgement,
        findings: None,
        answers: Answers::default(),
        explanation: None,
        steps: Vec::new(),
        discuss: false,
        reviewed: Vec::new(),
        judgement: Some(judgement.clone()),
        acceptance: false,
    };
    let recipient = Party::Agent(state.rounds.seats.implementer.clone());
    let event = event(state, body).by(Party::Agent(by.clone())).to(recipient);
    Ok(Decided::one(Event { key: key_of(state, command), ..event }))
}

/// Says that a judge has a dispute to decide, and nothing else to do.
pub(crate) fn only_judges(state: &BubbleState, by: &AgentId) -> Refusal {
    let (round, contested) = (state.rounds.round, state.rounds.contested.clone());
    Refusal::NothingToHandOver { by: by.clone(), round, contested }
}

/// Whether acceptance tests are given where they belong, and only there.
fn admit_acceptance(turn: &Turn, pass: &PassCommand) -> Result<(), Refusal> {
    let tests = pass.acceptance.as_ref();
    let given = tests.is_some_and(|tests| !tests.run.trim().is_empty() && !tests.files.is_empty());
    match turn.acceptance {
        true if given != pass.no_acceptance => Ok(()),
        true => Err(Refusal::NoAcceptance),
        false if tests.is_none() && !pass.no_acceptance => Ok(()),
        false => Err(Refusal::NoAcceptanceHere),
    }
}

/// Whether `by` may act now: it is its turn, the turn is open, and nobody paused.
pub(crate) fn may_act(
    state: &BubbleState,
    turn: &Turn,
    by: &crate::ids::AgentId,
    command: &'static str,
) -> Result<(), Refusal> {
    has_seat(state, by)?;
    if state.paused {
        return Err(Refusal::Paused { command });
    }
    let undecided = matches!(&turn.stage, Stage::Closing(handover) if handover.seat != Seat::Implementer);
    if turn.agent != *by && !undecided {
        let (holder, seat, round) = (turn.agent.clone(), turn.seat, state.rounds.round);
        return Err(Refusal::NotYourTurn { by: by.clone(), holder, seat, round });
    }
    if turn.is_open() {
        return Ok(());
    }
    let which = if undecided { "the next turn".to_owned() } else { format!("{}'s turn", turn.agent) };
    Err(Refusal::StillOpening { turn: which, owes: opening(state, turn) })
}

/// Says what is owed before a turn opens.
fn opening(state: &BubbleState, turn: &Turn) -> String {
    match &turn.stage {
        Stage::Closing(handover) => format!("the tree that {} left is not recorded yet", handover.by),
        Stage::Opening => match missing_checks(state).first() {
            Some((check, _)) => format!("the check '{}' has not finished", check.name),
            None => match state.facts().to_reproduce().next() {
                Some((finding, _)) => format!("the reproducer of {finding} has not finished"),
                None if !derived::fixes_to_test(state).is_empty() => "the test of a fix has not finished".to_owned(),
                None => "the notice is not out yet".to_owned(),
            },
        },
        Stage::Open => "it is open".to_owned(),
        Stage::Settled | Stage::Accepted | Stage::Certified => "the reviews suffice".to_owned(),
    }
}

/// What the hand-over declares, with names for the findings.
fn declared(state: &BubbleState, turn: &Turn, pass: &PassCommand) -> Result<Option<Vec<Finding>>, Refusal> {
    if turn.acceptance {
        let tests = pass.acceptance.iter().map(Finding::acceptance).collect::<Vec<_>>();
        return Ok(Some(state.ledger.name(&tests, &state.rules.risk)));
    }
    match (turn.seat, &pass.findings) {
        (Seat::Implementer, None) => Ok(pass.filed().map(|blockers| state.ledger.name(&blockers, &state.rules.risk))),
        (Seat::Implementer, Some(_)) => Err(Refusal::FindingsFromImplementer),
        (Seat::Judge, _) => Ok(None),
        (Seat::Reviewer, None) if pass.answers.reopened.is_empty() => Err(Refusal::NoDeclaration),
        (Seat::Reviewer, None) => Ok(Some(Vec::new())),
        (Seat::Reviewer, Some(findings)) => {
            repeated(state, &pass.by, findings)?;
            Ok(Some(state.ledger.name(findings, &state.rules.risk)))
        }
    }
}

/// Whether the rows that findings say to repeat are there, each named once.
fn repeated(state: &BubbleState, by: &AgentId, findings: &[Finding]) -> Result<(), Refusal> {
    let mut named = std::collections::BTreeSet::new();
    let hidden = hidden_from(state, by).findings;
    for id in findings.iter().filter_map(|finding| finding.repeats) {
        if state.ledger.get(id).is_none() || hidden.contains(&id) {
            return Err(Refusal::UnknownFinding { id: id.to_string() });
        }
        if !named.insert(id) {
            return Err(Refusal::RepeatedTwice { id });
        }
    }
    Ok(())
}

/// Whether blockers may be given here.
fn blocked(state: &BubbleState, seat: Seat, blockers: &[String]) -> Result<(), Refusal> {
    let here = state.rules.kind == BubbleKind::Document && seat == Seat::Implementer;
    if here || blockers.is_empty() { Ok(()) } else { Err(Refusal::NoBlockersHere { seat }) }
}

/// Whether a document went through the steps of its protocol: the dry run of its implementer, all of them in a review.
fn steps_done(state: &BubbleState, seat: Seat, steps: &[Step]) -> Result<(), Refusal> {
    if state.rules.kind != BubbleKind::Document {
        return if steps.is_empty() { Ok(()) } else { Err(Refusal::NoStepsHere) };
    }
    let done = |name: &StepName| steps.iter().any(|step| step.step == *name && !step.result.trim().is_empty());
    let foreign = steps.iter().find(|step| step.step != StepName::DryRun);
    let missing: Vec<_> = StepName::ALL.into_iter().filter(|name| !done(name)).map(StepName::name).collect();
    match (seat, foreign) {
        (Seat::Implementer, Some(step)) => Err(Refusal::StepOfReviewer { step: step.step.name() }),
        (Seat::Implementer, None) if !done(&StepName::DryRun) => Err(Refusal::NoOutline),
        (Seat::Reviewer, _) if !missing.is_empty() => Err(Refusal::StepsMissing { missing }),
        _ => Ok(()),
    }
}

/// Whether the worktree is on the bubble's own branch.
fn on_its_branch(state: &BubbleState, head: &HeadSeen) -> Result<(), Refusal> {
    let branch = &state.rules.bubble_branch;
    let worktree = state.evidence.workspace.as_ref().map_or_else(String::new, |workspace| workspace.path.clone());
    let at = match head {
        HeadSeen::Branch(name) if name == branch => return Ok(()),
        HeadSeen::Branch(name) => format!("on branch {name}"),
        HeadSeen::Detached => "on a detached HEAD".to_owned(),
        HeadSeen::Missing => return Err(Refusal::WorktreeGone { worktree }),
    };
    Err(Refusal::WrongBranch { at, branch: branch.clone(), worktree })
}

/// How many lines of a program's output are quoted in a question, and how many columns of each.
const QUOTED: (usize, usize) = (8, 160);

/// Refuses answers that are not this seat's, or that speak of no open row.
fn admit_answers(state: &BubbleState, by: &AgentId, seat: Seat, answers: &Answers) -> Result<(), Refusal> {
    let foreign = match seat {
        Seat::Implementer => answers.of_reviewer().next(),
        Seat::Reviewer => answers.of_implementer().chain(answers.shown()).next(),
        Seat::Judge => answers.of_implementer().chain(answers.of_reviewer()).next(),
    };
    if foreign.is_some() {
        return Err(Refusal::AnswersOfOtherSeat { seat });
    }
    if answers.disputed.iter().any(|dispute| dispute.reason.trim().is_empty()) {
        return Err(Refusal::Empty { what: "the reason of a dispute" });
    }
    // What an agent is not shown does not exist for it.
    let hidden = hidden_from(state, by).findings;
    let named = answers.of_reviewer().chain(answers.retracted.iter().copied());
    if let Some(id) = named.into_iter().find(|id| hidden.contains(id)) {
        return Err(Refusal::UnknownFinding { id: id.to_string() });
    }
    for id in answers.of_implementer().chain(answers.confirmed.iter().copied()) {
        open_row(state, id)?;
    }
    for id in &answers.reopened {
        match state.ledger.get(*id) {
            None => return Err(Refusal::UnknownFinding { id: id.to_string() }),
            Some(row) if row.state == RowState::Waived => return Err(Refusal::WaivedByPerson { id: *id }),
            Some(row) if row.state == RowState::Dismissed => return Err(Refusal::Dismissed { id: *id }),
            Some(_) => {}
        }
    }
    if let Some(id) = answers.shown().find(|id| !answers.fixed.contains(id)) {
        return Err(Refusal::NotFixed { id });
    }
    let reasons = answers.untestable.iter().map(|one| (&one.reason, "the reason why a fix has no test"));
    let empty = |(text, _): &(&String, _)| text.trim().is_empty();
    if let Some((_, what)) =
        reasons.chain(answers.tests.iter().map(|one| (&one.command, "the test of a fix"))).find(empty)
    {
        return Err(Refusal::Empty { what });
    }
    let untestable = |id: &FindingId| answers.untestable.iter().any(|one| one.finding == *id);
    if let Some(test) = answers.tests.iter().find(|test| untestable(&test.finding)) {
        return Err(Refusal::TwoAnswers { id: test.finding });
    }
    let decided = |id: &FindingId| state.ledger.get(*id).is_some_and(Row::must_be_fixed);
    if let Some(dispute) = answers.disputed.iter().find(|dispute| decided(&dispute.finding)) {
        return Err(Refusal::DecidedByPerson { id: dispute.finding });
    }
    answers.retracted.iter().try_for_each(|id| retractable(state, by, *id))?;
    let disputed = |id: &FindingId| answers.disputed.iter().any(|dispute| dispute.finding == *id);
    let twice = answers.confirmed.iter().find(|id| answers.reopened.contains(id));
    if let Some(id) = twice.or_else(|| answers.fixed.iter().find(|id| disputed(id))) {
        return Err(Refusal::TwoAnswers { id: *id });
    }
    let confirmed =
        |is: fn(&Row) -> bool| answers.confirmed.iter().filter(move |id| state.ledger.get(**id).is_some_and(is));
    let proven = confirmed(Row::proven).find(|id| !answers.retracted.contains(id));
    match (proven, confirmed(Row::unresolved).next()) {
        (Some(id), _) => Err(Refusal::StillFails { id: *id }),
        (None, Some(id)) => Err(Refusal::Unresolved { id: *id }),
        (None, None) => Ok(()),
    }
}

/// Whether `by` may take back the reproducer of row `id`: it is the one who brought it.
fn retractable(state: &BubbleState, by: &AgentId, id: FindingId) -> Result<(), Refusal> {
    let Some(row) = state.ledger.get(id) else { return Err(Refusal::UnknownFinding { id: id.to_string() }) };
    match row.reproducer_by() {
        None => Err(Refusal::NoReproducer { id }),
        Some(author) if author != by => Err(Refusal::NotItsReproducer { id, author: author.clone() }),
        Some(_) => Ok(()),
    }
}

/// Refuses a review that asks for changes and would count as a clean one all the same, because nothing in it blocks.
fn admit_claim(state: &BubbleState, pass: &PassCommand, body: &Pass) -> Result<(), Refusal> {
    match pass.insists && derived::would_be_clean(state, &pass.by, body) {
        true => Err(Refusal::NothingBlocks),
        false => Ok(()),
    }
}

/// Refuses the number of a slice that this turn does not have.
pub(crate) fn admit_slices(turn: &Turn, reviewed: &[u32]) -> Result<(), Refusal> {
    let (of, count, limit) = (turn.slices, reviewed.len(), turn.slices as usize);
    if of > 0 && count > limit {
        return Err(Refusal::TooMany { what: "slices", count, limit });
    }
    match reviewed.iter().find(|number| **number == 0 || **number > of) {
        Some(number) => Err(Refusal::NoSuchSlice { number: *number, of }),
        None => Ok(()),
    }
}

/// Returns the slices of this turn that are not among `reviewed`.
pub(crate) fn missing_slices(turn: &Turn, reviewed: &[u32]) -> Vec<u32> {
    (1..=turn.slices).filter(|number| !reviewed.contains(number)).collect()
}

/// Refuses a hand-over that would count as clean, or that says to have found nothing, although not all was read.
fn read_all_slices(state: &BubbleState, turn: &Turn, by: &AgentId, pass: &Pass) -> Result<(), Refusal> {
    let missing = missing_slices(turn, &pass.reviewed);
    if missing.is_empty() {
        return Ok(());
    }
    let nothing = pass.findings.as_ref().is_some_and(Vec::is_empty) && pass.answers.reopened.is_empty();
    let clean = derived::would_be_clean(state, by, pass);
    if nothing || clean { Err(Refusal::SlicesMissing { missing, of: turn.slices }) } else { Ok(()) }
}

/// A snapshot was taken: after a hand-over, or because the tree was not the expected one.
pub(crate) fn snapshot(state: &BubbleState, snapshot: &Snapshot) -> Result<Decided, Refusal> {
    let stage = state.phase.turn().map(|turn| &turn.stage);
    let owed = match stage {
        Some(Stage::Closing(handover)) => snapshot.author == handover.author(),
        Some(Stage::Opening) => {
            snapshot.author == found_author(state, &snapshot.tree) && state.tree() != Some(&snapshot.tree)
        }
        _ => false,
    };
    if !owed {
        return Err(Refusal::NotOwed);
    }
    let fact = Evidence::Snapshot { snapshot: snapshot.clone() };
    let verdict = verdict_on_handover(state, snapshot).map(Body::Verdict);
    let bodies = std::iter::once(Body::Evidence(fact)).chain(verdict);
    Ok(Decided::of(bodies.map(|body| event(state, body)).collect()))
}

/// The verdict on the review or judgement that left `snapshot`; nothing if it was the implementer who left it.
pub(crate) fn verdict_on_handover(state: &BubbleState, snapshot: &Snapshot) -> Option<Verdict> {
    let Stage::Closing(handover) = &state.phase.turn()?.stage else { return None };
    let changed = state.tree() != Some(&snapshot.tree);
    match handover.seat {
        Seat::Implementer => return None,
        Seat::Judge => {
            let on = Judged::Dispute { by: handover.by.clone(), round: handover.round };
            return Some(state.policy().after_dispute(state.facts(), changed).verdict(state.policy(), on));
        }
        Seat::Reviewer => {}
    }
    let look = Look {
        by: &handover.by,
        round: handover.round,
        discuss: handover.discuss,
        tree_changed: changed,
        checks_changed: handover.checks_changed,
        waived_later: &handover.waived,
    };
    let on = Judged::Review { by: handover.by.clone(), round: handover.round };
    let (policy, facts) = (state.policy(), state.facts());
    Some(with_evidence(policy.after_review(facts, &look), facts, &look).verdict(policy, on))
}

/// Keeps a policy from accepting what nobody has reviewed or checked: such work would never be accepted, and nobody would
/// have the turn. It is reviewed again instead.
fn with_evidence(mut conclusion: Conclusion, facts: Facts<'_>, look: &Look<'_>) -> Conclusion {
    if look.tree_changed {
        conclusion.clean = None;
    }
    let changed = look.tree_changed.then_some(Reason::TreeChanged);
    let lacking =
        facts.without_evidence(&[]).chain(look.checks_changed.then_some(Reason::ChecksChanged)).chain(changed);
    let lacking: Vec<_> = lacking.collect();
    if conclusion.next == NextTurn::Accept && !lacking.is_empty() {
        conclusion = Conclusion { clean: None, next: NextTurn::Review, reasons: lacking, ..conclusion };
    }
    conclusion
}

/// Says whose changes those are that are found before a turn opens, in `tree`.
///
/// Spec: they belong to the person, unless an agent has just handed over: nobody knows whether it is still at work. What
/// the worktree was made with is pairflow's own.
pub fn found_author(state: &BubbleState, tree: &TreeId) -> Option<Party> {
    let made = state.evidence.workspace.as_ref().and_then(|record| record.ground.tree.as_ref());
    match state.phase.turn() {
        _ if state.evidence.snapshot.is_none() && made == Some(tree) => Some(Party::Orchestrator),
        Some(turn) if turn.follows_handover => None,
        _ => Some(Party::Human),
    }
}

/// The reproducer of a finding was run on the newest snapshot.
pub(crate) fn reproduced(state: &BubbleState, finding: FindingId, receipt: &Receipt) -> Result<Decided, Refusal> {
    let here = state.tree() == Some(&receipt.tree);
    let wanted = state.facts().to_reproduce().any(|(id, command)| id == finding && command == receipt.command);
    if !here || !wanted {
        return Err(Refusal::NotOwed);
    }
    let fact = Evidence::Reproduced { finding, receipt: receipt.clone() };
    Ok(Decided::one(event(state, fact)))
}

/// The test of a fix was run without the fix, and with it.
pub(crate) fn fix_tested(state: &BubbleState, command: &Command) -> Result<Decided, Refusal> {
    let Command::FixTested { finding, before, after } = command else { return Err(Refusal::NotOwed) };
    let wanted = derived::fixes_to_test(state);
    let wanted = wanted.iter().any(|fix| {
        let there = before.tree == fix.before && before.command == fix.command;
        fix.finding == *finding && there && after.iter().all(|after| Some(&after.tree) == state.tree())
    });
    if !wanted {
        return Err(Refusal::NotOwed);
    }
    let fact = Evidence::FixTested { finding: *finding, before: before.clone(), after: after.clone() };
    Ok(Decided::one(event(state, fact)))
}

/// A check was run where it was owed.
pub(crate) fn checked(state: &BubbleState, receipt: &Receipt) -> Result<Decided, Refusal> {
    let is_this = |(check, place): &(&Check, CheckPlace)| {
        check.name == receipt.check && check.command == receipt.command && *place == receipt.place
    };
    let wanted = missing_checks(state).iter().any(is_this);
    if !wanted || state.tree() != Some(&receipt.tree) || state.has_given_up(&receipt.check) {
        return Err(Refusal::NotOwed);
    }
    let fact = Evidence::Receipt { receipt: receipt.clone() };
    Ok(Decided::one(event(state, fact)))
}

/// Everything before a turn is done.
pub(crate) fn open(state: &BubbleState, turn: &Turn, number: u32, slices: u32) -> Result<Decided, Refusal> {
    let ready = turn.stage == Stage::Opening && turn.number == number && !state.paused && !state.gate.updating;
    let untried = state.facts().to_reproduce().next().is_some() || !derived::fixes_to_test(state).is_empty();
    if !ready || untried || !missing_checks(state).is_empty() {
        return Err(Refusal::NotOwed);
    }
    let fact = Lifecycle::TurnOpened { turn: number, seat: turn.seat, agent: turn.agent.clone(), slices };
    let mut event = event(state, fact);
    event.recipient = Party::Agent(turn.agent.clone());
    Ok(Decided::one(event))
}

/// The process of the agent whose turn it is ended without a hand-over.
pub(crate) fn agent_ended(
    state: &BubbleState,
    turn: &Turn,
    number: u32,
    said: (&str, &str),
) -> Result<Decided, Refusal> {
    if !turn.is_open() || turn.number != number || state.paused {
        return Err(Refusal::NotOwed);
    }
    let (id, agent, round, seat) = (&state.id, &turn.agent, state.rounds.round, turn.seat);
    let (how, output) = said;
    let look = match state.notifies() {
        true => format!("Look at its output with 'pairflow attach {id}'"),
        false => format!("Look at what it did with 'pairflow log {id}'"),
    };
    let question = format!(
        "{agent} ended {how} without handing over (round {round}, as {seat}).{}{look}, then go on with 'pairflow resume {id}'.",
        last_lines(output)
    );
    Ok(Decided::one(question_about(state, &turn.agent, QuestionKind::AgentEnded, question)))
}

/// Quotes the end of what a program printed, as a part between two sentences.
fn last_lines(output: &str) -> String {
    let clean = safe(output);
    let lines: Vec<_> = clean.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(QUOTED.0)..];
    let quoted: String = last.iter().map(|line| format!("\n  {}", cut((*line).to_owned(), QUOTED.1))).collect();
    if quoted.is_empty() { " ".to_owned() } else { format!(" Its last lines:{quoted}\n") }
}

/// An effect failed again and again.
pub(crate) fn trouble(state: &BubbleState, reason: &str) -> Decided {
    Decided::one(own_question(state, QuestionKind::Trouble, reason.to_owned()))
}
