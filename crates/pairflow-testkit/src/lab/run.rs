//! Many seeds, on all cores; the order of the results is that of the seeds.

use super::{Lab, Mean, Params, Ran, Spread, Summary, naive, original, ours, single};

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
