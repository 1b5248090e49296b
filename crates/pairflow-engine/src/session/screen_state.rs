//! What a pane shows, as far as it decides whether anything may be typed there: only where a prompt is known to wait, if
//! it is known what that looks like. Also withdraws questions about dialogs that are gone, and interrupts programs in a pause.

use std::time::{Duration, Instant};

use pairflow_core::bubble::{BubbleState, Command, Hindrance};
use pairflow_core::ids::AgentId;
use pairflow_core::log::QuestionKind;

use super::notice;
use super::session_loop::SessionLoop;
use super::session_state::{AgentProgram, ProgramStatus, Prompted, SavedProgram, StepResult};
use crate::driver::{Dialog, PaneScreen, dialog_on};
use crate::limits::Limits;
use crate::tmux::PaneId;

/// How many lines from its end a screen is searched. Both programs show dialogs and their activity there; the text above
/// can come from anywhere.
const FOOT: usize = 25;
/// What both programs show while they work.
pub(super) const AT_WORK: &str = "esc to interrupt";
/// How a person is told about an unknown screen.
const UNKNOWN: &str = "something that pairflow does not know, where no prompt waits";
/// How often a program is interrupted in one pause.
const ESCAPES: u32 = 3;
/// How often pairflow checks whether a dialog is gone.
const DIALOG_CHECK: Duration = Duration::from_secs(5);

/// What a pane shows.
pub(super) enum ScreenState {
    /// A prompt waits, and nothing waits for a person.
    Free(FreePrompt),
    /// A dialog waits for a person.
    Dialog(Dialog),
    /// Something waits for a person, though no dialog is seen.
    Blocked,
    /// Neither a prompt nor a known dialog.
    Unknown,
}

/// A screen on which a prompt is taken.
pub(super) struct FreePrompt {
    /// The end of the screen.
    pub screen: String,
    /// The text already typed; `None` if it is not known what that looks like.
    pub input: Option<String>,
}

impl FreePrompt {
    /// Whether at most the beginning of the notice `number` is typed.
    pub(super) fn takes(&self, number: u64) -> bool {
        self.input.as_ref().is_none_or(|input| input.is_empty() || input.starts_with(&notice::mark(number)))
    }

    /// Whether the notice `number` is typed, with nothing before it.
    pub(super) fn holds(&self, number: u64) -> bool {
        let mark = notice::mark(number);
        self.input.as_ref().map_or_else(|| self.screen.contains(&mark), |input| input.starts_with(&mark))
    }

    /// Whether Enter may follow the notice `number`, which was just pasted into an empty prompt: it is there (some
    /// programs show a long paste as `[Pasted …]`), or it is not known what that looks like.
    pub(super) fn took(&self, number: u64) -> bool {
        self.input.as_ref().is_none_or(|input| input.starts_with("[Pasted ")) || self.holds(number)
    }
}

/// What a screen shows, whatever hooks have reported.
#[derive(Debug, PartialEq, Eq)]
enum ScreenContent {
    /// A prompt, with the text already typed if it is known what that looks like.
    Prompt(Option<String>),
    Dialog(Dialog),
    Unknown,
}

impl SavedProgram {
    /// Reads a screen. A long command may push the text of its dialog up; so while a person is known to be asked, it
    /// counts wherever it is, unless a prompt waits below it.
    fn shown(&self, screen: &PaneScreen, blocked: bool) -> ScreenContent {
        let prompt = match &self.composer {
            Some(composer) => composer.input(screen).map(Some),
            None => Some(None),
        };
        let foot = foot(&screen.text);
        let searched = if blocked && prompt.is_none() { &screen.text } else { &foot };
        match (dialog_on(searched, &self.dialogs), prompt) {
            (Some(dialog), _) => ScreenContent::Dialog(dialog.clone()),
            (None, Some(input)) => ScreenContent::Prompt(input),
            (None, None) => ScreenContent::Unknown,
        }
    }
}

