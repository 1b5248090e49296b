//! Gets a notice to an agent: as the first prompt of its program, or pasted into its pane, until the agent is known to
//! have it. What is pasted is never pasted again before everything else was tried: two notices are worse than a late one.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{ATTEMPTS, BubbleState, Command, Notice, Turn};
use pairflow_core::ids::AgentId;

use super::notice;
use super::screen_state::{AT_WORK, FreePrompt, ScreenState};
use super::session_loop::SessionLoop;
use super::session_state::{AgentProgram, DeliveryMethod, NoticeDelivery, ProgramStatus, SessionError};
use crate::limits::Limits;
use crate::tmux::PaneId;

/// Codex takes an Enter that follows a burst of keys for a line break.
const BEFORE_ENTER: Duration = Duration::from_millis(250);
/// How often Enter is pressed for one paste.
const ENTERS: u32 = 3;

impl AgentProgram {
    /// When there is something to do for this seat without a cue.
    pub(super) fn due(&self, limits: Limits) -> Option<Instant> {
        let followed = |delivery: &&NoticeDelivery| {
            self.saved.hooks || delivery.by == DeliveryMethod::Type || delivery.is_unsent()
        };
        let delivered = self.delivery.as_ref().filter(followed).map(|delivery| delivery.look);
        let waits = self.waiting.map(|since| self.heard.unwrap_or(since).max(since) + limits.screen_look);
        delivered.or(waits).into_iter().chain(self.record_due()).min()
    }

    /// Whether a program that is to be typed into has not said yet that it is there, though it will.
    pub(super) fn still_starts(&self, delivery: &NoticeDelivery, limits: Limits) -> bool {
        self.saved.hooks && self.status == ProgramStatus::Starting && delivery.at.elapsed() < limits.busy_quiet
    }
}

impl NoticeDelivery {
    /// Whether it stands typed on the screen, and something kept Enter from being pressed.
    pub(super) fn is_unsent(&self) -> bool {
        self.by == DeliveryMethod::Paste && self.entered == 0
    }
}

impl SessionLoop {
    /// Does the next thing that brings `notice` to the holder of the turn.
    pub(super) fn deliver(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice) -> Result<(), SessionError> {
        let agent = &turn.agent;
        let Some(pane) = self.live_pane(agent).filter(|_| state.goes_on_here(turn)) else {
            return self.start_with_notice(state, turn, notice);
        };
        let delivery = self.program(agent).delivery.clone().filter(|delivery| delivery.notice == notice.number);
        match delivery {
            Some(delivery) if delivery.by == DeliveryMethod::Type => self.type_first_prompt(state, turn, notice, &pane),
            Some(delivery) => self.check_delivery(state, notice, &pane, &delivery),
            None if self.program(agent).saved.untyped.is_some() => self.plan_first_prompt(notice),
            None if notice.attempts == 0 => self.paste_notice(state, turn, notice, &pane),
            None => {
                // An earlier supervisor sent it; the agent may have it for long.
                let now = Instant::now();
                let look = now + self.limits().screen_look;
                let way =
                    NoticeDelivery { notice: notice.number, by: DeliveryMethod::Paste, at: now, entered: ENTERS, look };
                self.program(agent).delivery = Some(way);
                Ok(())
            }
        }
    }

    /// The agent has nothing to read.
    pub(super) fn delivered(&mut self, agent: &AgentId) {
        let program = self.program(agent);
        (program.delivery, program.waiting, program.strange, program.held_back) = (None, None, None, false);
    }

    fn start_with_notice(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice) -> Result<(), SessionError> {
        if notice.attempts < ATTEMPTS && self.report(&Command::Sent { notice: notice.number }).is_none() {
            return Ok(());
        }
        let by = if self.start_for(state, turn, notice)? { DeliveryMethod::Start } else { DeliveryMethod::Type };
        let now = Instant::now();
        let delivery =
            NoticeDelivery { notice: notice.number, by, at: now, entered: 0, look: now + self.limits().screen_look };
        let program = self.program(&turn.agent);
        (program.delivery, program.strange) = (Some(delivery), None);
        Ok(())
    }

