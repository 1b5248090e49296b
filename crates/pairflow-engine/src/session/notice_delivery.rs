//! Delivers notices and briefings: as the first prompt of a program, or pasted into its pane, until the agent is known to
//! have read them.
//!
//! A text is pasted again only after everything else was tried: two notices are worse than a late one. A briefing matters
//! less than a notice: it is typed once, no person is asked about it, and an agent whose turn comes first gets the notice
//! instead.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{ATTEMPTS, BubbleState, Command, Notice, Turn};
use pairflow_core::ids::AgentId;

use super::notice::{self, BRIEFING};
use super::screen_state::{AT_WORK, FreePrompt, ScreenState};
use super::session_loop::SessionLoop;
use super::session_state::{AgentProgram, DeliveryMethod, NoticeDelivery, ProgramStatus, StepResult};
use crate::limits::Limits;
use crate::tmux::PaneId;

/// Codex takes an Enter that follows a burst of keys for a line break.
const BEFORE_ENTER: Duration = Duration::from_millis(250);
/// How often Enter is pressed for one paste.
const ENTERS: u32 = 3;

impl AgentProgram {
    /// Returns when there is something to do for this program without an event.
    pub(super) fn due(&self, limits: Limits) -> Option<Instant> {
        let followed = |delivery: &&NoticeDelivery| {
            self.saved.hooks || delivery.method == DeliveryMethod::Type || delivery.is_unsent()
        };
        let delivery = self.delivery.as_ref().filter(followed).map(|delivery| delivery.look);
        let waiting = self.waiting.map(|since| self.last_hook.unwrap_or(since).max(since) + limits.screen_look);
        delivery.or(waiting).into_iter().chain(self.record_due()).min()
    }

    /// Whether a program that has to be typed into has not reported its start yet, although it will.
    fn is_starting(&self, delivery: &NoticeDelivery, limits: Limits) -> bool {
        let starting = self.saved.hooks && self.status == ProgramStatus::Starting;
        starting && delivery.at.elapsed() < limits.busy_quiet
    }
}

impl SessionLoop {
    /// Returns the text of a notice to the holder of the turn.
    pub(super) fn notice_text(&self, state: &BubbleState, turn: &Turn, notice: &Notice) -> String {
        let bubble = self.bubble();
        notice::text(notice, &bubble.id, (state.rounds.round, turn.seat), &bubble.brief(&turn.agent))
    }

    /// Does the next thing to get `notice` to the holder of the turn.
    pub(super) fn deliver(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice) -> StepResult {
        let (agent, number, limits) = (&turn.agent, notice.number, self.limits());
        let Some(pane) = self.live_pane(agent).filter(|_| state.goes_on_here(turn)) else {
            return self.start_with_notice(state, turn, notice);
        };
        let program = self.program(agent);
        match program.delivery.clone().filter(|delivery| delivery.notice == number) {
            Some(delivery) if delivery.method == DeliveryMethod::Type => {
                self.type_first_prompt(state, turn, notice, &pane)
            }
            Some(delivery) => self.check_delivery(state, notice, &pane, &delivery),
            None if program.saved.untyped.is_some() => self.plan_first_prompt(notice),
            None if notice.attempts == 0 => self.paste_notice(state, turn, notice, &pane),
            None => {
                // An earlier supervisor sent it; the agent may have read it long ago.
                program.delivery = Some(NoticeDelivery::new(number, DeliveryMethod::Paste, ENTERS, limits));
                Ok(())
            }
        }
    }

    /// Notes that the agent has nothing to read.
    pub(super) fn clear_delivery(&mut self, agent: &AgentId) {
        let program = self.program(agent);
        (program.delivery, program.waiting, program.unknown_since, program.held_back) = (None, None, None, false);
    }

    fn start_with_notice(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice) -> StepResult {
        if notice.attempts < ATTEMPTS && !self.record_sent(notice) {
            return Ok(());
        }
        let prompted = self.start_for(state, turn, notice)?;
        let method = if prompted { DeliveryMethod::Start } else { DeliveryMethod::Type };
        let delivery = NoticeDelivery::new(notice.number, method, 0, self.limits());
        let program = self.program(&turn.agent);
        (program.delivery, program.unknown_since) = (Some(delivery), None);
        Ok(())
    }

    /// Records an attempt before it is made; returns whether it may be made.
    fn record_sent(&mut self, notice: &Notice) -> bool {
        self.report(&Command::Sent { notice: notice.number }).is_some()
    }

