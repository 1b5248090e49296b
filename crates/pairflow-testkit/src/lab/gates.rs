//! What the lab promises of the strict policy. Each promise is printed with its value, whether it holds or not.

use super::Lab;

/// The most reviews that nine tenths of all runs may need.
const ROUNDS: u32 = 4;
/// What the naive loop has to need for that to be worth anything.
const ENDLESS: u32 = 10;

/// One promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// What is promised.
    pub promise: &'static str,
    /// What was measured.
    pub value: String,
    /// Whether it holds.
    pub holds: bool,
}

/// Judges what was measured.
pub fn gates(lab: &Lab) -> Vec<Gate> {
    let (ours, naive, apart) = (&lab.ours, &lab.naive, lab.difference);
    let gate = |promise, value: String, holds| Gate { promise, value, holds };
    vec![
        gate(
            "true P0/P1 left <= the naive loop's at equal turns (95 % interval of the difference)",
            format!("{:+.3} ± {:.3} (at most {:+.3})", apart.mean, apart.half, apart.upper()),
            apart.upper() <= 0.0,
        ),
        gate(
            "p90 rounds <= 4 where the naive loop's p90 is more than 10",
            format!("{} against {}", ours.rounds.p90, naive.rounds.p90),
            ours.rounds.p90 <= ROUNDS && naive.rounds.p90 > ENDLESS,
        ),
        gate(
            "p90 rounds <= 4 also on those tasks alone on which the naive loop needs more than 10",
            lab.hard.map_or_else(|| "there are none".to_owned(), |hard| hard.p90.to_string()),
            lab.hard.is_some_and(|hard| hard.p90 <= ROUNDS),
        ),
        gate(
            "human questions: median <= 1, p90 <= 2",
            format!("{} and {}", ours.questions.median, ours.questions.p90),
            ours.questions.median <= 1 && ours.questions.p90 <= 2,
        ),
        gate(
            "never a convergence with a failing check or an unreviewed snapshot",
            format!("{} and {}, in {} runs", ours.checks_fail, ours.unreviewed, lab.seeds),
            ours.checks_fail == 0 && ours.unreviewed == 0,
        ),
        gate(
            "every run converges",
            format!("{:.2} %", ours.converged * 100.0),
            (ours.converged - 1.0).abs() < f64::EPSILON,
        ),
    ]
}