    /// Nothing was typed into this program yet, though it took no prompt with its start: an earlier supervisor did not get
    /// to it, or the turn comes before the briefing. The notice is the first thing that it is given.
    fn plan_first_prompt(&mut self, notice: &Notice) -> Result<(), SessionError> {
        self.program(&notice.agent).saved.untyped = Some(notice.number);
        self.save().map_err(SessionError::world("cannot note what is to be typed"))?;
        if notice.attempts == 0 && self.report(&Command::Sent { notice: notice.number }).is_none() {
            return Ok(());
        }
        let now = Instant::now();
        let delivery = NoticeDelivery {
            notice: notice.number,
            by: DeliveryMethod::Type,
            at: now,
            entered: 0,
            look: now + self.limits().screen_look,
        };
        self.program(&notice.agent).delivery = Some(delivery);
        Ok(())
    }

    /// Types the first prompt of a program that took none with its start, once it says that it is there, or after a while.
    fn type_first_prompt(
        &mut self,
        state: &BubbleState,
        turn: &Turn,
        notice: &Notice,
        pane: &PaneId,
    ) -> Result<(), SessionError> {
        let (now, limits) = (Instant::now(), self.limits());
        let program = self.program(&turn.agent);
        let Some(delivery) = program.delivery.as_mut().filter(|delivery| now >= delivery.look) else { return Ok(()) };
        delivery.look = now + limits.screen_look;
        let delivery = delivery.clone();
        if program.still_starts(&delivery, limits) || !self.is_free_for(notice, pane)? {
            return Ok(());
        }
        self.type_notice(state, turn, notice, pane)
    }

    fn paste_notice(
        &mut self,
        state: &BubbleState,
        turn: &Turn,
        notice: &Notice,
        pane: &PaneId,
    ) -> Result<(), SessionError> {
        let (now, limits) = (Instant::now(), self.limits());
        let program = self.program(&turn.agent);
        let since = *program.waiting.get_or_insert(now);
        let just_briefed = program.briefed.is_some_and(|at| now - at < limits.screen_look);
        if just_briefed {
            return Ok(());
        }
        let quiet = program.heard.is_none_or(|heard| now - heard >= limits.busy_quiet);
        let busy = matches!(program.status, ProgramStatus::Busy | ProgramStatus::Starting) && program.saved.hooks;
        if busy && !quiet && now - since < limits.busy_most {
            return Ok(());
        }
        if !self.is_free_for(notice, pane)? {
            return Ok(());
        }
        if self.report(&Command::Sent { notice: notice.number }).is_none() {
            return Ok(());
        }
        self.type_notice(state, turn, notice, pane)
    }

    /// Whether nothing in the pane is in the way of a notice. What a person has begun to type there is theirs to finish.
    fn is_free_for(&mut self, notice: &Notice, pane: &PaneId) -> Result<bool, SessionError> {
        let free = self.free_screen(&notice.agent, pane)?;
        let program = self.program(&notice.agent);
        program.held_back = free.as_ref().is_some_and(|free| !free.takes(notice.number));
        Ok(free.is_some() && !program.held_back)
    }

    fn type_notice(
        &mut self,
        state: &BubbleState,
        turn: &Turn,
        notice: &Notice,
        pane: &PaneId,
    ) -> Result<(), SessionError> {
        let brief = self.bubble().brief(&turn.agent);
        let text = notice::text(notice, &self.bubble().id, (state.rounds.round, turn.seat), &brief);
        let Some(entered) = self.type_line(&turn.agent, pane, (notice.number, &text))? else { return Ok(()) };
        let now = Instant::now();
        let look = now + self.limits().screen_look;
        let program = self.program(&turn.agent);
        program.waiting = None;
        let (number, by) = (notice.number, DeliveryMethod::Paste);
        program.delivery = Some(NoticeDelivery { notice: number, by, at: now, entered, look });
        Ok(())
    }

