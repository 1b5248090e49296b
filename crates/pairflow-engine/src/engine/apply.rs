//! Load, decide, append: how every fact gets into a log.
//!
//! A retry with a key is compared with the record that has the key. A text that does not fit into a line of the log
//! becomes an artifact, which is written first.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command, Decided, PassCommand, Refusal, decide, earlier};
use pairflow_core::facts::Finding;
use pairflow_core::ids::{MsgId, Party};
use pairflow_core::log::{Body, Envelope, Event, GateDecision, Lifecycle, RetryKey, Warning};
use pairflow_core::respond::handle;
use pairflow_core::text::counted;
use pairflow_core::view::inbox::inbox_ndjson;
use pairflow_core::view::messages::message_file;

use crate::engine::{Bubble, EngineError};
use crate::store::{Loaded, Locked, Repaired, StateSource};

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an agent's verb waits for its turn to open.
const OPENING_PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(5);

/// The result of a command.
#[derive(Debug, Clone)]
pub struct Applied {
    /// The id of its record; nothing if there was nothing to record.
    pub id: Option<MsgId>,
    /// The state afterwards.
    pub state: BubbleState,
    /// Whether an earlier attempt had recorded it already.
    pub repeated: bool,
    /// What was repaired at the log's end first, if anything.
    pub repaired: Option<Repaired>,
}

impl Bubble {
    /// Records what `command` leads to. Effects are left to the supervisor.
    pub fn apply(&self, command: &Command) -> Result<Applied, EngineError> {
        let seen = self.log.load()?;
        let earlier = repeated(&seen.state, command);
        self.insist_same(earlier.as_ref().and_then(|applied| applied.id.as_ref()), command)?;
        if let Some(applied) = earlier.clone().filter(|_| seen.from == StateSource::Cache) {
            return Ok(applied);
        }
        let mut decided = handle(&seen.state, command, self.engine.clock.now());
        if let Some(applied) = nothing_to_record(&seen, command, &decided).filter(|_| earlier.is_none()) {
            return applied.map_err(|refusal| self.refused(command, &seen.state, refusal));
        }
        let mut log = self.locked()?;
        // The writer of the earlier record may have died before its sync; under the lock it is durable.
        if let Some(applied) = repeated(&log.loaded().state, command) {
            self.insist_same(applied.id.as_ref(), command)?;
            return Ok(applied);
        }
        if log.loaded().head.seq != seen.head.seq {
            // Another process was faster: decide again on the present state.
            let again = handle(&log.loaded().state, command, self.engine.clock.now());
            decided = if decided.is_ok() { again.map_err(Refusal::lost_race) } else { again };
        }
        match decided {
            Ok(decided) => self.record(&mut log, &decided),
            Err(refusal) => {
                self.warn(&mut log, command, &refusal)?;
                Err(self.refused(command, &seen.state, refusal))
            }
        }
    }

    /// Records an agent's verb; while the agent's own turn is still opening, it waits a little.
    ///
    /// `attended` says whether anyone is there to open it.
    pub fn apply_when_open(&self, command: &Command, attended: bool) -> Result<Applied, EngineError> {
        self.wait_open(command, attended)?;
        self.apply(command)
    }

    /// Waits a little while `command` would be refused only because its sender's turn is still opening.
    pub(crate) fn wait_open(&self, command: &Command, attended: bool) -> Result<(), EngineError> {
        let until = Instant::now() + OPENING_PATIENCE;
        while attended && Instant::now() < until {
            let seen = self.log.load()?;
            let opening =
                matches!(decide(&seen.state, command, self.engine.clock.now()), Err(Refusal::StillOpening { .. }));
            // What was recorded already is answered at once.
            if !opening || repeated(&seen.state, command).is_some() {
                break;
            }
            self.log.wait_past(&seen.head, LOOK);
        }
        Ok(())
    }

    /// Records a warning for a proven sender, outside of any command of its own.
    pub fn warn_sender(&self, agent: &pairflow_core::ids::AgentId, warning: Warning) -> Result<(), EngineError> {
        self.warn_party(Party::Agent(agent.clone()), warning)
    }

    /// Records a warning for `party`, outside of any command of its own.
    pub(crate) fn warn_party(&self, party: Party, warning: Warning) -> Result<(), EngineError> {
        let mut log = self.locked()?;
        self.append_warning(&mut log, party, warning)
    }

