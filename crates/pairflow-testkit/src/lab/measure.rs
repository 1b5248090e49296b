//! The result of one run, and the figures of many.

use pairflow_core::facts::Severity;

use super::code::{Code, Size};

/// What one run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ran {
    /// How large the task was.
    pub size: Size,
    /// How many reviews there were.
    pub looks: u32,
    /// How many turns agents had.
    pub turns: u32,
    /// How many questions a person was asked before the work was up for approval.
    pub questions: u32,
    /// How many of them were about what the agents do not agree on.
    pub quarrels: u32,
    /// How many of the questions were about something that fails.
    pub failing_questions: u32,
    /// How many turns of a judge there were.
    pub judged: u32,
    /// How many true P0 and P1 were left.
    pub left: u32,
    /// How many true P2 were left.
    pub left_p2: u32,
    /// How many reviews brought minor findings and nothing else.
    pub minor_looks: u32,
    /// How many reviews each reason kept from being clean; only the real core says why.
    pub causes: [u32; Cause::ALL.len()],
    /// Whether no review claimed a P0, P1 or P2; only the real core says so.
    pub quiet: bool,
    /// Whether it stopped by its own rules.
    pub converged: bool,
    /// Whether a person took the work as it was, without two clean reviews.
    pub taken: bool,
    /// Whether one agent had found it clean then.
    pub one_sided: bool,
    /// Whether a required check fails on what was accepted.
    pub checks_fail: bool,
    /// Whether what was accepted is not what was reviewed last.
    pub unreviewed: bool,
}

impl Ran {
    /// Writes down what is left in the work at the end.
    pub(super) fn ended_with(&mut self, code: &Code) {
        self.size = code.size;
        self.left = code.count(Severity::blocks);
        self.left_p2 = code.count(|severity| severity == Severity::P2);
        self.checks_fail = !code.checks_pass();
    }

    /// How many steps follow one another: turns of agents, and answers of a person.
    pub fn steps(&self) -> u32 {
        self.turns + self.questions
    }
}

/// Why a review was not clean: the first of these that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// It found a true P0 or P1.
    NewTrue,
    /// It did not take an answer, and the defect is still there; or its reproducer still fails.
    NotFixed,
    /// It claimed a P0 or P1 that is none.
    NewFalse,
    /// It brought up a settled P0 or P1 again, which is none any more.
    Repeated,
    /// It did not take an answer that was right.
    Misjudged,
    /// A minor finding has to be answered.
    Unanswered,
    /// A required check fails.
    Check,
}

impl Cause {
    /// All of them, with the words for each.
    pub const ALL: [(Self, &str); 7] = [
        (Self::NewTrue, "a new true P0/P1"),
        (Self::NotFixed, "said to be fixed, and is not"),
        (Self::NewFalse, "a new P0/P1 that is none"),
        (Self::Repeated, "a settled P0/P1 again"),
        (Self::Misjudged, "a right answer not taken"),
        (Self::Unanswered, "a tagged P2 only"),
        (Self::Check, "a failing check only"),
    ];
}

/// What many runs came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Reviews.
    pub looks: Spread,
    /// Turns.
    pub turns: Spread,
    /// Steps that follow one another: turns, and answers of a person.
    pub steps: Spread,
    /// Questions to a person.
    pub questions: Spread,
    /// The shares of runs with no question, one, two, and more.
    pub asked: [f64; 4],
    /// The shares of runs in which a person was asked about something that fails, and about what the agents do not agree on.
    pub asked_about: [f64; 2],
    /// The mean count of turns of a judge.
    pub judged: f64,
    /// The share of runs in which a person took the work as it was, and of those in which one agent had found it clean.
    pub taken: [f64; 2],
    /// True P0 and P1 left.
    pub left: Mean,
    /// True P2 left.
    pub left_p2: Mean,
    /// The share of runs that left any.
    pub any_left: f64,
    /// The share of reviews with minor findings and nothing else.
    pub minor_looks: f64,
    /// The share of reviews that each reason kept from being clean.
    pub causes: [f64; Cause::ALL.len()],
    /// The share of runs that stopped by their own rules.
    pub converged: f64,
    /// How many runs accepted work on which a check fails.
    pub checks_fail: usize,
    /// How many runs accepted work without a review.
    pub unreviewed: usize,
}

/// The middle, the end of the first nine tenths, and the worst of several counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spread {
    /// Half of all are at most this.
    pub median: u32,
    /// Nine tenths are at most this.
    pub p90: u32,
    /// All are at most this.
    pub worst: u32,
}

