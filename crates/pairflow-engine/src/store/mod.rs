//! The files of a machine on disk: its log, the cache of its state, and its artifacts. One store serves every [`Machine`].
//!
//! [`Machine`]: pairflow_core::log::Machine
//!
//! The log is the only truth. It is written by one holder of a kernel lock, one write and one sync for each command,
//! and everything that was acknowledged survives the death of the process and of the machine. The cache is replaced
//! after each append and trusted only while it provably fits. Damage is named with its place and never skipped.

pub mod artifacts;
mod error;
mod locked;
mod log;
mod ownership;
mod read;
mod real;
mod registry;
mod repair;
pub mod storage;

pub use artifacts::{ArtifactError, Artifacts};
pub use error::{Foreign, StoreError, seal_words};
pub use locked::{Locked, Repaired};
pub use log::{Appended, Log, LogFiles, Verified};
pub use ownership::ForeignLog;
pub use read::{CacheCondition, Loaded, StateSource};
pub use real::RealDisk;
pub(crate) use real::lock_holders;
pub(crate) use registry::random;
pub use registry::{KnownBubble, Registered, Registry};
pub use repair::Salvage;
pub use storage::{Storage, StorageError};
