//! The panes of a bubble's session, found by their tags: one for the status view and one for each agent.

use std::path::{Path, PathBuf};

use pairflow_core::bubble::{BubbleState, Phase};
use pairflow_core::ids::AgentId;

use super::session_loop::SessionLoop;
use super::session_state::{ProgramStatus, StepResult, tmux_of, was_started};
use crate::engine::EngineError;
use crate::tmux::{Ensured, Pane, PaneId, SessionPlan};

/// The tag of the pane with the status view; no agent can have this name.
const STATUS: &str = "pairflow.view";
/// The variables that say where pairflow keeps its files, and how a person wants output to look.
const VIEW_VARIABLES: [&str; 6] = ["HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "NO_COLOR", "LANG"];
/// The size of a session while no client is attached.
const SIZE: (u16, u16) = (200, 50);

impl SessionLoop {
    /// Makes sure that the session exists, with a pane for the status view and one for each agent.
    pub(super) fn ensure_panes(&mut self, state: &BubbleState) -> StepResult {
        if self.tmux.is_none() {
            let bubble = self.bubble().clone();
            let world = |what: &'static str| move |error| EngineError::io(what, error);
            let runtime = bubble.control.runtime(&bubble.id);
            std::fs::create_dir_all(&runtime).map_err(world("cannot create the runtime directory"))?;
            if let Some(dir) = bubble.control.tmux_socket(&bubble.id).parent() {
                crate::local_socket::private_dir(dir).map_err(world("cannot create a directory for sockets"))?;
            }
            self.tmux = Some(tmux_of(&bubble, &self.person_env));
            self.load_saved();
        }
        let worktree =
            PathBuf::from(state.evidence.workspace.as_ref().map_or("/", |workspace| workspace.path.as_str()));
        let panes = self.session_panes(&worktree)?;
        let mut agents: Vec<_> = state.rules.agents.all().cloned().collect();
        agents.sort();
        let (mut changed, mut adopted) = (false, Vec::new());
        for agent in &agents {
            match tagged(&panes, agent.as_str()) {
                Some(pane) => adopted.extend(self.adopt_pane(agent, pane).then_some(agent)),
                None => {
                    self.new_pane(agent, &worktree)?;
                    changed = true;
                }
            }
        }
        if changed && let Some(tmux) = &self.tmux {
            let panes = tmux.panes()?;
            let tags = std::iter::once(STATUS).chain(agents.iter().map(AgentId::as_str));
            let order = tags.filter_map(|tag| tagged(&panes, tag).map(|pane| pane.id.clone()));
            tmux.layout(&order.collect::<Vec<_>>())?;
        }
        let going = matches!(state.phase, Phase::Running(_) | Phase::WaitingHuman(_));
        adopted.into_iter().filter(|_| going).try_for_each(|agent| self.look_for_dialog(agent))
    }

    /// Returns the panes of the session, which is made if it does not exist.
    fn session_panes(&mut self, worktree: &Path) -> StepResult<Vec<Pane>> {
        // The tmux server gets little of the environment; the view has to find what the person's own commands find.
        let mut view = vec!["/usr/bin/env".to_owned()];
        let variables = self.person_env.iter().filter(|(name, _)| VIEW_VARIABLES.contains(&name.as_str()));
        view.extend(variables.map(|(name, value)| format!("{name}={value}")));
        let (program, repo) = (self.setup.program.display().to_string(), self.bubble().control.repo().display());
        let words = [&program, "view", "--pane", "--repo", &repo.to_string(), "--id", self.bubble().id.as_str()];
        view.extend(words.map(str::to_owned));
        let Some(tmux) = &self.tmux else { return Ok(Vec::new()) };
        let plan = SessionPlan {
            name: self.bubble().control.session_name(&self.bubble().id),
            cwd: worktree.to_owned(),
            argv: view.clone(),
            width: SIZE.0,
            height: SIZE.1,
            plain: false,
        };
        if let Ensured::Made { pane, without_config } = tmux.ensure_session(&plan)? {
            tmux.tag(&pane, STATUS)?;
            if let Some(why) = without_config {
                self.log(&why);
            }
        }
        let panes = tmux.panes()?;
        match tagged(&panes, STATUS) {
            Some(pane) if pane.dead => tmux.respawn(&pane.id, &view, worktree)?,
            Some(_) => {}
            None => {
                // A person has closed it; open it again beside any other pane.
                let Some(beside) = panes.first() else { return Ok(panes) };
                let pane = tmux.split(&beside.id, &view, worktree)?;
                tmux.tag(&pane, STATUS)?;
                return Ok(tmux.panes()?);
            }
        }
        Ok(panes)
    }

    fn new_pane(&mut self, agent: &AgentId, worktree: &Path) -> StepResult {
        let Some(tmux) = &self.tmux else { return Ok(()) };
        let panes = tmux.panes()?;
        let Some(status) = tagged(&panes, STATUS) else { return Ok(()) };
        let words = ["/bin/echo".to_owned(), format!("{agent} is started when its turn comes.")];
        let pane = tmux.split(&status.id, &words, worktree)?;
        tmux.tag(&pane, agent.as_str())?;
        let program = self.program(agent);
        (program.pane, program.pid) = (Some(pane), None);
        Ok(())
    }

    /// Adopts an existing pane, also one that another process made. Returns whether a program runs there that this supervisor did not know.
    fn adopt_pane(&mut self, agent: &AgentId, pane: &Pane) -> bool {
        let program = self.program(agent);
        program.pane = Some(pane.id.clone());
        let (status, pid) = (program.status, program.pid);
        if pane.dead {
            program.pid = None;
            if status != ProgramStatus::Unknown {
                self.set_status(agent, ProgramStatus::Gone);
            }
            return false;
        }
        let unknown = pid != Some(pane.pid) && was_started(self.bubble(), agent, pane.pid);
        if unknown {
            self.program(agent).pid = Some(pane.pid);
            self.watch_process(agent, pane.pid);
        }
        unknown
    }

    /// The tmux server is gone, and with it every pane.
    pub(super) fn on_server_gone(&mut self) {
        let now = self.bubble().engine.clock.now().ts;
        for program in self.programs.values_mut() {
            (program.pane, program.pid) = (None, None);
            program.set_status(ProgramStatus::Gone, now);
        }
    }

    /// Returns the pane of `agent` if its program is running there.
    pub(super) fn live_pane(&self, agent: &AgentId) -> Option<PaneId> {
        let program = self.programs.get(agent)?;
        program.pid.and(program.pane.clone())
    }
}

/// Returns the pane with this tag.
pub(super) fn tagged<'a>(panes: &'a [Pane], tag: &str) -> Option<&'a Pane> {
    panes.iter().find(|pane| pane.tag.as_deref() == Some(tag))
}
