//! Taking times in turns: whatever else the machine does falls on all of them alike.

use std::time::{Duration, Instant};

/// The times of one thing, sorted.
#[derive(Debug, Clone)]
pub(super) struct Times(Vec<Duration>);

/// Something that is timed: it does what is not to be counted, and returns what is.
pub(super) type Timed<'a> = &'a mut dyn FnMut() -> anyhow::Result<Duration>;

impl Times {
    /// The time that half of the attempts stayed below.
    pub(super) fn p50(&self) -> Duration {
        self.0[self.0.len() / 2]
    }

    /// The shortest time.
    pub(super) fn min(&self) -> Duration {
        self.0[0]
    }
}

/// Runs all things `rounds` times in turns, each round in the other direction, and returns the times of each.
pub(super) fn in_turns<const N: usize>(rounds: usize, things: [Timed<'_>; N]) -> anyhow::Result<[Times; N]> {
    let mut things = things;
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::with_capacity(rounds));
    // The first attempts fill caches; they are nobody's usual time.
    for thing in &mut things {
        thing()?;
    }
    for round in 0..rounds.max(1) {
        for n in 0..N {
            let at = if round % 2 == 0 { n } else { N - 1 - n };
            times[at].push(things[at]()?);
        }
    }
    Ok(times.map(|mut times| {
        times.sort_unstable();
        Times(times)
    }))
}

/// Returns how long `work` takes.
pub(super) fn timed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let result = work()?;
    let took = began.elapsed();
    drop(result);
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_runs_in_turns_and_the_first_attempt_does_not_count() {
        let order = std::cell::RefCell::new(String::new());
        let mut first = || {
            order.borrow_mut().push('a');
            Ok(Duration::from_millis(order.borrow().len() as u64))
        };
        let mut second = || {
            order.borrow_mut().push('b');
            Ok(Duration::from_millis(7))
        };
        let [a, b] = in_turns(3, [&mut first, &mut second]).unwrap();
        assert_eq!(*order.borrow(), "ababbaab");
        assert_eq!((a.min().as_millis(), a.p50().as_millis(), b.p50().as_millis()), (3, 6, 7));
    }
}
