//! Chance with rates and means, on top of the repeatable numbers.

use crate::disk::Rng;

/// Repeatable chance.
#[derive(Debug, Clone)]
pub(super) struct Dice(Rng);

impl Dice {
    /// Begins a sequence.
    pub(super) fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// Returns a number from 0 up to, but not including, 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Says yes with this rate.
    pub(super) fn chance(&mut self, rate: f64) -> bool {
        self.unit() < rate
    }

    /// Returns a number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit)
    }

    /// Draws a count with this mean.
    pub(super) fn poisson(&mut self, mean: f64) -> usize {
        let floor = (-mean).exp();
        let (mut count, mut product) = (0, self.unit());
        while product > floor {
            count += 1;
            product *= self.unit();
        }
        count
    }

    /// Picks one of several.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        if items.is_empty() { None } else { Some(items[self.below(items.len())]) }
    }
}
