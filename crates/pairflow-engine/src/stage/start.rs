//! Starts an agent's program in its pane.

use std::path::Path;

use pairflow_core::bubble::{BubbleState, Command, Notice, Turn};
use pairflow_core::facts::Seat;
use pairflow_core::ids::AgentId;
use pairflow_core::time::Moment;

use super::briefing::BRIEFING;
use super::error::StageError;
use super::notice;
use super::play::{Cue, Play};
use super::room::records_of;
use super::seat::{Prompted, Status};
use crate::driver::{Launch, LaunchFile, SeatStart, Session};
use crate::engine::{EngineError, interactive_environment};
use crate::process::{MARK, SelfRegistration, fresh_mark, reap, when_gone};
use crate::tmux::PaneId;

/// A program that is to be started.
pub(super) struct Wanted<'a> {
    pub agent: &'a AgentId,
    pub seat: Seat,
    /// For which turn; 0 before the agent's first one.
    pub turn: u32,
    pub session: Session,
    pub prompt: String,
    /// The number of the notice that the prompt is; 0 for a briefing.
    pub notice: u64,
}

impl Play {
    /// Starts the program of the agent that has the turn, with the notice as its first prompt. Says whether it takes one so.
    pub(super) fn start_for(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice) -> Result<bool, StageError> {
        let brief = self.bubble().brief(&turn.agent);
        let prompt = notice::text(notice, &self.bubble().id, (state.rounds.round, turn.seat), &brief);
        let session = match state.conversation_for(turn) {
            Some(id) => Session::Resume(id.clone()),
            None => Session::Fresh(uuid()?),
        };
        let notice = notice.number;
        self.start(state, &Wanted { agent: &turn.agent, seat: turn.seat, turn: turn.number, session, prompt, notice })
    }

    /// Starts the agents whose first turn is still to come, each with a briefing.
    ///
    /// Spec: the start of a bubble briefs both panes.
    pub(super) fn stand_by(&mut self, state: &BubbleState, turn: &Turn) -> Result<(), StageError> {
        let others = state.rules.agents.all().filter(|agent| **agent != turn.agent);
        let others: Vec<_> = others.filter(|agent| !state.presence.sessions.contains_key(*agent)).cloned().collect();
        for agent in others {
            let prompt = notice::standby(&self.bubble().id, &self.bubble().briefing(&agent));
            let (session, notice) = (Session::Fresh(uuid()?), BRIEFING);
            self.start(state, &Wanted { agent: &agent, seat: Seat::Reviewer, turn: 0, session, prompt, notice })?;
        }
        Ok(())
    }

    fn start(&mut self, state: &BubbleState, wanted: &Wanted<'_>) -> Result<bool, StageError> {
        let bubble = self.bubble().clone();
        let runtime = bubble.control.runtime(&bubble.id);
        let records = records_of(&runtime, wanted.agent);
        reap(&records).map_err(|error| StageError::world("cannot end an agent")(std::io::Error::other(error)))?;
        let mark = fresh_mark();
        let launch = self.launch(state, wanted, &mark)?;
        // Whatever the program before it still says is heard after this.
        self.seat(wanted.agent).kept.mark = Some(mark.clone());
        let file = runtime.join(format!("{}.launch", wanted.agent));
        let what = format!("{} as {}", wanted.agent, wanted.seat);
        // It puts itself on record, so that none ever runs which a later supervisor knows nothing of.
        let record = Some(SelfRegistration { dir: records, mark, what });
        let written = LaunchFile { record, ..LaunchFile::from(&launch) }.write(&file);
        written.map_err(StageError::world(format!("cannot write {}", file.display())))?;
        let placed = self.place(wanted, &launch, &file);
        if !matches!(placed, Ok(Some(_))) {
            // It holds secrets, and nothing reads it any more. What is gone already need not be removed.
            let _ = std::fs::remove_file(&file);
        }
        let (Some(pane), Some(room)) = (placed?, &self.room) else { return Ok(true) };
        // For diagnosis only: nothing ever reads it to decide anything, and a program that is gone already has none.
        if state.rules.capture_output
            && let Err(error) = room.tmux.pipe(&pane, Some(&runtime.join(format!("{}.pane.log", wanted.agent))))
        {
            (self.props.say)(&format!("{}: no copy of what {} shows: {error}", bubble.id, wanted.agent));
        }
        let pid = room.tmux.panes()?.into_iter().find(|one| one.id == pane).map(|one| one.pid);
        let Some(pid) = pid else { return Ok(true) };
        self.begun(wanted, &launch, pid, bubble.engine.clock.now());
        Ok(launch.prompted)
    }

