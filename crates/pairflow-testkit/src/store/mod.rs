//! The store on simulated disks: logs to begin with, losses of power, and harm to the cache.

#![allow(clippy::unwrap_used, reason = "a proof that fails here has found something")]

mod cache_harm;
mod counter;
mod dated;
mod power_loss;
mod samples;

pub use cache_harm::{History, harm_caches, history};
pub use counter::{Added, Counted, CountedKind, Counter, Sum, TakenOver};
pub use dated::{Dated, DatedBody, dated};
pub use power_loss::lose_power;
pub use samples::{
    NOW, Sample, agree, bubble, files, fold, goes_on, log_on, moment, prepared, question, some_events, transcript,
};
