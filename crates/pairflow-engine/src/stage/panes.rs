//! The panes of a bubble's session, found by their tags: one for the status view and one for each agent.

use std::path::{Path, PathBuf};

use pairflow_core::bubble::{BubbleState, Phase};
use pairflow_core::ids::AgentId;

use super::error::StageError;
use super::play::Play;
use super::room::{Room, started};
use super::seat::Status;
use crate::tmux::{Ensured, Pane, PaneId, SessionPlan};

/// The tag of the pane with the status view; no agent can be called so.
const STATUS: &str = "pairflow.view";
/// The variables that say where pairflow keeps its own files, and how a person wants to see things.
const PLACES: [&str; 6] = ["HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "NO_COLOR", "LANG"];
/// The size of a session that nobody looks at.
const SIZE: (u16, u16) = (200, 50);

impl Play {
    /// Makes sure that the session is there, with a pane for the status view and one for each agent.
    pub(super) fn enter(&mut self, state: &BubbleState) -> Result<(), StageError> {
        let bubble = self.bubble().clone();
        if self.room.is_none() {
            let runtime = bubble.control.runtime(&bubble.id);
            std::fs::create_dir_all(&runtime).map_err(StageError::world("cannot make the runtime directory"))?;
            if let Some(dir) = bubble.control.tmux_socket(&bubble.id).parent() {
                crate::local_socket::private_dir(dir)
                    .map_err(StageError::world("cannot make a directory for sockets"))?;
            }
            self.room = Some(Room::of(&bubble, &self.person));
            self.remember();
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
        if changed && let Some(room) = &self.room {
            let panes = room.tmux.panes()?;
            let tagged =
                |tag: &str| panes.iter().find(|pane| pane.tag.as_deref() == Some(tag)).map(|pane| pane.id.clone());
            let order = std::iter::once(STATUS).chain(agents.iter().map(AgentId::as_str)).filter_map(tagged);
            room.tmux.layout(&order.collect::<Vec<_>>())?;
        }
        let going = matches!(state.phase, Phase::Running(_) | Phase::WaitingHuman(_));
        found.into_iter().filter(|_| going).try_for_each(|agent| self.look_for_dialog(agent))
    }

    /// Returns the panes of the session, which is made if it is not there.
    fn panes(&mut self, worktree: &Path) -> Result<Vec<Pane>, StageError> {
        // The terminal server knows little of the environment; the view has to find what the person's own commands find.
        let mut view = vec!["/usr/bin/env".to_owned()];
        let places = self.person.iter().filter(|(name, _)| PLACES.contains(&name.as_str()));
        view.extend(places.map(|(name, value)| format!("{name}={value}")));
        view.extend([
            self.props.program.display().to_string(),
            "view".to_owned(),
            "--pane".to_owned(),
            "--repo".to_owned(),
            self.bubble().control.repo().display().to_string(),
            "--id".to_owned(),
            self.bubble().id.to_string(),
        ]);
        let Some(room) = &self.room else { return Ok(Vec::new()) };
        let plan = SessionPlan {
            name: room.session.clone(),
            cwd: worktree.to_owned(),
            argv: view.clone(),
            width: SIZE.0,
            height: SIZE.1,
            plain: false,
        };
        if let Ensured::Made { pane, without_config } = room.tmux.ensure_session(&plan)? {
            room.tmux.tag(&pane, STATUS)?;
            if let Some(why) = without_config {
                (self.props.say)(&format!("{}: {why}", self.bubble().id));
            }
        }
        let panes = room.tmux.panes()?;
        match panes.iter().find(|pane| pane.tag.as_deref() == Some(STATUS)) {
            Some(pane) if pane.dead => room.tmux.respawn(&pane.id, &view, worktree)?,
            Some(_) => {}
            None => {
                // A person has closed it; beside any other pane it is opened again.
                let Some(beside) = panes.first() else { return Ok(panes) };
                let pane = room.tmux.split(&beside.id, &view, worktree)?;
                room.tmux.tag(&pane, STATUS)?;
                return Ok(room.tmux.panes()?);
            }
        }
        Ok(panes)
    }

    fn new_pane(&mut self, agent: &AgentId, worktree: &Path) -> Result<(), StageError> {
        let Some(room) = &self.room else { return Ok(()) };
        let any = room.tmux.panes()?.into_iter().find(|pane| pane.tag.as_deref() == Some(STATUS));
        let Some(status) = any else { return Ok(()) };
        let words = ["/bin/echo".to_owned(), format!("{agent} is started when its turn comes.")];
        let pane = room.tmux.split(&status.id, &words, worktree)?;
        room.tmux.tag(&pane, agent.as_str())?;
        let seat = self.seat(agent);
        (seat.pane, seat.pid) = (Some(pane), None);
        Ok(())
    }

    /// Takes over a pane that is there, no matter who made it. Says whether a program runs there that this supervisor did not
    /// know yet.
    fn adopt(&mut self, agent: &AgentId, pane: &Pane) -> bool {
        let now = self.bubble().engine.clock.now().ts;
        let seat = self.seats.entry(agent.clone()).or_default();
        seat.pane = Some(pane.id.clone());
        if pane.dead {
            seat.pid = None;
            if seat.status != Status::Unknown {
                seat.becomes(Status::Gone, now);
            }
        } else if seat.pid != Some(pane.pid) && started(&self.props.bubble, agent, pane.pid) {
            seat.pid = Some(pane.pid);
            self.attend(agent, pane.pid);
            return true;
        }
        false
    }

    /// The tmux server is gone, and with it every pane.
    pub(super) fn lost(&mut self) {
        let now = self.bubble().engine.clock.now().ts;
        for seat in self.seats.values_mut() {
            (seat.pane, seat.pid) = (None, None);
            seat.becomes(Status::Gone, now);
        }
    }

    /// Returns the pane of `agent`, if its program is running there.
    pub(super) fn living(&self, agent: &AgentId) -> Option<PaneId> {
        let seat = self.seats.get(agent)?;
        seat.pid.and(seat.pane.clone())
    }
}
