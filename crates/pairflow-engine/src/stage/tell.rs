//! Gets a notice to an agent: as the first prompt of its program, or pasted into its pane, until the agent is known to
//! have it. What is pasted is never pasted again before everything else was tried: two notices are worse than a late one.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{ATTEMPTS, BubbleState, Command, Notice, Turn};
use pairflow_core::ids::AgentId;

use super::error::StageError;
use super::notice;
use super::play::Play;
use super::seat::{SeatNow, Status, Telling, Way};
use super::sight::{Free, Sight};
use crate::limits::Limits;
use crate::tmux::PaneId;

/// Codex takes an Enter that follows a burst of keys for a line break.
const BEFORE_ENTER: Duration = Duration::from_millis(250);
/// How often Enter is pressed for one paste.
pub(super) const ENTERS: u32 = 3;
/// What both programs show while they work.
pub(super) const AT_WORK: &str = "esc to interrupt";

impl SeatNow {
    /// When there is something to do for this seat without a cue.
    pub(super) fn due(&self, limits: Limits) -> Option<Instant> {
        let followed = |telling: &&Telling| self.kept.hooks || telling.by == Way::Type || telling.is_unsent();
        let told = self.telling.as_ref().filter(followed).map(|telling| telling.look);
        let waits = self.waiting.map(|since| self.heard.unwrap_or(since).max(since) + limits.screen_look);
        told.or(waits).into_iter().chain(self.record_due()).min()
    }

    /// Whether a program that is to be typed into has not said yet that it is there, though it will.
    pub(super) fn still_starts(&self, telling: &Telling, limits: Limits) -> bool {
        self.kept.hooks && self.status == Status::Starting && telling.at.elapsed() < limits.busy_quiet
    }
}

impl Telling {
    /// Whether it stands typed on the screen, and something kept Enter from being pressed.
    pub(super) fn is_unsent(&self) -> bool {
        self.by == Way::Paste && self.entered == 0
    }
}

impl Play {
    /// Does the next thing that brings `notice` to the holder of the turn.
    pub(super) fn tell(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice) -> Result<(), StageError> {
        let agent = &turn.agent;
        let Some(pane) = self.living(agent).filter(|_| state.goes_on_here(turn)) else {
            return self.with_start(state, turn, notice);
        };
        let telling = self.seat(agent).telling.clone().filter(|telling| telling.notice == notice.number);
        match telling {
            Some(telling) if telling.by == Way::Type => self.type_first(state, turn, notice, &pane),
            Some(telling) => self.follow(state, notice, &pane, &telling),
            None if self.seat(agent).kept.untyped.is_some() => self.first_of_all(notice),
            None if notice.attempts == 0 => self.paste(state, turn, notice, &pane),
            None => {
                // An earlier supervisor sent it; the agent may have it for long.
                let now = Instant::now();
                let look = now + self.limits().screen_look;
                let way = Telling { notice: notice.number, by: Way::Paste, at: now, entered: ENTERS, look };
                self.seat(agent).telling = Some(way);
                Ok(())
            }
        }
    }

    /// The agent has nothing to read.
    pub(super) fn told(&mut self, agent: &AgentId) {
        let seat = self.seat(agent);
        (seat.telling, seat.waiting, seat.strange, seat.held_back) = (None, None, None, false);
    }

    fn with_start(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice) -> Result<(), StageError> {
        if notice.attempts < ATTEMPTS && self.report(&Command::Sent { notice: notice.number }).is_none() {
            return Ok(());
        }
        let by = if self.start_for(state, turn, notice)? { Way::Start } else { Way::Type };
        let now = Instant::now();
        let telling = Telling { notice: notice.number, by, at: now, entered: 0, look: now + self.limits().screen_look };
        let seat = self.seat(&turn.agent);
        (seat.telling, seat.strange) = (Some(telling), None);
        Ok(())
    }

    /// Nothing was typed into this program yet, though it took no prompt with its start: an earlier supervisor did not get
    /// to it, or the turn comes before the briefing. The notice is the first thing that it is given.
    fn first_of_all(&mut self, notice: &Notice) -> Result<(), StageError> {
        self.seat(&notice.agent).kept.untyped = Some(notice.number);
        self.keep().map_err(StageError::world("cannot note what is to be typed"))?;
        if notice.attempts == 0 && self.report(&Command::Sent { notice: notice.number }).is_none() {
            return Ok(());
        }
        let now = Instant::now();
        let telling = Telling {
            notice: notice.number,
            by: Way::Type,
            at: now,
            entered: 0,
            look: now + self.limits().screen_look,
        };
        self.seat(&notice.agent).telling = Some(telling);
        Ok(())
    }

    /// Types the first prompt of a program that took none with its start, once it says that it is there, or after a while.
    fn type_first(
        &mut self,
        state: &BubbleState,
        turn: &Turn,
        notice: &Notice,
        pane: &PaneId,
    ) -> Result<(), StageError> {
        let (now, limits) = (Instant::now(), self.limits());
        let seat = self.seat(&turn.agent);
        let Some(telling) = seat.telling.as_mut().filter(|telling| now >= telling.look) else { return Ok(()) };
        telling.look = now + limits.screen_look;
        let telling = telling.clone();
        if seat.still_starts(&telling, limits) || !self.is_free_for(notice, pane)? {
            return Ok(());
        }
        self.put_in(state, turn, notice, pane)
    }

