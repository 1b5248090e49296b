//! Many lives, on all cores.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Broken, Tally, live};

/// Which lives to live.
#[derive(Debug, Clone, Copy)]
pub struct Seeds {
    /// The first seed.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// How many commands each life may have.
    pub steps: u32,
    /// How many threads.
    pub threads: usize,
}

thread_local! {
    static PRESENT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Returns the seed of the life that this thread lives, to report with a panic.
pub fn present_seed() -> Option<u64> {
    PRESENT.get()
}

/// Lives all lives, or stops at the first broken promise.
pub fn run(seeds: Seeds) -> Result<Tally, Broken> {
    let next = AtomicU64::new(0);
    let ended: Mutex<Result<Tally, Broken>> = Mutex::new(Ok(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..seeds.threads.max(1) {
            scope.spawn(|| {
                let own = work(&next, seeds);
                if own.is_err() {
                    next.store(seeds.count, Ordering::SeqCst);
                }
                let mut all = ended.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                match (&mut *all, own) {
                    (Ok(tally), Ok(own)) => tally.add(&own),
                    (Err(first), Err(own)) if own.seed >= first.seed => {}
                    (all, Err(own)) => *all = Err(own),
                    (Err(_), Ok(_)) => {}
                }
            });
        }
    });
    ended.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn work(next: &AtomicU64, seeds: Seeds) -> Result<Tally, Broken> {
    let mut tally = Tally::default();
    loop {
        let index = next.fetch_add(1, Ordering::SeqCst);
        if index >= seeds.count {
            return Ok(tally);
        }
        let seed = seeds.first + index;
        PRESENT.set(Some(seed));
        let lived = catch_unwind(AssertUnwindSafe(|| live(seed, seeds.steps)));
        match lived {
            Ok(Ok(own)) => tally.add(&own),
            Ok(Err(why)) => return Err(Broken { seed, why }),
            Err(_) => return Err(Broken { seed, why: "the engine panicked, see above".to_owned() }),
        }
    }
}
