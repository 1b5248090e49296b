//! The person: questions and their answers, pauses, waivers. Also how pairflow asks its own questions and takes them back.

use crate::bubble::command::{by_person, event, has_seat, not_updating, open_row};
use crate::bubble::{BubbleState, Command, Decided, OpenQuestion, Refusal, Stage, Turn, key_of};
use crate::facts::RowState;
use crate::findings::Row;
use crate::ids::{AgentId, Party};
use crate::log::{
    Control, ControlAction, Decision, Event, Evidence, Judged, MAX_QUESTIONS, Question, QuestionKind, Reply, Verdict,
    Waivable,
};
use crate::policy::Facts;
use crate::progress::CheckState;

/// A question of pairflow's own.
pub(crate) fn own_question(state: &BubbleState, kind: QuestionKind, question: String) -> Event {
    event(state, Question::new(kind, question))
}

/// A question of pairflow's own about what these checks say.
pub(crate) fn question_of_checks<'a>(
    state: &BubbleState,
    kind: QuestionKind,
    question: String,
    checks: impl IntoIterator<Item = &'a str>,
) -> Event {
    let checks = checks.into_iter().map(str::to_owned).collect();
    event(state, Question { checks, ..Question::new(kind, question) })
}

/// A question of pairflow's own about the presence of `agent`.
pub(crate) fn question_about(state: &BubbleState, agent: &AgentId, kind: QuestionKind, question: String) -> Event {
    let about = Some(agent.clone());
    event(state, Question { about, ..Question::new(kind, question) })
}

/// The question of a reviewer that wants the person to decide before the loop goes on.
pub(crate) fn discussion(state: &BubbleState, by: &AgentId, summary: &str) -> Event {
    let question = format!("{by} wants to discuss its review before the work goes on: {summary}");
    own_question(state, QuestionKind::Question, question).by(Party::Agent(by.clone()))
}

/// The answers with which pairflow takes back what it asked about the presence of `agent`, no matter who has the turn.
pub(crate) fn withdrawals(state: &BubbleState, agent: &AgentId, which: impl Fn(QuestionKind) -> bool) -> Vec<Event> {
    let its_own = |open: &&OpenQuestion| open.kind.is_about_presence() && state.concerns(open, agent);
    let open = state.gate.questions.iter().filter(its_own).filter(|open| which(open.kind));
    open.map(|open| take_back(state, open, format!("{agent} is at work again"))).collect()
}

/// The answer with which pairflow takes back a question of its own.
pub(crate) fn take_back(state: &BubbleState, open: &OpenQuestion, message: String) -> Event {
    Event { in_reply_to: Some(open.id.clone()), ..event(state, Reply { message, decision: None }) }
}

/// An agent asks; either seat may, at any time.
pub(crate) fn ask(state: &BubbleState, command: &Command) -> Result<Decided, Refusal> {
    let Command::AskHuman { by, question, refs, .. } = command else { return Err(Refusal::NotOwed) };
    has_seat(state, by)?;
    if question.trim().is_empty() {
        return Err(Refusal::Empty { what: "the question" });
    }
    let of_agents = state.gate.questions.iter().filter(|open| matches!(open.by, Party::Agent(_)));
    if of_agents.count() >= MAX_QUESTIONS {
        return Err(Refusal::TooManyQuestions);
    }
    let mut events = withdrawals(state, by, |_| true);
    let body = Question::new(QuestionKind::Question, question.clone());
    let (sender, refs, key) = (Party::Agent(by.clone()), refs.clone(), key_of(state, command));
    events.push(Event { sender, refs, key, ..event(state, body) });
    Ok(Decided::of(events))
}

/// No agent moves the loop on while a person is asked.
pub(crate) fn refuse_agent(state: &BubbleState, command: &Command) -> Result<Decided, Refusal> {
    if state.paused {
        return Err(Refusal::Paused { command: command.name() });
    }
    Err(state.gate.questions.first().map_or(Refusal::NoQuestion, question_open))
}

/// The refusal of what has to wait for an answer. The first line of a question of pairflow's own says what it is about.
fn question_open(open: &OpenQuestion) -> Refusal {
    Refusal::QuestionOpen { question: open.in_short().to_owned() }
}

