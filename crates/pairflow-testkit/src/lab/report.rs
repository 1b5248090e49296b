//! Many seeds on all cores, what the lab promises of the strict policy, and the tables that it prints.

use std::fmt::Write as _;

use super::{Cause, Lab, Mean, Params, Ran, Spread, Summary, naive, original, ours, single};

/// The naive loop needs more reviews than this on a hard task.
const HARD: u32 = 10;

/// Every column of one seed.
#[derive(Debug, Clone, Copy)]
struct Five {
    single: Ran,
    naive: Ran,
    cut: Ran,
    original: Ran,
    ours: Ran,
}

/// One figure at another value, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Which figure.
    pub name: &'static str,
    /// What it was multiplied with.
    pub factor: f64,
    /// What came of it.
    pub lab: Lab,
}

/// Measures all columns over the seeds from 0.
pub fn measure(params: &Params, seeds: u64) -> Lab {
    let all = run(params, seeds);
    let column = |of: fn(&Five) -> Ran| Summary::of(&all.iter().map(of).collect::<Vec<_>>());
    let apart: Vec<_> = all.iter().map(|five| f64::from(five.ours.left) - f64::from(five.cut.left)).collect();
    let hard: Vec<_> = all.iter().filter(|five| five.naive.looks > HARD).map(|five| five.ours.looks).collect();
    Lab {
        seeds,
        single: column(|five| five.single),
        naive: column(|five| five.naive),
        cut: column(|five| five.cut),
        original: column(|five| five.original),
        ours: column(|five| five.ours),
        difference: Mean::of(&apart),
        hard: (!hard.is_empty()).then(|| Spread::of(hard)),
    }
}

/// Measures with each figure at half and at one and a half of its value.
pub fn sensitivity(params: &Params, seeds: u64) -> Vec<Tried> {
    let both = Params::NAMES.iter().flat_map(|name| [(*name, 0.5), (*name, 1.5)]);
    both.map(|(name, factor)| Tried { name, factor, lab: measure(&params.scaled(name, factor), seeds) }).collect()
}

fn run(params: &Params, seeds: u64) -> Vec<Five> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let share = seeds.div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        let starts = (0..seeds).step_by(usize::try_from(share).unwrap_or(usize::MAX));
        let work =
            |from: u64| move || (from..seeds.min(from + share)).map(|seed| five(params, seed)).collect::<Vec<_>>();
        let handles: Vec<_> = starts.map(|from| scope.spawn(work(from))).collect();
        let joined = handles.into_iter().flat_map(|one| one.join().expect("a run that panicked has said why"));
        joined.collect()
    })
}

fn five(params: &Params, seed: u64) -> Five {
    let ours = ours(params, seed);
    Five {
        single: single(params, seed),
        naive: naive(params, seed, u32::MAX),
        cut: naive(params, seed, ours.turns),
        original: original(params, seed),
        ours,
    }
}

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