    /// Takes the lock. If a torn tail was moved to quarantine, the log records that.
    pub(crate) fn locked(&self) -> Result<Locked, EngineError> {
        let mut log = self.log.lock(PATIENCE)?;
        if let Some(Repaired::SetAside { torn, kept }) = log.repaired().cloned() {
            let name = kept.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let reason = format!(
                "the log ended in {} of an unacknowledged append at byte {}; they were moved to quarantine/{name}",
                counted(torn.len, "byte"),
                torn.offset
            );
            let warning = Warning { command: "append".to_owned(), reason, unmet: Vec::new() };
            self.append_warning(&mut log, Party::Orchestrator, warning)?;
        }
        Ok(log)
    }

    fn record(&self, log: &mut Locked, decided: &Decided) -> Result<Applied, EngineError> {
        let repaired = log.repaired().cloned();
        for artifact in &decided.artifacts {
            self.log.artifacts().put(&artifact.name, &artifact.bytes)?;
        }
        let written: Vec<Envelope> =
            if decided.events.is_empty() { Vec::new() } else { log.append(&decided.events, self.engine.clock.now())? };
        let id = written.first().map(|envelope| envelope.id.clone());
        if decided.events.iter().any(|event| asks_or_answers(&event.body)) {
            self.show_person(&log.loaded().state, &written);
        }
        if decided.events.iter().any(|event| matches!(event.body, Body::HumanReply(_) | Body::Control(_))) {
            // The turn stayed open while the person was asked; its holder finds the answer in the brief.
            let _ = self.renew_brief(&log.loaded().state);
        }
        if decided.events.iter().any(|event| matches!(event.body, Body::DonePackage(_))) {
            // It may have been deleted since it was shown.
            let _ = log.loaded().state.phase.request().map(|request| self.package(request));
        }
        Ok(Applied { id, state: log.loaded().state.clone(), repeated: false, repaired })
    }

    /// Writes what a person reads: the inbox, and the new messages as files.
    ///
    /// Both are derived; a disk that is full now gets them with the next question or the next turn.
    fn show_person(&self, state: &BubbleState, written: &[Envelope]) {
        let _ = self.log.project("inbox.ndjson", inbox_ndjson(state).as_bytes());
        for file in written.iter().filter_map(message_file) {
            let _ = self.log.project_artifact(&format!("messages/{}", file.name), file.text.as_bytes());
        }
    }

    /// Records the refusal of an agent's command. A person is told, not recorded; a lost race changes nothing.
    fn warn(&self, log: &mut Locked, command: &Command, refusal: &Refusal) -> Result<(), EngineError> {
        let Some(agent) = command.agent().filter(|_| !matches!(refusal, Refusal::LostRace(_))) else { return Ok(()) };
        let warning = refusal.warning(command);
        self.append_warning(log, Party::Agent(agent.clone()), warning)
    }

    fn append_warning(&self, log: &mut Locked, sender: Party, warning: Warning) -> Result<(), EngineError> {
        let state = &log.loaded().state;
        let again = state.warnings.iter().any(|(one, known)| *one == sender && *known == warning);
        if again || state.phase.is_final() {
            return Ok(());
        }
        let mut event = Event::own(state.rounds.round, Body::ProtocolWarning(warning));
        event.recipient = sender;
        log.append(&[event], self.engine.clock.now())?;
        Ok(())
    }

    fn refused(&self, command: &Command, state: &BubbleState, refusal: Refusal) -> EngineError {
        let caller = command.caller(state);
        EngineError::Refused { id: self.id.clone(), caller, refusal: Box::new(refusal) }
    }

    /// Insists that `command` says what the record `id`, which has the same key, says.
    pub(crate) fn insist_same(&self, id: Option<&MsgId>, command: &Command) -> Result<(), EngineError> {
        let (Some(RetryKey(key)), Some(id)) = (given(command), id) else { return Ok(()) };
        let mut differs = false;
        self.log.visit(&mut |envelope| differs |= envelope.id == *id && !is_same_command(&envelope, command))?;
        if differs {
            return Err(EngineError::BadInput(format!(
                "the key '{key}' was already used for {id}, which has other content; use a new key for a new message"
            )));
        }
        Ok(())
    }

    /// Returns `text` as it goes into a line. A long one is stored, and `refs` gets the artifact's name.
    pub fn inline(&self, text: &str, refs: &mut Vec<String>) -> Result<String, EngineError> {
        if text.len() <= INLINE_LIMIT {
            return Ok(text.to_owned());
        }
        let name = self.log.artifacts().put_hashed("text", "txt", text.as_bytes())?;
        let uri = format!("artifact://{name}");
        let head: String = text.chars().take(HEAD).collect();
        let cut = format!("{head} … [cut: all {} bytes are in {uri}]", text.len());
        refs.push(uri);
        Ok(cut)
    }
}