impl AgentProgram {
    /// Whether the program still waits for a person though its screen shows no dialog. No event tells of a dialog left
    /// with Esc; so a dialog that has been gone for a while is over, if its end could be seen.
    fn still_blocked(&mut self, now: Instant, limits: Limits) -> bool {
        match self.status {
            ProgramStatus::Permission if self.saved.dialogs.is_empty() && self.saved.composer.is_none() => true,
            // A hook announces a dialog a moment before it is shown.
            ProgramStatus::Permission => now - *self.dialog_gone_since.get_or_insert(now) < limits.screen_look,
            _ => false,
        }
    }

    /// Whether the screen has shown something unknown for long; then the time starts again.
    fn is_unknown_for_long(&mut self, now: Instant, limits: Limits) -> bool {
        let long = now - *self.unknown_since.get_or_insert(now) >= limits.unknown_screen;
        if long {
            self.unknown_since = None;
        }
        long
    }

    /// Whether the program works, as far as is known, on a notice of pairflow.
    fn works_for_pairflow(&self) -> bool {
        let works = self.status == ProgramStatus::Busy || !self.saved.hooks;
        works && self.saved.prompted == Prompted::Pairflow && self.interrupted < ESCAPES
    }
}

impl SessionLoop {
    /// Looks at a pane. Whatever is typed is typed right after a look.
    pub(super) fn screen_state(&mut self, agent: &AgentId, pane: &PaneId) -> StepResult<ScreenState> {
        let screen = self.screen(agent, pane)?;
        let (pending, limits) = (self.has_pending(agent), self.limits());
        let program = self.program(agent);
        let input = match program.saved.shown(&screen, program.is_blocked()) {
            ScreenContent::Prompt(input) if !pending => input,
            other => {
                program.dialog_gone_since = None;
                return Ok(match other {
                    ScreenContent::Dialog(dialog) => ScreenState::Dialog(dialog),
                    ScreenContent::Unknown if !pending => ScreenState::Unknown,
                    ScreenContent::Unknown | ScreenContent::Prompt(_) => ScreenState::Blocked,
                });
            }
        };
        if program.still_blocked(Instant::now(), limits) {
            return Ok(ScreenState::Blocked);
        }
        (program.dialog_gone_since, program.unknown_since) = (None, None);
        if program.is_blocked() {
            self.set_status(agent, ProgramStatus::Unknown);
        }
        Ok(ScreenState::Free(FreePrompt { screen: foot(&screen.text), input }))
    }

    /// Looks at a pane and returns its prompt if nothing there waits for a person. A person is asked about a dialog, and
    /// about a screen that stays unknown.
    pub(super) fn free_screen(&mut self, agent: &AgentId, pane: &PaneId) -> StepResult<Option<FreePrompt>> {
        let limits = self.limits();
        match self.screen_state(agent, pane)? {
            ScreenState::Free(free) => return Ok(Some(free)),
            ScreenState::Dialog(dialog) if !self.has_pending(agent) => {
                self.ask_about_dialog(agent, format!("{} ({})", dialog.name, dialog.advice));
            }
            ScreenState::Unknown if self.program(agent).is_unknown_for_long(Instant::now(), limits) => {
                self.ask_about_dialog(agent, UNKNOWN.to_owned());
            }
            ScreenState::Dialog(_) | ScreenState::Blocked | ScreenState::Unknown => {}
        }
        Ok(None)
    }

    /// Asks a person about a dialog, unless such a question is open.
    fn ask_about_dialog(&mut self, agent: &AgentId, what: String) {
        self.set_status(agent, ProgramStatus::Dialog);
        self.program(agent).unknown_since = None;
        let mut open = self.state.iter().flat_map(|state| &state.gate.questions);
        if !open.any(|open| open.kind == QuestionKind::Dialog && open.about.as_ref() == Some(agent)) {
            self.report(&Command::Hindered { agent: agent.clone(), by: Hindrance::Dialog, what });
        }
    }

    /// Looks at the pane of a program that was unattended for a while: what it asked then reached nobody.
    pub(super) fn look_for_dialog(&mut self, agent: &AgentId) -> StepResult {
        let blocked = self.programs.get(agent).is_some_and(AgentProgram::is_blocked);
        let Some(pane) = self.live_pane(agent).filter(|_| !blocked) else { return Ok(()) };
        self.free_screen(agent, &pane).map(drop)
    }