    /// Plans to type the notice as the first prompt of a program that took none with its start: an earlier supervisor
    /// did not get to it, or the turn comes before the briefing.
    fn plan_first_prompt(&mut self, notice: &Notice) -> StepResult {
        self.program(&notice.agent).saved.untyped = Some(notice.number);
        self.save()?;
        if notice.attempts == 0 && !self.record_sent(notice) {
            return Ok(());
        }
        let delivery = NoticeDelivery::new(notice.number, DeliveryMethod::Type, 0, self.limits());
        self.program(&notice.agent).delivery = Some(delivery);
        Ok(())
    }

    /// Types the first prompt of a program that took none with its start, once it reports its start or after a while.
    fn type_first_prompt(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice, pane: &PaneId) -> StepResult {
        let (now, limits) = (Instant::now(), self.limits());
        let program = self.program(&turn.agent);
        let Some(delivery) = program.delivery.as_mut().filter(|delivery| now >= delivery.look) else { return Ok(()) };
        delivery.look = now + limits.screen_look;
        let delivery = delivery.clone();
        if program.is_starting(&delivery, limits) || !self.is_free_for(notice, pane)? {
            return Ok(());
        }
        self.type_notice(state, turn, notice, pane)
    }

    fn paste_notice(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice, pane: &PaneId) -> StepResult {
        let (now, limits) = (Instant::now(), self.limits());
        let program = self.program(&turn.agent);
        let since = *program.waiting.get_or_insert(now);
        let just_briefed = program.briefed.is_some_and(|at| now - at < limits.screen_look);
        let quiet = program.last_hook.is_none_or(|at| now - at >= limits.busy_quiet);
        let busy = matches!(program.status, ProgramStatus::Busy | ProgramStatus::Starting) && program.saved.hooks;
        let wait = just_briefed || busy && !quiet && now - since < limits.busy_most;
        if wait || !self.is_free_for(notice, pane)? || !self.record_sent(notice) {
            return Ok(());
        }
        self.type_notice(state, turn, notice, pane)
    }

    /// Whether a notice may be typed into the pane. Text that a person has begun to type there is theirs to finish.
    fn is_free_for(&mut self, notice: &Notice, pane: &PaneId) -> StepResult<bool> {
        let free = self.free_screen(&notice.agent, pane)?;
        let program = self.program(&notice.agent);
        program.held_back = free.as_ref().is_some_and(|free| !free.takes(notice.number));
        Ok(free.is_some() && !program.held_back)
    }

    fn type_notice(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice, pane: &PaneId) -> StepResult {
        let text = self.notice_text(state, turn, notice);
        let Some(entered) = self.type_line(&turn.agent, pane, (notice.number, &text))? else { return Ok(()) };
        let delivery = NoticeDelivery::new(notice.number, DeliveryMethod::Paste, entered, self.limits());
        let program = self.program(&turn.agent);
        (program.waiting, program.delivery) = (None, Some(delivery));
        Ok(())
    }

    /// Types a line, unless it is there already, and returns how often Enter was pressed for it; `None` if something in
    /// the pane waits for a person, or was typed by one. That nothing is left to type is saved first: a late line is
    /// better than two.
    fn type_line(&mut self, agent: &AgentId, pane: &PaneId, (number, text): (u64, &str)) -> StepResult<Option<u32>> {
        let ScreenState::Free(free) = self.screen_state(agent, pane)? else { return Ok(None) };
        if !free.takes(number) {
            return Ok(None);
        }
        self.program(agent).saved.untyped = None;
        self.save()?;
        let Some(tmux) = &self.tmux else { return Ok(None) };
        if free.input.as_ref().is_none_or(String::is_empty) {
            tmux.paste(pane, text)?;
            std::thread::sleep(BEFORE_ENTER);
        }
        Ok(Some(u32::from(self.press_enter_if(agent, pane, |free| free.took(number))?)))
    }

    /// Presses Enter if the prompt allows it: Enter must not answer a dialog, nor send what a person has typed. Returns
    /// whether it was pressed.
    fn press_enter_if(
        &mut self,
        agent: &AgentId,
        pane: &PaneId,
        may: impl Fn(&FreePrompt) -> bool,
    ) -> StepResult<bool> {
        let free = matches!(self.screen_state(agent, pane)?, ScreenState::Free(free) if may(&free));
        if let Some(tmux) = self.tmux.as_ref().filter(|_| free) {
            tmux.enter(pane)?;
        }
        Ok(free)
    }

