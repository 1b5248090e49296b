//! What the lab promises of the strict policy. Each promise is printed with its value, whether it holds or not.

use super::Lab;

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
    let (ours, apart) = (&lab.ours, lab.difference);
    let gate = |promise, value: String, holds| Gate { promise, value, holds };
    vec![
        gate(
            "true P0/P1 left <= the naive loop's at equal turns (95 % interval of the difference)",
            format!("{:+.3} ± {:.3} (at most {:+.3})", apart.mean, apart.half, apart.upper()),
            apart.upper() <= 0.0,
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
