//! What `pairflow wait` waits for: whether it is there, can still come, or never will.

use serde::Serialize;

use crate::bubble::{BubbleState, Phase, Refusal, Turn};
use crate::ids::{AgentId, BubbleId, Party};
use crate::view::inbox::{ItemKind, inbox};

/// What a caller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// An agent: its own turn is open. A person: any turn is.
    Turn,
    /// No question of the caller's is open; for a person, none at all.
    Answer,
    /// The work waits for approval, or has been approved.
    Approval,
}

/// A caller that waits.
#[derive(Debug, Clone)]
pub struct Wait {
    by: Option<AgentId>,
    goal: Option<WaitFor>,
    /// Whether a question of the caller's was open when it began to wait.
    asked: bool,
}

/// The result of checking the bubble for a waiting caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitOutcome {
    /// It is there.
    Reached(Reached),
    /// It cannot happen any more: why, as a sentence.
    Never(String),
    /// Not yet: the state of the bubble, as a sentence.
    NotYet(String),
}

/// What a caller has waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reached {
    /// What it is.
    pub reached: ReachedKind,
    /// The same as a sentence.
    #[serde(skip)]
    pub sentence: String,
    /// The caller's next step, if there is one.
    pub next: Option<String>,
}

/// What can end a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReachedKind {
    /// A turn is open.
    Turn,
    /// The question was answered, or none open.
    Answer,
    /// The work waits for approval, or is approved.
    Approval,
    /// A person is asked.
    Question,
    /// The work is committed, and nothing follows.
    Done,
}

impl WaitFor {
    /// Returns the word for it on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Answer => "answer",
            Self::Approval => "approval",
        }
    }

    /// Returns the command line that waits for it.
    pub fn line(self, id: &BubbleId) -> String {
        format!("pairflow wait {id} --for {}", self.word())
    }
}

impl Wait {
    /// Begins to wait. `by` is the agent that waits; without one, a person waits.
    pub fn begin(state: &BubbleState, by: Option<AgentId>, goal: Option<WaitFor>) -> Self {
        let asked = !answered(state, by.as_ref());
        Self { by, goal, asked }
    }

    /// Says whether what is waited for is there.
    pub fn look(&self, state: &BubbleState) -> WaitOutcome {
        let reached = match (&self.by, self.goal) {
            (_, Some(WaitFor::Turn)) => self.turn(state),
            (_, Some(WaitFor::Answer)) => self.answer(state),
            (_, Some(WaitFor::Approval)) => self.approval(state),
            (Some(_), None) => {
                let answer = if self.asked { self.answer(state) } else { None };
                answer.or_else(|| self.turn(state)).or_else(|| self.approval(state))
            }
            (None, None) => asked_of_person(state).or_else(|| self.approval(state)),
        };
        match reached {
            Some(reached) => WaitOutcome::Reached(reached),
            None if state.phase.is_final() => WaitOutcome::Never(self.never(state)),
            None => WaitOutcome::NotYet(standing(state)),
        }
    }

    fn turn(&self, state: &BubbleState) -> Option<Reached> {
        let Phase::Running(turn) = &state.phase else { return None };
        let own = self.by.as_ref().is_none_or(|by| *by == turn.agent);
        if !own || state.paused || !turn.is_open() {
            return None;
        }
        let (id, round) = (&state.id, state.rounds.round);
        let (sentence, next) = match &self.by {
            Some(_) => {
                let sentence = format!("It is your turn in bubble {id}, as {} of round {round}.", turn.seat);
                (sentence, format!("pairflow brief {id}"))
            }
            None => (holding(state, turn), format!("pairflow status {id}")),
        };
        Some(Reached { reached: ReachedKind::Turn, sentence, next: Some(next) })
    }

    fn answer(&self, state: &BubbleState) -> Option<Reached> {
        // A bubble that is over leaves its questions behind.
        if state.phase.is_final() || !answered(state, self.by.as_ref()) {
            return None;
        }
        let id = &state.id;
        let sentence = match (&self.by, self.asked) {
            (_, true) => format!("The question was answered in bubble {id}."),
            (Some(by), false) => format!("No question of {by} is open in bubble {id}."),
            (None, false) => format!("No question is open in bubble {id}."),
        };
        let own = |turn: &Turn| self.by.as_ref().is_some_and(|by| *by == turn.agent);
        let next = match (&self.by, state.phase.turn()) {
            (Some(_), Some(turn)) if own(turn) && turn.is_open() => format!("pairflow brief {id}"),
            (Some(_), _) => WaitFor::Turn.line(id),
            (None, _) => format!("pairflow status {id}"),
        };
        Some(Reached { reached: ReachedKind::Answer, sentence, next: Some(next) })
    }

