//! Many seeds on all cores, what the lab promises of the strict policy, and the tables that it prints.

use std::fmt::Write as _;

use super::code::Dice;
use super::{Cause, Lab, Mean, Params, Ran, Setup, Size, Spread, Summary, naive, original, ours, single};

/// Every column of one seed.
#[derive(Debug, Clone, Copy)]
struct Columns {
    single: Ran,
    naive: Ran,
    original: Ran,
    ours: Ran,
    thorough: Ran,
    three: Ran,
}

/// One figure at another value, and the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Which figure.
    pub name: &'static str,
    /// What it was multiplied with.
    pub factor: f64,
    /// What was measured.
    pub lab: Lab,
}

/// Measures all columns over the seeds from 0.
pub fn measure(params: &Params, seeds: u64) -> Lab {
    let all = spread_over_cores(seeds, |seed| Columns {
        single: single(params, seed),
        naive: naive(params, seed),
        original: original(params, seed),
        ours: ours(params, seed, Setup::Standard),
        thorough: ours(params, seed, Setup::ThoroughTwo),
        three: ours(params, seed, Setup::ThoroughThree),
    });
    let column = |of: fn(&Columns) -> Ran| Summary::of(&all.iter().map(of).collect::<Vec<_>>());
    let odd = |run: &Ran| run.size == Size::Small && run.quiet && run.looks != 2;
    Lab {
        seeds,
        single: column(|columns| columns.single),
        naive: column(|columns| columns.naive),
        original: column(|columns| columns.original),
        ours: column(|columns| columns.ours),
        thorough: column(|columns| columns.thorough),
        three: column(|columns| columns.three),
        difference: difference(&all.iter().map(|columns| (columns.ours, columns.original)).collect::<Vec<_>>()),
        odd_quiet: all.iter().filter(|columns| odd(&columns.ours)).count(),
    }
}

/// Measures with each figure at half and at one and a half of its value.
pub fn sensitivity(params: &Params, seeds: u64) -> Vec<Tried> {
    let both = Params::NAMES.iter().flat_map(|name| [(*name, 0.5), (*name, 1.5)]);
    both.map(|(name, factor)| Tried { name, factor, lab: measure(&params.scaled(name, factor), seeds) }).collect()
}

/// One random population: what ours and the original's rules leave in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Population {
    /// Its number.
    pub number: u64,
    /// P0/P1 left by ours.
    pub ours: Mean,
    /// P0/P1 left by the original's rules.
    pub original: Mean,
    /// The difference, seed by seed.
    pub difference: Mean,
    /// How many of ours were accepted with a failing check or unreviewed.
    pub unsound: usize,
}

/// Which random populations are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drawn {
    /// How many.
    pub count: u64,
    /// The spread of the lognormal that each figure is multiplied with.
    pub sigma: f64,
    /// Where the draw begins.
    pub seed: u64,
}

/// Draws one random population around `params`.
pub fn population(params: &Params, drawn: Drawn, number: u64) -> Params {
    let mut dice = Dice::new(drawn.seed.wrapping_mul(1_000_003).wrapping_add(number));
    params.population(drawn.sigma, || dice.normal())
}

/// Measures random populations around `params`.
pub fn populations(params: &Params, drawn: Drawn, seeds: u64) -> Vec<Population> {
    let one = |number: u64| {
        let params = population(params, drawn, number);
        let pairs = spread_over_cores(seeds, |seed| (ours(&params, seed, Setup::Standard), original(&params, seed)));
        let left =
            |of: fn(&(Ran, Ran)) -> u32| Mean::of(&pairs.iter().map(|pair| f64::from(of(pair))).collect::<Vec<_>>());
        Population {
            number,
            ours: left(|pair| pair.0.left),
            original: left(|pair| pair.1.left),
            difference: difference(&pairs),
            unsound: pairs.iter().filter(|(ours, _)| ours.checks_fail || ours.unreviewed).count(),
        }
    };
    (1..=drawn.count).map(one).collect()
}

/// P0/P1 left by the first of each pair less those left by the second.
fn difference(pairs: &[(Ran, Ran)]) -> Mean {
    Mean::of(&pairs.iter().map(|(ours, other)| f64::from(ours.left) - f64::from(other.left)).collect::<Vec<_>>())
}

