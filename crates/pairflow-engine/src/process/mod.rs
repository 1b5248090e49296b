//! Runs other programs within limits: each in a process group of its own, with a filtered environment, bounded in time
//! and output.
//!
//! A job leaves no process behind: when its first process has ended, its time is up or it is cancelled, the whole group
//! is ended. Every group is recorded on disk before it runs, so that after a crash the next supervisor finds what is
//! left. What a job means (a check, an agent) is not known here.

mod group;
mod identity;
mod registry;
mod run;

pub(crate) use group::environment;
pub use group::{Cancel, Job, JobCommand, fresh_mark, inherited, may_inherit};
pub use identity::when_gone;
pub(crate) use identity::{Process, ProcessIdentity, boot};
pub use registry::{
    JobKind, MARK, ProcessAncestry, ProcessRecord, Registration, RegistryError, SelfRegistration, is_alive, reap,
    records,
};
pub use run::{Capture, JobResult, RunningJob, run, start, tail};