/// Whether a fact changes what waits for a person.
fn asks_or_answers(body: &Body) -> bool {
    matches!(
        body,
        Body::HumanQuestion(_)
            | Body::HumanReply(_)
            | Body::ApprovalRequest(_)
            | Body::ApprovalDecision(_)
            | Body::DonePackage(_)
            | Body::Lifecycle(
                Lifecycle::Cancelled { .. }
                    | Lifecycle::Failed { .. }
                    | Lifecycle::CommitRequested { .. }
                    | Lifecycle::Committed { .. }
                    | Lifecycle::CommitFailed { .. }
                    | Lifecycle::UpdateRequested { .. }
                    | Lifecycle::Updated { .. }
                    | Lifecycle::UpdateFailed { .. }
            )
    )
}

/// The earlier attempt of the same command, if there was one.
fn repeated(state: &BubbleState, command: &Command) -> Option<Applied> {
    let id = earlier(state, command)?;
    Some(Applied { id: Some(id), state: state.clone(), repeated: true, repaired: None })
}

/// A decision that needs no lock: nothing happened, or a person (who is told, not recorded) was refused.
fn nothing_to_record(
    seen: &Loaded,
    command: &Command,
    decided: &Result<Decided, Refusal>,
) -> Option<Result<Applied, Refusal>> {
    match decided {
        Ok(decided) if decided.events.is_empty() => {
            Some(Ok(Applied { id: None, state: seen.state.clone(), repeated: false, repaired: None }))
        }
        Err(refusal) if command.agent().is_none() => Some(Err(refusal.clone())),
        _ => None,
    }
}

/// The key that was given; one that was made of the content needs no comparison.
fn given(command: &Command) -> Option<&RetryKey> {
    match command {
        Command::Pass(pass) => pass.key.as_ref(),
        Command::AskHuman { key, .. }
        | Command::Judge { key, .. }
        | Command::Converged { key, .. }
        | Command::Reply { key, .. }
        | Command::Approve { key, .. }
        | Command::Rework { key, .. } => key.as_ref(),
        _ => None,
    }
}

/// Whether a record says what `command` would have said.
pub(crate) fn is_same_command(recorded: &Envelope, command: &Command) -> bool {
    let sender = command.agent().map_or(Party::Human, |agent| Party::Agent(agent.clone()));
    let same = match (&recorded.event.body, command) {
        (Body::Pass(body), Command::Pass(pass)) => {
            let beside = (&body.answers, &body.explanation, &body.steps, body.discuss);
            let same = beside == (&pass.answers, &pass.explanation, &pass.steps, pass.discuss);
            body.summary == pass.summary && body.reviewed == pass.reviewed && same && same_findings(body, pass)
        }
        (Body::Pass(body), Command::Judge { judgement, .. }) => body.judgement.as_ref() == Some(judgement),
        (Body::HumanQuestion(body), Command::AskHuman { question, .. }) => body.question == *question,
        (Body::Convergence(body), Command::Converged { summary, .. }) => body.summary == *summary,
        (Body::HumanReply(body), Command::Reply { message, decision, question, .. }) => {
            let asked = question.as_ref().is_none_or(|asked| recorded.event.in_reply_to.as_ref() == Some(asked));
            body.message == *message && body.decision == *decision && asked
        }
        (Body::ApprovalDecision(body), Command::Approve { .. }) => body.decision == GateDecision::Approve,
        (Body::ApprovalDecision(body), Command::Rework { message, findings, .. }) => {
            body.decision != GateDecision::Approve && body.message == *message && body.findings == *findings
        }
        _ => false,
    };
    same && recorded.event.sender == sender
}

/// Whether both hand-overs found the same, as far as their sender said it.
///
/// Which row a finding reverses may be what pairflow made of it, so only two different ones tell them apart.
fn same_findings(body: &pairflow_core::log::Pass, pass: &PassCommand) -> bool {
    let same = |one: &Finding, other: &Finding| {
        let said = |finding: &Finding| Finding { reverses: None, ..finding.as_said() };
        let elsewhere = one.reverses.zip(other.reverses).is_some_and(|(one, other)| one != other);
        said(one) == said(other) && !elsewhere
    };
    let tests = || pass.acceptance.iter().map(Finding::acceptance).collect();
    let said = if body.acceptance { Some(tests()) } else { pass.filed() };
    match (&body.findings, &said) {
        (Some(recorded), Some(said)) => {
            recorded.len() == said.len() && recorded.iter().zip(said).all(|(one, other)| same(one, other))
        }
        (recorded, said) => recorded.is_none() == said.is_none(),
    }
}

/// The longest text that is kept in a line itself, in bytes.
pub const INLINE_LIMIT: usize = 32 * 1024;
/// How much of a longer text is kept in the line.
const HEAD: usize = 2000;