fn spread_over_cores<T: Send>(seeds: u64, one: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let share = seeds.div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        let one = &one;
        let starts = (0..seeds).step_by(usize::try_from(share).unwrap_or(usize::MAX));
        let work = |from: u64| move || (from..seeds.min(from + share)).map(one).collect::<Vec<_>>();
        let handles: Vec<_> = starts.map(|from| scope.spawn(work(from))).collect();
        let joined = handles.into_iter().flat_map(|one| one.join().expect("a run that panicked has said why"));
        joined.collect()
    })
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

/// Everything that the promises are about.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The default population.
    pub default: Lab,
    /// The hard one.
    pub hard: Lab,
    /// The default population with a person who accepts at the first question.
    pub hasty: Lab,
    /// Random ones.
    pub populations: Vec<Population>,
}

/// Judges what was measured.
pub fn gates(measured: &Measured) -> Vec<Gate> {
    let Measured { default, hard, hasty, populations } = measured;
    let gate = |promise, value: String, holds| Gate { promise, value, holds };
    let difference = |lab: &Lab| format!("{:+.3} ± {:.3}", lab.difference.mean, lab.difference.half);
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let ratio = default.ours.left.mean / default.original.left.mean.max(f64::MIN_POSITIVE);
    let unsound = |lab: &Lab| {
        [&lab.ours, &lab.thorough, &lab.three].iter().map(|one| one.checks_fail + one.unreviewed).sum::<usize>()
    };
    let all_unsound = unsound(default) + unsound(hard) + populations.iter().map(|one| one.unsound).sum::<usize>();
    let (needed, worst) = (populations.len() * 32 / 40, populations.len() * 3 / 40);
    let lower = populations.iter().filter(|one| one.difference.mean < 0.0).count();
    let worse = populations.iter().filter(|one| one.difference.lower() > 0.0).count();
    let least = |lab: &Lab| lab.ours.converged.min(lab.thorough.converged).min(lab.three.converged);
    let raised = hasty.ours.left.mean - default.ours.left.mean;
    let (ours, theirs) = (default.ours.turns, default.original.turns);
    vec![
        gate(
            "Q1 P0/P1 left, ours less the original's: upper 95 % bound <= 0, default and hard",
            format!("{} and {}", difference(default), difference(hard)),
            default.difference.upper() <= 0.0 && hard.difference.upper() <= 0.0,
        ),
        gate("Q2 P0/P1 left <= 0.92 x the original's", format!("{ratio:.3} x"), ratio <= 0.92),
        gate(
            "Q3 no convergence with a failing check or an unreviewed tree, in every population",
            format!("{all_unsound}"),
            all_unsound == 0,
        ),
        gate(
            "Q4 random populations: lower in 32 of 40, significantly worse in at most 3 of 40",
            format!("{lower} and {worse} of {}", populations.len()),
            lower >= needed && worse <= worst,
        ),
        gate(
            "H1 runs that ask a person <= 6 %, hard <= 25 %",
            format!("{} and {}", percent(default.ours.asking()), percent(hard.ours.asking())),
            default.ours.asking() <= 0.06 && hard.ours.asking() <= 0.25,
        ),
        gate(
            "H2 accepted by a person <= 0.5 %, hard <= 5 %",
            format!("{} and {}", percent(default.ours.taken[0]), percent(hard.ours.taken[0])),
            default.ours.taken[0] <= 0.005 && hard.ours.taken[0] <= 0.05,
        ),
        gate("H3 a person who always accepts at once leaves <= 0.01 more", format!("{raised:+.4}"), raised <= 0.01),
        gate(
            "S1 agent turns: median <= the original's, p90 <= the original's + 1",
            format!("{}, {} against {}, {}", ours.median, ours.p90, theirs.median, theirs.p90),
            ours.median <= theirs.median && ours.p90 <= theirs.p90 + 1,
        ),
        thorough_gate(default),
        gate(
            "small tasks on which no review claims P0-P2 take exactly 2 reviews",
            format!("{} do not", default.odd_quiet),
            default.odd_quiet == 0,
        ),
        gate(
            "every run converges",
            format!("{} and {}", percent(least(default)), percent(least(hard))),
            least(default).min(least(hard)) > 1.0 - f64::EPSILON,
        ),
    ]
}