    /// Types the line of a notice, unless it stands there already, and returns how often Enter was pressed for it; nothing
    /// if something in the pane waits for a person, or was typed by one. It is noted first that nothing is to be typed
    /// any more: a line that is late is better than two.
    pub(super) fn type_line(
        &mut self,
        agent: &AgentId,
        pane: &PaneId,
        (number, text): (u64, &str),
    ) -> Result<Option<u32>, SessionError> {
        let ScreenState::Free(free) = self.screen_state(agent, pane)? else { return Ok(None) };
        if !free.takes(number) {
            return Ok(None);
        }
        self.program(agent).saved.untyped = None;
        self.save().map_err(SessionError::world("cannot note what was typed"))?;
        let Some(session) = &self.session else { return Ok(None) };
        if free.input.as_ref().is_none_or(String::is_empty) {
            session.tmux.paste(pane, text)?;
            std::thread::sleep(BEFORE_ENTER);
        }
        Ok(Some(u32::from(self.press_enter_if(agent, pane, |free| free.took(number))?)))
    }

    /// Presses Enter for the notice `number`, unless it could answer something that waits for a person, or send what a
    /// person has typed; says whether it did.
    pub(super) fn press_enter(&mut self, agent: &AgentId, pane: &PaneId, number: u64) -> Result<bool, SessionError> {
        self.press_enter_if(agent, pane, |free| free.holds(number))
    }

    fn press_enter_if(
        &mut self,
        agent: &AgentId,
        pane: &PaneId,
        may: impl Fn(&FreePrompt) -> bool,
    ) -> Result<bool, SessionError> {
        let free = matches!(self.screen_state(agent, pane)?, ScreenState::Free(free) if may(&free));
        if let Some(session) = self.session.as_ref().filter(|_| free) {
            session.tmux.enter(pane)?;
        }
        Ok(free)
    }

    /// Waits for the acknowledgement, and helps it along.
    fn check_delivery(
        &mut self,
        state: &BubbleState,
        notice: &Notice,
        pane: &PaneId,
        delivery: &NoticeDelivery,
    ) -> Result<(), SessionError> {
        let (now, agent) = (Instant::now(), &notice.agent);
        // Without hooks only the agent's next command tells; the watchdog counts meanwhile.
        let hooks = self.program(agent).saved.hooks;
        if now < delivery.look || !(hooks || delivery.is_unsent()) {
            return Ok(());
        }
        let limits = self.limits();
        let patience = if delivery.by == DeliveryMethod::Start { limits.notice_started } else { limits.notice_pasted };
        let mut next = NoticeDelivery { look: now + limits.screen_look, ..delivery.clone() };
        if self.has_read(notice) {
            self.report(&Command::Acknowledged { agent: agent.clone(), notice: notice.number });
            return Ok(());
        }
        let free = self.free_screen(agent, pane)?;
        self.program(agent).held_back = free.as_ref().is_some_and(|free| !free.takes(notice.number));
        let Some(free) = free.filter(|free| !free.screen.contains(AT_WORK) && free.takes(notice.number)) else {
            // Its time counts from when it is free.
            next.at = now;
            self.program(agent).delivery = Some(next);
            return Ok(());
        };
        if delivery.by == DeliveryMethod::Paste && free.holds(notice.number) && delivery.entered < ENTERS {
            next.entered += u32::from(self.press_enter(agent, pane, notice.number)?);
        } else if (hooks || delivery.is_unsent()) && now - delivery.at >= patience {
            return self.retry_notice(state, notice, pane);
        }
        self.program(agent).delivery = Some(next);
        Ok(())
    }