    fn paste(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice, pane: &PaneId) -> Result<(), StageError> {
        let (now, limits) = (Instant::now(), self.limits());
        let seat = self.seat(&turn.agent);
        let since = *seat.waiting.get_or_insert(now);
        let just_briefed = seat.briefed.is_some_and(|at| now - at < limits.screen_look);
        if just_briefed {
            return Ok(());
        }
        let quiet = seat.heard.is_none_or(|heard| now - heard >= limits.busy_quiet);
        let busy = matches!(seat.status, Status::Busy | Status::Starting) && seat.kept.hooks;
        if busy && !quiet && now - since < limits.busy_most {
            return Ok(());
        }
        if !self.is_free_for(notice, pane)? {
            return Ok(());
        }
        if self.report(&Command::Sent { notice: notice.number }).is_none() {
            return Ok(());
        }
        self.put_in(state, turn, notice, pane)
    }

    /// Whether nothing in the pane is in the way of a notice. What a person has begun to type there is theirs to finish.
    fn is_free_for(&mut self, notice: &Notice, pane: &PaneId) -> Result<bool, StageError> {
        let free = self.free_screen(&notice.agent, pane)?;
        let seat = self.seat(&notice.agent);
        seat.held_back = free.as_ref().is_some_and(|free| !free.takes(notice.number));
        Ok(free.is_some() && !seat.held_back)
    }

    fn put_in(&mut self, state: &BubbleState, turn: &Turn, notice: &Notice, pane: &PaneId) -> Result<(), StageError> {
        let brief = self.bubble().brief(&turn.agent);
        let text = notice::text(notice, &self.bubble().id, (state.rounds.round, turn.seat), &brief);
        let Some(entered) = self.type_in(&turn.agent, pane, (notice.number, &text))? else { return Ok(()) };
        let now = Instant::now();
        let look = now + self.limits().screen_look;
        let seat = self.seat(&turn.agent);
        seat.waiting = None;
        let (number, by) = (notice.number, Way::Paste);
        seat.telling = Some(Telling { notice: number, by, at: now, entered, look });
        Ok(())
    }

    /// Types the line of a notice, unless it stands there already, and returns how often Enter was pressed for it; nothing
    /// if something in the pane waits for a person, or was typed by one. It is noted first that nothing is to be typed
    /// any more: a line that is late is better than two.
    pub(super) fn type_in(
        &mut self,
        agent: &AgentId,
        pane: &PaneId,
        (number, text): (u64, &str),
    ) -> Result<Option<u32>, StageError> {
        let Sight::Free(free) = self.sight(agent, pane)? else { return Ok(None) };
        if !free.takes(number) {
            return Ok(None);
        }
        self.seat(agent).kept.untyped = None;
        self.keep().map_err(StageError::world("cannot note what was typed"))?;
        let Some(room) = &self.room else { return Ok(None) };
        if free.input.as_ref().is_none_or(String::is_empty) {
            room.tmux.paste(pane, text)?;
            std::thread::sleep(BEFORE_ENTER);
        }
        Ok(Some(u32::from(self.press_if(agent, pane, |free| free.took(number))?)))
    }

    /// Presses Enter for the notice `number`, unless it could answer something that waits for a person, or send what a
    /// person has typed; says whether it did.
    pub(super) fn press(&mut self, agent: &AgentId, pane: &PaneId, number: u64) -> Result<bool, StageError> {
        self.press_if(agent, pane, |free| free.holds(number))
    }

    fn press_if(&mut self, agent: &AgentId, pane: &PaneId, may: impl Fn(&Free) -> bool) -> Result<bool, StageError> {
        let free = matches!(self.sight(agent, pane)?, Sight::Free(free) if may(&free));
        if let Some(room) = self.room.as_ref().filter(|_| free) {
            room.tmux.enter(pane)?;
        }
        Ok(free)
    }

    /// Waits for the acknowledgement, and helps it along.
    fn follow(
        &mut self,
        state: &BubbleState,
        notice: &Notice,
        pane: &PaneId,
        telling: &Telling,
    ) -> Result<(), StageError> {
        let (now, agent) = (Instant::now(), &notice.agent);
        // Without hooks only the agent's next command tells; the watchdog counts meanwhile.
        let hooks = self.seat(agent).kept.hooks;
        if now < telling.look || !(hooks || telling.is_unsent()) {
            return Ok(());
        }
        let limits = self.limits();
        let patience = if telling.by == Way::Start { limits.notice_started } else { limits.notice_pasted };
        let mut next = Telling { look: now + limits.screen_look, ..telling.clone() };
        if self.has_read(notice) {
            self.report(&Command::Acknowledged { agent: agent.clone(), notice: notice.number });
            return Ok(());
        }
        let free = self.free_screen(agent, pane)?;
        self.seat(agent).held_back = free.as_ref().is_some_and(|free| !free.takes(notice.number));
        let Some(free) = free.filter(|free| !free.screen.contains(AT_WORK) && free.takes(notice.number)) else {
            // Its time counts from when it is free.
            next.at = now;
            self.seat(agent).telling = Some(next);
            return Ok(());
        };
        if telling.by == Way::Paste && free.holds(notice.number) && telling.entered < ENTERS {
            next.entered += u32::from(self.press(agent, pane, notice.number)?);
        } else if (hooks || telling.is_unsent()) && now - telling.at >= patience {
            return self.again(state, notice, pane);
        }
        self.seat(agent).telling = Some(next);
        Ok(())
    }

    fn again(&mut self, state: &BubbleState, notice: &Notice, pane: &PaneId) -> Result<(), StageError> {
        let Some(turn) = state.phase.turn() else { return Ok(()) };
        if notice.attempts < ATTEMPTS {
            self.seat(&notice.agent).becomes(Status::Unknown, state.last_command_at);
            return self.paste(state, turn, notice, pane);
        }
        self.seat(&notice.agent).telling = None;
        let why = "it was sent three times, and the agent did not take it".to_owned();
        self.report(&Command::Undelivered { notice: notice.number, why });
        Ok(())
    }
}
