//! The panes of a bubble's session, found by their tags: one for the status view and one for each agent.

use std::path::{Path, PathBuf};

use pairflow_core::bubble::{BubbleState, Phase};
use pairflow_core::ids::AgentId;

use super::session_loop::SessionLoop;
use super::session_state::ProgramStatus;
use super::session_state::SessionError;
use super::session_state::{TmuxSession, started};
use crate::tmux::{Ensured, Pane, PaneId, SessionPlan};

/// The tag of the pane with the status view; no agent can be called so.
const STATUS: &str = "pairflow.view";
/// The variables that say where pairflow keeps its own files, and how a person wants to see things.
const PLACES: [&str; 6] = ["HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "NO_COLOR", "LANG"];
/// The size of a session that nobody looks at.
const SIZE: (u16, u16) = (200, 50);

impl SessionLoop {
    /// Makes sure that the session is there, with a pane for the status view and one for each agent.
    pub(super) fn enter(&mut self, state: &BubbleState) -> Result<(), SessionError> {
        let bubble = self.bubble().clone();
        if self.session.is_none() {
            let runtime = bubble.control.runtime(&bubble.id);
            std::fs::create_dir_all(&runtime).map_err(SessionError::world("cannot make the runtime directory"))?;
            if let Some(dir) = bubble.control.tmux_socket(&bubble.id).parent() {
                crate::local_socket::private_dir(dir)
                    .map_err(SessionError::world("cannot make a directory for sockets"))?;
            }
            self.session = Some(TmuxSession::of(&bubble, &self.person));
            self.load_saved();
        }
        let worktree =
            PathBuf::from(state.evidence.workspace.as_ref().map_or("/", |workspace| workspace.path.as_str()));
        let panes = self.panes(&worktree)?;
        let mut agents: Vec<_> = state.rules.agents.all().cloned().collect();
        agents.sort();
        let (mut changed, mut found) = (false, Vec::new());
        for agent in &agents {
            let known = panes.iter().find(|pane| pane.tag.as_deref() == Some(agent.as_str()));
            match known {
                Some(pane) => found.extend(self.adopt(agent, pane).then_some(agent)),
                None => {
                    self.new_pane(agent, &worktree)?;
                    changed = true;
                }
            }
        }
        if changed && let Some(session) = &self.session {
            let panes = session.tmux.panes()?;
            let tagged =
                |tag: &str| panes.iter().find(|pane| pane.tag.as_deref() == Some(tag)).map(|pane| pane.id.clone());
            let order = std::iter::once(STATUS).chain(agents.iter().map(AgentId::as_str)).filter_map(tagged);
            session.tmux.layout(&order.collect::<Vec<_>>())?;
        }
        let going = matches!(state.phase, Phase::Running(_) | Phase::WaitingHuman(_));
        found.into_iter().filter(|_| going).try_for_each(|agent| self.look_for_dialog(agent))
    }

    /// Returns the panes of the session, which is made if it is not there.
    fn panes(&mut self, worktree: &Path) -> Result<Vec<Pane>, SessionError> {
        // The terminal server knows little of the environment; the view has to find what the person's own commands find.
        let mut view = vec!["/usr/bin/env".to_owned()];
        let places = self.person.iter().filter(|(name, _)| PLACES.contains(&name.as_str()));
        view.extend(places.map(|(name, value)| format!("{name}={value}")));
        view.extend([
            self.setup.program.display().to_string(),
            "view".to_owned(),
            "--pane".to_owned(),
            "--repo".to_owned(),
            self.bubble().control.repo().display().to_string(),
            "--id".to_owned(),
            self.bubble().id.to_string(),
        ]);
        let Some(session) = &self.session else { return Ok(Vec::new()) };
        let plan = SessionPlan {
            name: session.name.clone(),
            cwd: worktree.to_owned(),
            argv: view.clone(),
            width: SIZE.0,
            height: SIZE.1,
            plain: false,
        };
        if let Ensured::Made { pane, without_config } = session.tmux.ensure_session(&plan)? {
            session.tmux.tag(&pane, STATUS)?;
            if let Some(why) = without_config {
                (self.setup.say)(&format!("{}: {why}", self.bubble().id));
            }
        }
        let panes = session.tmux.panes()?;
        match panes.iter().find(|pane| pane.tag.as_deref() == Some(STATUS)) {
            Some(pane) if pane.dead => session.tmux.respawn(&pane.id, &view, worktree)?,
            Some(_) => {}
            None => {
                // A person has closed it; beside any other pane it is opened again.
                let Some(beside) = panes.first() else { return Ok(panes) };
                let pane = session.tmux.split(&beside.id, &view, worktree)?;
                session.tmux.tag(&pane, STATUS)?;
                return Ok(session.tmux.panes()?);
            }
        }
        Ok(panes)
    }

    fn new_pane(&mut self, agent: &AgentId, worktree: &Path) -> Result<(), SessionError> {
        let Some(session) = &self.session else { return Ok(()) };
        let any = session.tmux.panes()?.into_iter().find(|pane| pane.tag.as_deref() == Some(STATUS));
        let Some(status) = any else { return Ok(()) };
        let words = ["/bin/echo".to_owned(), format!("{agent} is started when its turn comes.")];
        let pane = session.tmux.split(&status.id, &words, worktree)?;
        session.tmux.tag(&pane, agent.as_str())?;
        let program = self.program(agent);
        (program.pane, program.pid) = (Some(pane), None);
        Ok(())
    }

    /// Takes over a pane that is there, no matter who made it. Says whether a program runs there that this supervisor did not
    /// know yet.
    fn adopt(&mut self, agent: &AgentId, pane: &Pane) -> bool {
        let now = self.bubble().engine.clock.now().ts;
        let program = self.programs.entry(agent.clone()).or_default();
        program.pane = Some(pane.id.clone());
        if pane.dead {
            program.pid = None;
            if program.status != ProgramStatus::Unknown {
                program.set_status(ProgramStatus::Gone, now);
            }
        } else if program.pid != Some(pane.pid) && started(&self.setup.bubble, agent, pane.pid) {
            program.pid = Some(pane.pid);
            self.watch_process(agent, pane.pid);
            return true;
        }
        false
    }

    /// The tmux server is gone, and with it every pane.
    pub(super) fn on_server_gone(&mut self) {
        let now = self.bubble().engine.clock.now().ts;
        for program in self.programs.values_mut() {
            (program.pane, program.pid) = (None, None);
            program.set_status(ProgramStatus::Gone, now);
        }
    }

    /// Returns the pane of `agent`, if its program is running there.
    pub(super) fn live_pane(&self, agent: &AgentId) -> Option<PaneId> {
        let program = self.programs.get(agent)?;
        program.pid.and(program.pane.clone())
    }
}