/// The person answers one question.
pub(crate) fn reply(state: &BubbleState, turn: &Turn, command: &Command) -> Result<Decided, Refusal> {
    let Command::Reply { message, question, decision, refs, .. } = command else { return Err(Refusal::NotOwed) };
    if message.trim().is_empty() && decision.is_none() {
        return Err(Refusal::Empty { what: "the message" });
    }
    let asked = which(state, question.as_ref())?;
    if matches!(asked.kind, QuestionKind::Permission | QuestionKind::Dialog) {
        return Err(Refusal::OnlyInPane { bubble: state.id.clone() });
    }
    if asked.kind == QuestionKind::Permit && *decision == Some(Decision::Accept) && question.is_none() {
        // The same words, said twice, would allow the next request, which nobody has read.
        return Err(Refusal::UnnamedPermission { bubble: state.id.clone(), question: asked.id.clone() });
    }
    let sides = decision.and_then(Decision::ruling).is_some();
    if sides && (!asked.kind.is_tie_break() || asked.findings.is_empty()) {
        return Err(Refusal::NoDecision);
    }
    let mut event = answer(state, turn, asked, Reply { message: message.clone(), decision: *decision });
    event.refs.clone_from(refs);
    event.key = key_of(state, command);
    match (asked.kind, decision) {
        (kind, Some(Decision::Accept)) if kind.is_tie_break() => accept_tie(state, asked, event),
        (QuestionKind::CouldNotCheck, Some(Decision::Accept)) => Ok(accept_missing_checks(state, event)),
        (QuestionKind::CouldNotCheck | QuestionKind::Comprehension, _)
        | (QuestionKind::Permit, Some(Decision::Accept))
        | (QuestionKind::Baseline | QuestionKind::Differs, Some(Decision::Continue))
        | (_, None) => Ok(Decided::one(event)),
        (kind, Some(_)) if kind.is_tie_break() => Ok(Decided::one(event)),
        (QuestionKind::Permit, Some(_)) => Err(Refusal::PermissionDecision),
        (_, Some(_)) => Err(Refusal::NoDecision),
    }
}

/// The refusal of an answer where nothing was asked.
pub(crate) fn nothing_to_reply(_state: &BubbleState) -> Refusal {
    Refusal::NoQuestion
}

/// The person goes on after an intervention while questions are open.
///
/// Spec: an agent's question is answered with `reply`; pairflow's own notices are answered by resuming.
pub(crate) fn resume_waiting(state: &BubbleState, turn: &Turn) -> Result<Decided, Refusal> {
    not_updating(state, "resume")?;
    if let Some(open) = needs_reply(state) {
        return Err(question_open(open));
    }
    let mut events = answer_all(state, turn, "resumed by the operator");
    if state.paused {
        events.push(control(state, ControlAction::Resume, ""));
    }
    Ok(Decided::of(events))
}

/// The first open question that going on does not answer.
fn needs_reply(state: &BubbleState) -> Option<&OpenQuestion> {
    state.gate.questions.iter().find(|open| !open.kind.is_answered_by_resume())
}

/// The person has changed these checks, or the setup command of all, and thereby answers what was asked about them.
pub(crate) fn try_again(state: &BubbleState, changed: impl Fn(&str) -> bool) -> Vec<Event> {
    let asked = |open: &&OpenQuestion| open.kind.is_about_tree() && open.checks.iter().any(|check| changed(check));
    answer_about_tree(state, asked, "the command was changed")
}

/// Answers what was asked about a tree that is no longer the newest one.
pub(crate) fn another_tree(state: &BubbleState) -> Vec<Event> {
    answer_about_tree(state, |open| open.kind.is_about_tree(), "the base was merged, and the checks run again")
}

fn answer_about_tree(state: &BubbleState, asked: impl Fn(&&OpenQuestion) -> bool, message: &str) -> Vec<Event> {
    let Some(turn) = state.phase.turn() else { return Vec::new() };
    let reply = |open: &OpenQuestion| {
        let decision = (open.kind != QuestionKind::Failing).then_some(Decision::Continue);
        Reply { message: message.to_owned(), decision }
    };
    state.gate.questions.iter().filter(asked).map(|open| answer(state, turn, open, reply(open))).collect()
}

