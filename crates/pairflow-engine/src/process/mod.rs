//! Running other programs so that none of them can hurt: each in a process group of its own, with a cleared
//! environment, limited in time, output and life.
//!
//! A job ends in exactly one way and leaves nobody behind: when its first process is gone, its time is up or it is
//! cancelled, the whole group is ended. Every group is recorded on disk before it may run, so that after a crash
//! the next supervisor recognises what is left over. What a job means (a check, an agent) is not known here.

mod group;
mod identity;
mod registry;
mod run;

pub(crate) use group::environment;
pub use group::{Cancel, Job, JobCommand, fresh_mark, inherited, may_inherit};
pub use identity::when_gone;
pub(crate) use identity::{Process, ProcessIdentity, boot};
pub use registry::{
    JobKind, Line, MARK, ProcessAncestry, ProcessRecord, Registration, RegistryError, SelfRegistration, is_alive, reap,
    records,
};
pub use run::{Capture, JobResult, RunningJob, run, start, tail};
