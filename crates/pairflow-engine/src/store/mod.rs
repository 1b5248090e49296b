//! What a machine has on disk: its log, the cache of its state, and its artifacts. Written once, for every [`Machine`].
//!
//! [`Machine`]: pairflow_core::log::Machine
//!
//! The log is the only truth. It is written by one holder of a kernel lock, one write and one sync for each command,
//! and everything that was acknowledged survives the death of the process and of the machine. The cache is replaced
//! after each append and trusted only while it provably fits. Damage is named with its place and never skipped.

mod adopt;
pub mod artifacts;
mod cache;
mod durable;
mod error;
mod files;
mod locked;
mod log;
mod mend;
mod nearby;
mod ownership;
mod place;
mod read;
mod real;
mod registry;
mod standing;
pub mod storage;

pub use adopt::Shown;
pub use artifacts::{ArtifactError, Artifacts};
pub use cache::CacheStand;
pub use error::StoreError;
pub use files::LogFiles;
pub use locked::{Locked, Repaired};
pub use log::{Appended, Log, Verified};
pub use mend::Salvage;
pub use read::{Loaded, Source};
pub use real::RealDisk;
pub(crate) use real::lock_holders;
pub(crate) use registry::random;
pub use registry::{Known, Registered, Registry};
pub use standing::{Foreign, Standing, seal_words};
pub use storage::{Storage, StorageError};