    /// Whether an agent that waits for a person still shows its dialog, or at least no prompt. An unreadable screen
    /// shows none.
    pub(super) fn still_shows_dialog(&self, agent: &AgentId) -> bool {
        let Some(program) = self.programs.get(agent).filter(|program| program.is_blocked()) else { return false };
        let screen = self.live_pane(agent).and_then(|pane| self.screen(agent, &pane).ok());
        screen.is_some_and(|screen| !matches!(program.saved.shown(&screen, true), ScreenContent::Prompt(_)))
    }

    fn screen(&self, agent: &AgentId, pane: &PaneId) -> StepResult<PaneScreen> {
        let Some(tmux) = &self.tmux else { return Ok(PaneScreen::default()) };
        let styled = tmux.capture_styled(pane)?;
        let composer = self.programs.get(agent).and_then(|program| program.saved.composer.as_ref());
        // After the text: whatever opens in between hides the cursor.
        let cursor = composer.is_some_and(|composer| composer.cursor) && tmux.shows_cursor(pane)?;
        Ok(PaneScreen::read(&styled, cursor))
    }

    /// Withdraws questions about dialogs that are gone: the prompt is back, and no hook tells of a dialog that was left.
    pub(super) fn withdraw_dialog_questions(&mut self, state: &BubbleState) -> StepResult {
        for agent in self.asked_about(state) {
            self.program(&agent).unknown_since = None;
            let Some(pane) = self.live_pane(&agent) else { continue };
            if matches!(self.screen_state(&agent, &pane)?, ScreenState::Free(_)) {
                self.report(&Command::Active { agent });
            }
        }
        Ok(())
    }

    /// Returns when to check again whether dialogs are gone.
    pub(super) fn dialog_check_due(&self, stepped: Instant) -> Option<Instant> {
        let asked = self.state.as_ref().is_some_and(|state| !state.paused && !self.asked_about(state).is_empty());
        asked.then(|| stepped + DIALOG_CHECK)
    }

    /// Returns the agents with an open question about a dialog whose prompt could be recognised.
    fn asked_about(&self, state: &BubbleState) -> Vec<AgentId> {
        let asked = state.gate.questions.iter().filter(|open| open.kind == QuestionKind::Dialog);
        let known =
            |agent: &&AgentId| self.programs.get(*agent).is_some_and(|program| program.saved.composer.is_some());
        asked.filter_map(|open| open.about.as_ref()).filter(known).cloned().collect()
    }

    /// Interrupts, in a pause, each program that works on a notice, with Esc as a person would. Nothing is pressed unless
    /// the screen says that Esc interrupts. Work for a person goes on: a pause is also the time for work by hand.
    pub(super) fn interrupt(&mut self, state: &BubbleState) -> StepResult {
        for agent in state.rules.agents.all() {
            let program = self.program(agent);
            program.unknown_since = None;
            let works = program.works_for_pairflow();
            let Some(pane) = self.live_pane(agent).filter(|_| works) else { continue };
            let ScreenState::Free(free) = self.screen_state(agent, &pane)? else { continue };
            let Some(tmux) = self.tmux.as_ref().filter(|_| free.screen.contains(AT_WORK)) else { continue };
            tmux.escape(&pane)?;
            self.program(agent).interrupted += 1;
            // Not every program reports an interruption; one that goes on reports its work.
            self.set_status(agent, ProgramStatus::Unknown);
        }
        Ok(())
    }
}