/// A mean with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Half of the width of the interval.
    pub half: f64,
}

/// All columns over the same seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Lab {
    /// How many seeds.
    pub seeds: u64,
    /// One agent without a review.
    pub single: Summary,
    /// The loop until nothing is found.
    pub naive: Summary,
    /// The original's rules.
    pub original: Summary,
    /// The real core.
    pub ours: Summary,
    /// The real core with a thorough review by two models.
    pub thorough: Summary,
    /// The real core with a thorough review by three models.
    pub three: Summary,
    /// P0/P1 left by ours less those left by the original's rules, seed by seed.
    pub difference: Mean,
    /// How many small tasks on which no review claimed a P0, P1 or P2 took more or fewer than two reviews.
    pub odd_quiet: usize,
}

impl Spread {
    /// Sums up counts.
    pub fn of(counts: impl IntoIterator<Item = u32>) -> Self {
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable();
        // The smallest value that at least this share of all does not exceed.
        let rank = |tenths: usize| counts.get((counts.len() * tenths).div_ceil(10).saturating_sub(1)).copied();
        Self {
            median: rank(5).unwrap_or_default(),
            p90: rank(9).unwrap_or_default(),
            worst: counts.last().copied().unwrap_or_default(),
        }
    }
}

impl Mean {
    /// Sums up values, with the normal approximation for the interval.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = squares / (count - 1.0).max(1.0);
        Self { mean, half: 1.96 * (variance / count).sqrt() }
    }

    /// The upper end of the interval.
    pub fn upper(&self) -> f64 {
        self.mean + self.half
    }

    /// The lower end of the interval.
    pub fn lower(&self) -> f64 {
        self.mean - self.half
    }
}

impl Summary {
    /// The share of runs in which a person was asked anything.
    pub fn asking(&self) -> f64 {
        1.0 - self.asked[0]
    }

    /// Sums up runs.
    pub fn of(runs: &[Ran]) -> Self {
        let share = |which: fn(&Ran) -> bool| count(runs, which) as f64 / runs.len().max(1) as f64;
        let mean = |of: fn(&Ran) -> u32| Mean::of(&runs.iter().map(|run| f64::from(of(run))).collect::<Vec<_>>());
        let total = |of: fn(&Ran) -> u32| f64::from(runs.iter().map(of).sum::<u32>());
        Self {
            looks: Spread::of(runs.iter().map(|run| run.looks)),
            turns: Spread::of(runs.iter().map(|run| run.turns)),
            steps: Spread::of(runs.iter().map(Ran::steps)),
            questions: Spread::of(runs.iter().map(|run| run.questions)),
            asked: std::array::from_fn(|many| {
                let so_many = runs.iter().filter(|run| (run.questions as usize).min(3) == many).count();
                so_many as f64 / runs.len().max(1) as f64
            }),
            asked_about: [share(|run| run.failing_questions > 0), share(|run| run.quarrels > 0)],
            judged: total(|run| run.judged) / runs.len().max(1) as f64,
            taken: [share(|run| run.taken), share(|run| run.taken && run.one_sided)],
            left: mean(|run| run.left),
            left_p2: mean(|run| run.left_p2),
            any_left: share(|run| run.left > 0),
            minor_looks: total(|run| run.minor_looks) / total(|run| run.looks).max(1.0),
            causes: std::array::from_fn(|at| {
                let sum: u32 = runs.iter().map(|run| run.causes[at]).sum();
                f64::from(sum) / total(|run| run.looks).max(1.0)
            }),
            converged: share(|run| run.converged),
            checks_fail: count(runs, |run| run.checks_fail),
            unreviewed: count(runs, |run| run.unreviewed),
        }
    }
}

fn count(runs: &[Ran], which: fn(&Ran) -> bool) -> usize {
    runs.iter().filter(|run| which(run)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_middle_the_ninth_tenth_and_the_worst() {
        assert_eq!(Spread::of(1..=10), Spread { median: 5, p90: 9, worst: 10 });
        assert_eq!(Spread::of([7]), Spread { median: 7, p90: 7, worst: 7 });
        assert_eq!(Spread::of([]), Spread::default());
    }

    #[test]
    fn a_mean_without_variance_has_no_interval() {
        assert_eq!(Mean::of(&[2.0, 2.0, 2.0]), Mean { mean: 2.0, half: 0.0 });
        assert!(Mean::of(&[0.0, 1.0, 0.0, 1.0]).half > 0.5);
    }
}