    fn retry_notice(&mut self, state: &BubbleState, notice: &Notice, pane: &PaneId) -> Result<(), SessionError> {
        let Some(turn) = state.phase.turn() else { return Ok(()) };
        if notice.attempts < ATTEMPTS {
            self.program(&notice.agent).set_status(ProgramStatus::Unknown, state.last_command_at);
            return self.paste_notice(state, turn, notice, pane);
        }
        self.program(&notice.agent).delivery = None;
        let why = "it was sent three times, and the agent did not take it".to_owned();
        self.report(&Command::Undelivered { notice: notice.number, why });
        Ok(())
    }
}

/// What stands for a number where a notice has one.
pub(super) const BRIEFING: u64 = 0;

impl SessionLoop {
    /// Brings the briefing to the agents that wait for their first turn; no other notice is on its way to them.
    pub(super) fn brief(&mut self, state: &BubbleState, turn: &Turn) -> Result<(), SessionError> {
        let others = state.rules.agents.all().filter(|agent| **agent != turn.agent);
        let limits = self.limits();
        for agent in others {
            let pane = self.live_pane(agent);
            let program = self.program(agent);
            program.waiting = None;
            let now = Instant::now();
            let to_type = program.saved.untyped == Some(BRIEFING);
            let first = NoticeDelivery {
                notice: BRIEFING,
                by: DeliveryMethod::Type,
                at: now,
                entered: 0,
                look: now + limits.screen_look,
            };
            let delivery = program.delivery.take().filter(|delivery| delivery.notice == BRIEFING);
            let Some(delivery) = delivery.or(to_type.then_some(first)) else { continue };
            let Some(pane) = pane else { continue };
            if now < delivery.look {
                program.delivery = Some(delivery);
                continue;
            }
            let next = NoticeDelivery { look: now + limits.screen_look, ..delivery };
            let left = match next.by {
                DeliveryMethod::Type => self.type_briefing(agent, &pane, next)?,
                DeliveryMethod::Start | DeliveryMethod::Paste => self.press_again(agent, &pane, next)?,
            };
            self.program(agent).delivery = left;
        }
        Ok(())
    }

    /// Types the briefing if nothing is in the way; returns what is still to be done for it.
    fn type_briefing(
        &mut self,
        agent: &AgentId,
        pane: &PaneId,
        delivery: NoticeDelivery,
    ) -> Result<Option<NoticeDelivery>, SessionError> {
        let limits = self.limits();
        if self.program(agent).still_starts(&delivery, limits) {
            return Ok(Some(delivery));
        }
        let text = notice::standby(&self.bubble().id, &self.bubble().briefing(agent));
        let Some(entered) = self.type_line(agent, pane, (BRIEFING, &text))? else { return Ok(Some(delivery)) };
        let now = Instant::now();
        let program = self.program(agent);
        program.briefed = Some(now);
        let typed = NoticeDelivery { by: DeliveryMethod::Paste, at: now, entered, ..delivery };
        Ok(Some(typed).filter(|typed| program.saved.hooks || typed.is_unsent()))
    }

    /// Presses Enter again for a briefing that stands typed on the screen and was not taken; a notice that is typed
    /// later must not be joined to it.
    fn press_again(
        &mut self,
        agent: &AgentId,
        pane: &PaneId,
        delivery: NoticeDelivery,
    ) -> Result<Option<NoticeDelivery>, SessionError> {
        let taken = self.program(agent).heard.is_some_and(|heard| heard >= delivery.at);
        if taken || delivery.entered >= ENTERS {
            return Ok(None);
        }
        let ScreenState::Free(free) = self.screen_state(agent, pane)? else { return Ok(Some(delivery)) };
        if free.holds(BRIEFING) && !self.press_enter(agent, pane, BRIEFING)? {
            return Ok(Some(delivery));
        }
        Ok(Some(NoticeDelivery { entered: delivery.entered + 1, ..delivery }))
    }
}