    /// Looks whether the notice was read; presses Enter again, or sends it again after a while.
    fn check_delivery(
        &mut self,
        state: &BubbleState,
        notice: &Notice,
        pane: &PaneId,
        delivery: &NoticeDelivery,
    ) -> StepResult {
        let (now, agent, number) = (Instant::now(), &notice.agent, notice.number);
        // Without hooks only the agent's next command tells; meanwhile the watchdog counts.
        let hooks = self.program(agent).saved.hooks;
        if now < delivery.look || !(hooks || delivery.is_unsent()) {
            return Ok(());
        }
        if self.has_read(notice) {
            self.report(&Command::Acknowledged { agent: agent.clone(), notice: number });
            return Ok(());
        }
        let limits = self.limits();
        let mut next = NoticeDelivery { look: now + limits.screen_look, ..delivery.clone() };
        let free = self.free_screen(agent, pane)?;
        self.program(agent).held_back = free.as_ref().is_some_and(|free| !free.takes(number));
        let Some(free) = free.filter(|free| !free.screen.contains(AT_WORK) && free.takes(number)) else {
            // Its time counts from when the prompt is free.
            next.at = now;
            self.program(agent).delivery = Some(next);
            return Ok(());
        };
        let started = delivery.method == DeliveryMethod::Start;
        let patience = if started { limits.notice_started } else { limits.notice_pasted };
        if delivery.method == DeliveryMethod::Paste && free.holds(number) && delivery.entered < ENTERS {
            next.entered += u32::from(self.press_enter_if(agent, pane, |free| free.holds(number))?);
        } else if now - delivery.at >= patience {
            return self.retry_notice(state, notice, pane);
        }
        self.program(agent).delivery = Some(next);
        Ok(())
    }

    fn retry_notice(&mut self, state: &BubbleState, notice: &Notice, pane: &PaneId) -> StepResult {
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

    /// Types the briefing for agents that wait for their first turn; no notice is on its way to them.
    pub(super) fn deliver_briefings(&mut self, state: &BubbleState, turn: &Turn) -> StepResult {
        let limits = self.limits();
        for agent in state.rules.agents.all().filter(|agent| **agent != turn.agent) {
            let pane = self.live_pane(agent);
            let program = self.program(agent);
            program.waiting = None;
            let begun = program.delivery.take().filter(|delivery| delivery.notice == BRIEFING);
            let to_type = program.saved.untyped == Some(BRIEFING);
            let first = || NoticeDelivery::new(BRIEFING, DeliveryMethod::Type, 0, limits);
            let (Some(delivery), Some(pane)) = (begun.or_else(|| to_type.then(first)), pane) else { continue };
            let now = Instant::now();
            if now < delivery.look {
                program.delivery = Some(delivery);
                continue;
            }
            let next = NoticeDelivery { look: now + limits.screen_look, ..delivery };
            let left = match next.method {
                DeliveryMethod::Type => self.type_briefing(agent, &pane, next)?,
                DeliveryMethod::Start | DeliveryMethod::Paste => self.send_briefing(agent, &pane, next)?,
            };
            self.program(agent).delivery = left;
        }
        Ok(())
    }

    /// Types the briefing if the prompt is free; returns what is left to do for it.
    fn type_briefing(
        &mut self,
        agent: &AgentId,
        pane: &PaneId,
        delivery: NoticeDelivery,
    ) -> StepResult<Option<NoticeDelivery>> {
        let limits = self.limits();
        if self.program(agent).is_starting(&delivery, limits) {
            return Ok(Some(delivery));
        }
        let text = notice::standby(&self.bubble().id, &self.bubble().briefing(agent));
        let Some(entered) = self.type_line(agent, pane, (BRIEFING, &text))? else { return Ok(Some(delivery)) };
        let now = Instant::now();
        let program = self.program(agent);
        program.briefed = Some(now);
        let typed = NoticeDelivery { method: DeliveryMethod::Paste, at: now, entered, ..delivery };
        Ok(Some(typed).filter(|typed| program.saved.hooks || typed.is_unsent()))
    }

    /// Presses Enter again for a typed briefing that was not taken: a notice that is typed later must not be joined to
    /// it.
    fn send_briefing(
        &mut self,
        agent: &AgentId,
        pane: &PaneId,
        delivery: NoticeDelivery,
    ) -> StepResult<Option<NoticeDelivery>> {
        let taken = self.program(agent).last_hook.is_some_and(|at| at >= delivery.at);
        if taken || delivery.entered >= ENTERS {
            return Ok(None);
        }
        let ScreenState::Free(free) = self.screen_state(agent, pane)? else { return Ok(Some(delivery)) };
        if free.holds(BRIEFING) && !self.press_enter_if(agent, pane, |free| free.holds(BRIEFING))? {
            return Ok(Some(delivery));
        }
        Ok(Some(NoticeDelivery { entered: delivery.entered + 1, ..delivery }))
    }
}