/// Returns the last lines of a screen that are not empty.
fn foot(screen: &str) -> String {
    let lines: Vec<&str> = screen.lines().rev().filter(|line| !line.trim().is_empty()).take(FOOT).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::driver::Composer;

    const WORDS: &str = "Trust this folder? Trust and continue";

    fn saved(composer: bool) -> SavedProgram {
        let dialog = Dialog { name: "trust".to_owned(), marks: vec![WORDS.to_owned()], advice: String::new() };
        let composer =
            composer
                .then(|| Composer { marks: vec!["›".to_owned()], ruled: false, cursor: false, hints: Vec::new() });
        SavedProgram { dialogs: vec![dialog], composer, ..SavedProgram::default() }
    }

    fn dialog() -> ScreenContent {
        ScreenContent::Dialog(saved(false).dialogs.remove(0))
    }

    fn screen(below: usize, end: &str) -> PaneScreen {
        PaneScreen::read(&format!("{WORDS}\n{}{end}", "a line\n\n".repeat(below)), false)
    }

    #[test]
    fn words_far_above_the_end_of_a_screen_are_nobodys_dialog() {
        assert_eq!(saved(false).shown(&screen(FOOT - 1, ""), false), dialog());
        let empty = || ScreenContent::Prompt(Some(String::new()));
        assert_eq!(saved(false).shown(&screen(FOOT, ""), false), ScreenContent::Prompt(None));
        assert_eq!(saved(true).shown(&screen(FOOT, "› "), false), empty());
        assert_eq!(saved(true).shown(&screen(FOOT, "› "), true), empty(), "a prompt waits below them");
        let half = ScreenContent::Prompt(Some("/clear".to_owned()));
        assert_eq!(saved(true).shown(&screen(FOOT, "› /clear "), false), half);
        assert_eq!(
            saved(true).shown(&screen(FOOT, "› 1. Yes"), true),
            dialog(),
            "a person is asked, and no prompt waits"
        );
    }

    #[test]
    fn what_is_no_prompt_and_no_known_dialog_is_unknown_if_it_is_known_how_a_prompt_looks() {
        for text in ["", "Something new?\n› 1. Yes", "words"] {
            let screen = PaneScreen::read(text, true);
            assert_eq!(saved(true).shown(&screen, false), ScreenContent::Unknown, "{text}");
            assert_eq!(saved(true).shown(&screen, true), ScreenContent::Unknown, "{text}");
            assert_eq!(saved(false).shown(&screen, false), ScreenContent::Prompt(None), "{text}");
        }
    }

    #[test]
    fn a_notice_is_typed_and_sent_only_where_nothing_else_stands() {
        let with =
            |input: Option<&str>| FreePrompt { screen: "[pairflow 7]".to_owned(), input: input.map(str::to_owned) };
        let seen = |input| {
            let free = with(input);
            (free.takes(7), free.holds(7), free.took(7))
        };
        assert_eq!(seen(Some("")), (true, false, false));
        assert_eq!(seen(Some("[pairflow 7] Round 1")), (true, true, true));
        assert_eq!(seen(Some("[Pasted text #1]")), (false, false, true));
        for other in ["/clear", "/clear [pairflow 7] Round 1", "/mo", "x", "[pairflow 71]"] {
            assert_eq!(seen(Some(other)), (false, false, false), "{other}");
        }
        assert_eq!(seen(None), (true, true, true), "it is not known how it looks");
    }

    #[test]
    fn a_permission_is_over_when_no_dialog_was_seen_for_a_while_if_its_end_would_be_seen() {
        let now = Instant::now();
        let look = Limits::default().screen_look;
        let (soon, late) = (now + look - Duration::from_millis(1), now + look);
        let mut program = AgentProgram { status: ProgramStatus::Permission, ..AgentProgram::default() };
        assert!(
            [now, soon, late].iter().all(|at| program.still_blocked(*at, Limits::default())),
            "nobody knows its dialogs, or its prompt"
        );
        program.saved = saved(true);
        assert_eq!([now, soon, late].map(|at| program.still_blocked(at, Limits::default())), [true, true, false]);
        program.status = ProgramStatus::Dialog;
        assert!(!program.still_blocked(now, Limits::default()), "it was seen on the screen, and is not there any more");
    }

    #[test]
    fn what_is_unknown_for_a_minute_is_unknown_for_long_once_a_minute() {
        let now = Instant::now();
        let mut program = AgentProgram::default();
        let strange = [0, 2, 59, 60, 62, 121, 122]
            .map(|secs| program.is_unknown_for_long(now + Duration::from_secs(secs), Limits::default()));
        assert_eq!(strange, [false, false, false, true, false, false, true]);
    }
}
