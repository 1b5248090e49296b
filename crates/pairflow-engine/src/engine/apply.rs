//! Load, decide, append: how every fact gets into a log.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command, Decided, Refusal, decide, earlier};
use pairflow_core::ids::{MsgId, Party};
use pairflow_core::log::{Body, Envelope, Event, Lifecycle, Warning};
use pairflow_core::respond::handle;
use pairflow_core::text::counted;
use pairflow_core::view::inbox::inbox_ndjson;
use pairflow_core::view::messages::message_file;

use crate::engine::{Bubble, EngineError};
use crate::store::{Loaded, Locked, Repaired, Source};

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an agent's verb waits for its turn to open.
const OPENING_PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(5);

/// What became of a command.
#[derive(Debug, Clone)]
pub struct Applied {
    /// The record that stands for it; nothing if there was nothing to record.
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
        if let Some(applied) = earlier.clone().filter(|_| seen.from == Source::Cache) {
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
            // Someone was faster: what was right a moment ago is decided again on what is true now.
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

    /// Takes the lock. What a crash left at the end of the log and never counted is set aside, and the log says so.
    pub(crate) fn locked(&self) -> Result<Locked, EngineError> {
        let mut log = self.log.lock(PATIENCE)?;
        if let Some(Repaired::SetAside { torn, kept }) = log.repaired().cloned() {
            let name = kept.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let reason = format!(
                "the log ended in {} of an append that was never acknowledged, at byte {}; they are in quarantine/{name}",
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
            // Somebody may have deleted it since it was shown.
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