/// Answers the questions about what fails once the person waives the last of it.
pub(crate) fn nothing_fails(state: &BubbleState, waived: &Waivable) -> Vec<Event> {
    let check = |name: &str| matches!(waived, Waivable::Check(one) if one == name);
    let row = |row: &Row| matches!(waived, Waivable::Finding(id) if *id == row.id);
    let on_base = state.is_untouched() && state.failing_on_base().any(|receipt| !check(&receipt.check));
    let on_work = state.evidence.changes_nothing() && state.evidence.snapshot.is_some() && !state.is_untouched();
    let fails =
        state.facts().failing_checks().any(|name| !check(name)) || state.facts().failing_rows().any(|one| !row(one));
    let Some(turn) = state.phase.turn().filter(|_| !(on_base || on_work || fails)) else { return Vec::new() };
    let asked = state.gate.questions.iter().filter(|open| open.kind.is_about_checks());
    let reply = |decision| Reply { message: "what fails was waived".to_owned(), decision };
    // What could not be run need not be run any more.
    let waived = |name: &String| check(name) || matches!(state.check(name), CheckState::Waived(_));
    let could_not = |open: &&OpenQuestion| open.kind == QuestionKind::CouldNotCheck && open.checks.iter().all(waived);
    let could_not = state.gate.questions.iter().filter(could_not).map(|open| (open, Some(Decision::Continue)));
    let all = asked.map(|open| (open, None)).chain(could_not);
    all.map(|(open, decision)| answer(state, turn, open, reply(decision))).collect()
}

fn answer_all(state: &BubbleState, turn: &Turn, message: &str) -> Vec<Event> {
    let reply = || Reply { message: message.to_owned(), decision: None };
    state.gate.questions.iter().map(|open| answer(state, turn, open, reply())).collect()
}

/// The person goes on after a pause.
pub(crate) fn resume_running(state: &BubbleState) -> Result<Decided, Refusal> {
    not_updating(state, "resume")?;
    // Spec: after working in a pane by hand, the person returns to the loop with `resume`; the agent is told again.
    if state.paused || state.notifies() {
        return Ok(Decided::one(control(state, ControlAction::Resume, "")));
    }
    let why = state.phase.turn().map(|turn| format!("it is not paused; {} has the turn as {}", turn.agent, turn.seat));
    Err(Refusal::WrongState { state: state.phase.name(), command: "resume", why })
}

/// The person pauses; state and turn stay.
pub(crate) fn pause(state: &BubbleState, reason: &str) -> Result<Decided, Refusal> {
    if state.paused {
        let why = Some("it is already paused".to_owned());
        return Err(Refusal::WrongState { state: state.phase.name(), command: "pause", why });
    }
    Ok(Decided::one(control(state, ControlAction::Halt, reason)))
}

/// The person wants the agents' programs ended and started again, and thereby answers what `resume` would answer.
///
/// Nothing is started in a pause or while a person is asked, so what else is open comes first.
pub(crate) fn restart(state: &BubbleState, turn: &Turn, reason: &str) -> Result<Decided, Refusal> {
    let id = &state.id;
    let no = |why: String| Err(Refusal::WrongState { state: state.phase.name(), command: "restart", why: Some(why) });
    if !state.notifies() {
        let driver = state.rules.driver.name();
        return no(format!("pairflow keeps no agents running here (driver = \"{driver}\")"));
    }
    if let Some(OpenQuestion { id: msg, question, .. }) = needs_reply(state) {
        return no(format!("answer first with 'pairflow reply {id} --question {msg} --message …': {question}"));
    }
    if state.paused {
        let why = "it is paused; resume it first";
        return Err(Refusal::Untimely { state: state.phase.name(), command: "restart", why, first: "resume" });
    }
    let mut events = answer_all(state, turn, "agents restarted");
    events.push(control(state, ControlAction::Restart, reason));
    Ok(Decided::of(events))
}

fn control(state: &BubbleState, action: ControlAction, reason: &str) -> Event {
    event(state, Control::new(action, reason))
}

fn answer(state: &BubbleState, turn: &Turn, asked: &OpenQuestion, reply: Reply) -> Event {
    let recipient = match &asked.by {
        Party::Agent(_) => asked.by.clone(),
        _ => Party::Agent(turn.agent.clone()),
    };
    Event { in_reply_to: Some(asked.id.clone()), ..event(state, reply).by(Party::Human).to(recipient) }
}

fn which<'a>(state: &'a BubbleState, named: Option<&crate::ids::MsgId>) -> Result<&'a OpenQuestion, Refusal> {
    let open = || state.gate.questions.iter().map(|open| open.id.clone()).collect::<Vec<_>>();
    match (named, state.gate.questions.as_slice()) {
        (Some(id), all) => all
            .iter()
            .find(|one| one.id == *id)
            .ok_or_else(|| Refusal::UnknownQuestion { id: id.clone(), open: open() }),
        (None, []) => Err(Refusal::NoQuestion),
        (None, [one]) => Ok(one),
        (None, _) => Err(Refusal::WhichQuestion { open: open() }),
    }
}

