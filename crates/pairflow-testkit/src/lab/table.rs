//! The tables that the lab prints, as Markdown.

use std::fmt::Write as _;

use super::{Cause, Gate, Lab, Spread, Summary, Tried};

/// The columns of one measurement.
pub fn render(lab: &Lab) -> String {
    let columns = [
        ("single agent", &lab.single),
        ("naive loop", &lab.naive),
        ("naive, cut at our turns", &lab.cut),
        ("the original's rules", &lab.original),
        ("pairflow, strict", &lab.ours),
    ];
    let mut text = String::from(
        "| | looks: median, p90, worst | P0/P1 left (mean ± 95 %) | runs with any left | agent turns: median, p90 | \
         human questions: median, p90 | ended by its rules | with a failing check |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (name, summary) in columns {
        row(&mut text, name, summary, lab.seeds);
    }
    if let Some(hard) = lab.hard {
        let _ = writeln!(
            text,
            "\nOn the tasks on which the naive loop needs more than 10 looks, ours needs {}.",
            three(hard)
        );
    }
    let _ = writeln!(
        text,
        "Reviews with minor findings only: naive {:.0} %, original {:.0} %, ours {:.0} %.",
        lab.naive.minor_looks * 100.0,
        lab.original.minor_looks * 100.0,
        lab.ours.minor_looks * 100.0
    );
    let [none, one, two, more] = lab.ours.asked.map(|share| share * 100.0);
    let _ = writeln!(
        text,
        "Questions of ours: none in {none:.1} % of all runs, one in {one:.1} %, two in {two:.1} %, more in {more:.1} %. The \
         person took the work as it was in {:.1} %; in {:.1} % one agent had found it clean by then.",
        lab.ours.taken[0] * 100.0,
        lab.ours.taken[1] * 100.0
    );
    let causes =
        Cause::ALL.iter().zip(lab.ours.causes).map(|((_, name), share)| format!("{name} {:.1} %", share * 100.0));
    let causes = causes.collect::<Vec<_>>().join(", ");
    let _ = writeln!(text, "Why reviews of ours were not clean, as shares of all: {causes}.");
    text
}

/// The promises, each with its value.
pub fn render_gates(gates: &[Gate]) -> String {
    let line = |gate: &Gate| {
        let mark = if gate.holds { "holds" } else { "FAILS" };
        format!("{mark}  {}: {}\n", gate.promise, gate.value)
    };
    gates.iter().map(line).collect()
}

/// What each figure is worth.
pub fn render_sensitivity(base: &Lab, tried: &[Tried]) -> String {
    let mut text = String::from(
        "| figure | x | looks: median, p90, worst | naive p90 | P0/P1 left | less naive's at equal turns | \
         questions: median, p90 |\n|---|---|---|---|---|---|---|\n",
    );
    let mut line = |name: &str, factor: f64, lab: &Lab| {
        let ours = &lab.ours;
        let _ = writeln!(
            text,
            "| {name} | {factor} | {} | {} | {:.3} | {:+.3} ± {:.3} | {}, {} |",
            three(ours.looks),
            lab.naive.looks.p90,
            ours.left.mean,
            lab.difference.mean,
            lab.difference.half,
            ours.questions.median,
            ours.questions.p90
        );
    };
    line("as measured", 1.0, base);
    tried.iter().for_each(|one| line(one.name, one.factor, &one.lab));
    text
}

fn row(text: &mut String, name: &str, of: &Summary, seeds: u64) {
    let _ = writeln!(
        text,
        "| {name} | {} | {:.3} ± {:.3} | {:.1} % | {}, {} | {}, {} | {:.1} % | {:.1} % |",
        three(of.looks),
        of.left.mean,
        of.left.half,
        of.any_left * 100.0,
        of.turns.median,
        of.turns.p90,
        of.questions.median,
        of.questions.p90,
        of.converged * 100.0,
        of.checks_fail as f64 * 100.0 / seeds.max(1) as f64
    );
}

fn three(spread: Spread) -> String {
    format!("{}, {}, {}", spread.median, spread.p90, spread.worst)
}