/// Judges the thorough reviews.
fn thorough_gate(lab: &Lab) -> Gate {
    let (two, three, theirs) = (&lab.thorough, &lab.three, &lab.original);
    let [of_two, of_three] = [two, three].map(|one| one.left.mean / theirs.left.mean.max(f64::MIN_POSITIVE));
    let (slow_two, slow_three, limit) = (two.turns.p90, three.turns.p90, theirs.turns.p90 + 3);
    Gate {
        promise: "T1 thorough: P0/P1 left <= 0.75 x the original's with two models, <= 0.65 x with three; p90 turns <= + 3",
        value: format!("{of_two:.3} x and {of_three:.3} x; p90 {slow_two}, {slow_three} against {}", theirs.turns.p90),
        holds: of_two <= 0.75 && of_three <= 0.65 && slow_two.max(slow_three) <= limit,
    }
}

/// The columns of one measurement.
pub fn render(lab: &Lab) -> String {
    let columns = [
        ("single agent", &lab.single),
        ("naive loop", &lab.naive),
        ("the original's rules", &lab.original),
        ("pairflow, strict", &lab.ours),
        ("thorough, two models", &lab.thorough),
        ("thorough, three models", &lab.three),
    ];
    let mut text = String::from(
        "| | P0/P1 left (mean ± 95 %) | runs with any left | P2 left | looks: median, p90, worst | agent turns: median, \
         p90 | steps: median, p90 | asks a person | accepted by a person | ended by its rules | failing check |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, summary) in columns {
        row(&mut text, name, summary, lab.seeds);
    }
    let _ = writeln!(text, "\nOurs less the original's: {:+.3} ± {:.3}.", lab.difference.mean, lab.difference.half);
    let _ = writeln!(
        text,
        "Reviews with minor findings only: naive {:.0} %, original {:.0} %, ours {:.0} %.",
        lab.naive.minor_looks * 100.0,
        lab.original.minor_looks * 100.0,
        lab.ours.minor_looks * 100.0
    );
    let asked = lab.ours.asked_about.map(|share| format!("{:.1} %", share * 100.0)).join(", ");
    let _ = writeln!(
        text,
        "Runs of ours that ask about something that fails, about what the agents do not agree on: {asked}. Turns of a judge \
         per task: {:.2}.",
        lab.ours.judged
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

/// Which rules left less in each population.
pub fn render_populations(populations: &[Population]) -> String {
    let mut text = String::from("| population | ours | the original's | difference | |\n|---|---|---|---|---|\n");
    for one in populations {
        let who = match one.difference {
            difference if difference.upper() < 0.0 => "ours left less",
            difference if difference.lower() > 0.0 => "the original's left less",
            _ => "not significant",
        };
        let _ = writeln!(
            text,
            "| {} | {:.3} | {:.3} | {:+.3} ± {:.3} | {who} |",
            one.number, one.ours.mean, one.original.mean, one.difference.mean, one.difference.half
        );
    }
    text
}

/// What each figure is worth.
pub fn render_sensitivity(base: &Lab, tried: &[Tried]) -> String {
    let mut text = String::from(
        "| figure | x | P0/P1 left | the original's | difference | thorough, two | thorough, three | turns: median, p90 | \
         the original's | asks a person |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut line = |name: &str, factor: f64, lab: &Lab| {
        let (ours, original) = (&lab.ours, &lab.original);
        let _ = writeln!(
            text,
            "| {name} | {factor} | {:.3} | {:.3} | {:+.3} ± {:.3} | {:.3} | {:.3} | {}, {} | {}, {} | {:.1} % |",
            ours.left.mean,
            original.left.mean,
            lab.difference.mean,
            lab.difference.half,
            lab.thorough.left.mean,
            lab.three.left.mean,
            ours.turns.median,
            ours.turns.p90,
            original.turns.median,
            original.turns.p90,
            ours.asking() * 100.0
        );
    };
    line("as measured", 1.0, base);
    tried.iter().for_each(|one| line(one.name, one.factor, &one.lab));
    text
}

fn row(text: &mut String, name: &str, of: &Summary, seeds: u64) {
    let two = |spread: Spread| format!("{}, {}", spread.median, spread.p90);
    let _ = writeln!(
        text,
        "| {name} | {:.3} ± {:.3} | {:.1} % | {:.2} | {}, {} | {} | {} | {:.1} % | {:.1} % | {:.1} % | {:.1} % |",
        of.left.mean,
        of.left.half,
        of.any_left * 100.0,
        of.left_p2.mean,
        two(of.looks),
        of.looks.worst,
        two(of.turns),
        two(of.steps),
        of.asking() * 100.0,
        of.taken[0] * 100.0,
        of.converged * 100.0,
        of.checks_fail as f64 * 100.0 / seeds.max(1) as f64
    );
}