    fn approval(&self, state: &BubbleState) -> Option<Reached> {
        let id = &state.id;
        let (reached, sentence) = match &state.phase {
            Phase::ReadyForApproval(_) if state.gate.updating => return None,
            Phase::ReadyForApproval(_) => (ReachedKind::Approval, format!("Bubble {id} waits for approval.")),
            Phase::Approved(_) | Phase::Committed(_) => (ReachedKind::Approval, format!("Bubble {id} is approved.")),
            Phase::Done(at) => (ReachedKind::Done, format!("Bubble {id} is DONE, committed as {}.", at.commit.short())),
            _ => return None,
        };
        let next = match (&self.by, &state.phase) {
            (Some(_), Phase::Done(_)) => None,
            // A person decides next; if the work is sent back, an agent has a turn again.
            (Some(_), _) => Some(WaitFor::Turn.line(id)),
            (None, _) => {
                inbox(state).into_iter().next().and_then(|item| item.answer.into_iter().next()).or(Some(status(id)))
            }
        };
        Some(Reached { reached, sentence, next })
    }

    fn never(&self, state: &BubbleState) -> String {
        let what = match (self.goal, &self.by) {
            (Some(WaitFor::Answer), _) => "its questions are closed",
            (Some(WaitFor::Approval), _) | (None, None) => "it never waits for approval",
            (Some(WaitFor::Turn), _) | (None, Some(_)) => "there is no further turn",
        };
        format!("bubble {} is {}: {what}.", state.id, state.phase.name())
    }
}

/// Returns the command line with which an agent that pairflow does not notify waits until what `refusal` refused can be
/// said; nothing if waiting does not help.
pub fn line_that_waits(refusal: &Refusal, id: &BubbleId) -> Option<String> {
    match refusal {
        Refusal::NotYourTurn { .. }
        | Refusal::StillOpening { .. }
        | Refusal::Paused { .. }
        | Refusal::QuestionOpen { .. } => Some(WaitFor::Turn.line(id)),
        Refusal::TooManyQuestions => Some(WaitFor::Answer.line(id)),
        Refusal::LostRace(inner) => line_that_waits(inner, id),
        _ => None,
    }
}

/// Whether no question of the caller's is open.
fn answered(state: &BubbleState, by: Option<&AgentId>) -> bool {
    let own = |party: &Party| match by {
        Some(by) => *party == Party::Agent(by.clone()),
        None => true,
    };
    !state.gate.questions.iter().any(|open| own(&open.by))
}

fn asked_of_person(state: &BubbleState) -> Option<Reached> {
    let item = inbox(state).into_iter().find(|item| item.kind != ItemKind::Approval)?;
    let sentence = format!("Bubble {} has a question for you: {}", state.id, item.question);
    Some(Reached { reached: ReachedKind::Question, sentence, next: Some(item.reading()) })
}

/// Describes the state of a bubble while the caller has to wait.
fn standing(state: &BubbleState) -> String {
    let (id, phase) = (&state.id, state.phase.name());
    match &state.phase {
        Phase::Running(_) | Phase::WaitingHuman(_) if state.paused => format!("Bubble {id} is paused."),
        Phase::Running(turn) if turn.is_open() => holding(state, turn),
        Phase::Running(turn) => format!("The turn of {} in bubble {id} is opening.", turn.agent),
        Phase::WaitingHuman(_) => format!("Bubble {id} is {phase}: a person has to answer first."),
        _ => format!("Bubble {id} is {phase}."),
    }
}

fn holding(state: &BubbleState, turn: &Turn) -> String {
    format!("{} has the turn in bubble {}, as {} of round {}.", turn.agent, state.id, turn.seat, state.rounds.round)
}

fn status(id: &BubbleId) -> String {
    format!("pairflow status {id}")
}
