//! What the models of both agents do: steps for each turn that a notice announces.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::{Kind, Place, Reply, Scripts, Seen};

/// A turn as a notice announces it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// The bubble.
    pub bubble: String,
    /// The round.
    pub round: u32,
    /// `implementer` or `reviewer`.
    pub seat: String,
    /// The number of the notice.
    pub notice: u64,
    /// The file with the brief.
    pub brief: String,
}

impl Turn {
    /// Reads a notice; nothing if the text is none.
    pub fn read(text: &str) -> Option<Self> {
        let (_, after) = text.rsplit_once("[pairflow ")?;
        let (notice, after) = after.split_once("] Round ")?;
        let (round, after) = after.split_once(": you are the ")?;
        let (seat, after) = after.split_once(" of bubble ")?;
        let (bubble, after) = after.split_once('.')?;
        let brief = after.split_once("which prints ")?.1.split_once(", and do")?.0;
        Some(Self {
            bubble: bubble.to_owned(),
            round: round.parse().ok()?,
            seat: seat.to_owned(),
            notice: notice.parse().ok()?,
            brief: brief.to_owned(),
        })
    }
}

/// How often the model of an agent began to act on each notice of each bubble.
pub type Begun = BTreeMap<(Kind, String, u64), usize>;

type Play = Arc<dyn Fn(&Turn, Kind) -> Vec<Reply> + Send + Sync>;

/// Both models: a function says which steps a turn has; after the last one the model stops talking.
#[derive(Clone)]
pub struct Minds {
    play: Play,
    /// The notices that each agent's model was asked to act on, with how often each began.
    begun: Arc<Mutex<Begun>>,
}

impl Minds {
    /// Has `play` say what happens in each turn.
    pub fn new(play: impl Fn(&Turn, Kind) -> Vec<Reply> + Send + Sync + 'static) -> Self {
        Self { play: Arc::new(play), begun: Arc::default() }
    }

    /// Returns the scripts of the mock model.
    pub fn scripts(&self) -> Scripts {
        let minds = self.clone();
        Scripts::new().by(move |seen| minds.answer(seen))
    }

    /// Returns how often the models began to act on each notice.
    pub fn begun(&self) -> Begun {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn answer(&self, seen: &Seen) -> Option<Reply> {
        let place = seen.last_where(|text| text.contains("[pairflow "))?;
        let Some(turn) = Turn::read(place.text) else { return Some(Reply::text("I wait.")) };
        if place.turns == 0 && seen.attempt == 0 {
            let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
            *begun.entry((seen.kind, turn.bubble.clone(), turn.notice)).or_default() += 1;
        }
        let steps = (self.play)(&turn, seen.kind);
        Some(step(&steps, &place))
    }
}

fn step(steps: &[Reply], place: &Place<'_>) -> Reply {
    steps.get(place.turns).cloned().unwrap_or_else(|| Reply::text("That is all."))
}