    /// Puts the program into its agent's pane, and returns that; nothing if there is none.
    fn place(&mut self, wanted: &Wanted<'_>, launch: &Launch, file: &Path) -> Result<Option<PaneId>, StageError> {
        let Some(pane) = self.seats.get(wanted.agent).and_then(|seat| seat.pane.clone()) else { return Ok(None) };
        let argv = [self.props.program.display().to_string(), "launch".to_owned(), file.display().to_string()];
        self.expect(wanted, launch)?;
        let Some(room) = &self.room else { return Ok(None) };
        let history = room.tmux.history(&pane).ok();
        room.tmux.respawn(&pane, &argv, &launch.cwd)?;
        self.seat(wanted.agent).history = history;
        Ok(Some(pane))
    }

    /// Writes down what a later supervisor has to know of a program before there is one.
    fn expect(&mut self, wanted: &Wanted<'_>, launch: &Launch) -> Result<(), StageError> {
        let seat = self.seat(wanted.agent);
        seat.kept.status = Status::Starting;
        seat.kept.hooks = launch.hooks;
        seat.kept.dialogs.clone_from(&launch.dialogs);
        seat.kept.composer.clone_from(&launch.composer);
        seat.kept.sandboxed = launch.sandboxed;
        seat.kept.transcript = None;
        seat.kept.prompted = Prompted::Pairflow;
        seat.kept.untyped = (!launch.prompted).then_some(wanted.notice);
        self.keep().map_err(StageError::world("cannot note what is to be typed"))
    }

    fn begun(&mut self, wanted: &Wanted<'_>, launch: &Launch, pid: i32, now: Moment) {
        let agent = wanted.agent;
        self.props.activity.note(agent, now);
        let seat = self.seat(agent);
        // Without hooks nothing ever tells that it has started.
        seat.becomes(if launch.hooks { Status::Starting } else { Status::Unknown }, now.ts);
        (seat.pid, seat.begun) = (Some(pid), Some(pid));
        (seat.telling, seat.waiting, seat.heard, seat.briefed) = (None, None, None, None);
        seat.held_back = false;
        seat.silent = launch.hooks;
        seat.resumed = matches!(wanted.session, Session::Resume(_));
        self.attend(agent, pid);
        // A conversation in which nothing was said yet cannot be taken up again; with hooks its first prompt tells.
        let session = match &wanted.session {
            Session::Resume(id) => Some(id.clone()),
            Session::Fresh(_) => launch.session.clone().filter(|_| !launch.hooks),
        };
        let seat = (wanted.turn > 0).then_some(wanted.seat);
        self.report(&Command::AgentSession { agent: agent.clone(), turn: wanted.turn, seat, session });
    }

    fn launch(&self, state: &BubbleState, wanted: &Wanted<'_>, mark: &str) -> Result<Launch, StageError> {
        let bubble = self.bubble();
        let mut env = interactive_environment(bubble, state, wanted.agent);
        env.push((MARK.to_owned(), mark.to_owned()));
        let workspace = bubble.workspace(state)?;
        workspace.connected().map_err(EngineError::from)?;
        let start = SeatStart {
            bubble_id: bubble.id.clone(),
            repo: bubble.control.repo().to_owned(),
            agent: wanted.agent.clone(),
            seat: wanted.seat,
            worktree: workspace.path,
            runtime_dir: bubble.control.runtime(&bubble.id),
            artifacts: bubble.dir().join("artifacts"),
            env,
            person: self.person.clone(),
            session: wanted.session.clone(),
            prompt: wanted.prompt.clone(),
            permissions: state.rules.permissions,
            allowed: state.rules.checks.iter().map(|check| check.command.clone()).collect(),
            program: self.props.program.clone(),
            spec: state.rules.agents_custom.get(wanted.agent).cloned(),
        };
        let launch = self.props.driver.launch(&start);
        Ok(launch.map_err(|error| EngineError::Effect(error.to_string()))?)
    }

    /// Waits for the end of a program in the background.
    pub(super) fn attend(&self, agent: &AgentId, pid: i32) {
        let (cues, agent) = (self.cues.clone(), agent.clone());
        let tell = move || drop(cues.send(Cue::Gone(agent, pid)));
        if let Err(error) = when_gone(pid, tell) {
            (self.props.say)(&format!("{}: cannot wait for process {pid}: {error}", self.bubble().id));
        }
    }
}

/// Draws a random UUID.
fn uuid() -> Result<String, StageError> {
    let drawn = crate::engine::AgentToken::draw()?;
    let hex = drawn.reveal();
    let variant = ["8", "9", "a", "b"][usize::from(hex.as_bytes()[19] % 4)];
    Ok(format!("{}-{}-4{}-{variant}{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[16..19], &hex[20..32]))
}
