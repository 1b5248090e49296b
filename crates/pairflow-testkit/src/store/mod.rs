//! The store on simulated disks: logs to begin with, losses of power, and harm to the cache.

#![allow(clippy::unwrap_used, reason = "a proof that fails here has found something")]

mod counter;
mod damage;
mod samples;

pub use counter::{Added, Counted, CountedKind, Counter, Dated, DatedBody, Sum, TakenOver, dated};
pub use damage::{History, harm_caches, history, lose_power};
pub use samples::{
    NOW, Sample, agree, bubble, files, fold, goes_on, log_on, moment, prepared, question, some_events, transcript,
};