/// The person takes the work as it is: open findings and a missing second review are waived, nothing else.
fn accept_tie(state: &BubbleState, asked: &OpenQuestion, event: Event) -> Result<Decided, Refusal> {
    let others = state.gate.questions.iter().filter(|open| open.id != asked.id).count();
    let facts = Facts { questions: others, ..state.facts() };
    match state.policy().unwaivable(facts).first() {
        Some(unmet) => Err(Refusal::CannotAccept { why: unmet.to_string() }),
        None => Ok(Decided::one(event)),
    }
}

/// The person says that the checks that could not be run are not available for this tree.
fn accept_missing_checks(state: &BubbleState, reply: Event) -> Decided {
    let mut events = vec![reply];
    let Some(tree) = state.tree() else { return Decided::of(events) };
    for check in state.rules.checks.iter().filter(|check| state.has_given_up(&check.name)) {
        let fact = Evidence::NotAvailable { check: check.name.clone(), tree: tree.clone() };
        events.push(event(state, fact));
    }
    Decided::of(events)
}

/// The person waives something, or withdraws a waiver.
pub(crate) fn live_with(state: &BubbleState, command: &Command) -> Result<Decided, Refusal> {
    match command {
        Command::Waive { what, reason } => waive(state, what, reason),
        Command::Withdraw { what, reason } => withdraw(state, what, reason),
        _ => Err(Refusal::NotOwed),
    }
}

/// The person waives a finding, or a check that does not pass.
fn waive(state: &BubbleState, what: &Waivable, reason: &str) -> Result<Decided, Refusal> {
    if reason.trim().is_empty() {
        return Err(Refusal::Empty { what: "the reason of the waiver" });
    }
    if is_waived(state, what) {
        return Err(Refusal::WaivedAlready { what: what.clone() });
    }
    match what {
        Waivable::Finding(id) => open_row(state, *id)?,
        Waivable::Check(name) if matches!(state.check(name), CheckState::Passed(_)) => {
            return Err(Refusal::CheckPasses { name: name.clone() });
        }
        Waivable::Check(name) if state.rules.checks.iter().any(|check| check.name == *name) => {}
        Waivable::Check(name) => {
            let known = state.rules.checks.iter().map(|check| check.name.clone()).collect();
            return Err(Refusal::UnknownCheck { name: name.clone(), known });
        }
    }
    Ok(decided(state, ControlAction::Waive, what, reason))
}

/// The person withdraws a waiver: the row is open again, the check is owed again.
fn withdraw(state: &BubbleState, what: &Waivable, reason: &str) -> Result<Decided, Refusal> {
    if !is_waived(state, what) {
        return Err(Refusal::NotWaived { what: what.clone() });
    }
    Ok(decided(state, ControlAction::Withdraw, what, reason))
}

/// The person's decision.
fn decided(state: &BubbleState, action: ControlAction, what: &Waivable, reason: &str) -> Decided {
    let control = Control { waived: Some(what.clone()), ..Control::new(action, reason) };
    let more = match action {
        ControlAction::Waive => nothing_fails(state, what),
        _ => verdict_without_waiver(state, what).map(|verdict| event(state, verdict)).into_iter().collect(),
    };
    Decided::of(std::iter::once(by_person(state, control)).chain(more).collect())
}

/// The verdict on the clean reviews once a waiver is taken back; nothing if they do not need it.
pub(crate) fn verdict_without_waiver(state: &BubbleState, what: &Waivable) -> Option<Verdict> {
    let holds = match what {
        Waivable::Finding(id) => {
            let ledger = state.ledger.without_waiver(*id);
            Facts { ledger: &ledger, ..state.facts() }.objections(&[]).is_empty()
        }
        Waivable::Check(name) => {
            let later = [Waivable::Check(name.clone())];
            state.facts().objections(&later).is_empty()
        }
    };
    (!holds).then(|| no_longer_clean(state, Judged::Waiver))
}

fn is_waived(state: &BubbleState, what: &Waivable) -> bool {
    match what {
        Waivable::Finding(id) => state.ledger.get(*id).is_some_and(|row| row.state == RowState::Waived),
        Waivable::Check(name) => state.evidence.waived_checks.contains_key(name),
    }
}

/// The policy's verdict on clean reviews whose ground was taken back or changed.
pub(crate) fn no_longer_clean(state: &BubbleState, on: Judged) -> Verdict {
    let settled = state.phase.turn().is_some_and(|turn| turn.stage == Stage::Settled);
    state.policy().after_change(state.facts(), &on, settled).verdict(state.policy(), on)
}
