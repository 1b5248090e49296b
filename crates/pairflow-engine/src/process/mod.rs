//! Running other programs so that none of them can hurt: each in a process group of its own, with a cleared
//! environment, limited in time, output and life.
//!
//! A job ends in exactly one way and leaves nobody behind: when its first process is gone, its time is up or it is
//! cancelled, the whole group is ended. Every group is recorded on disk before it may run, so that after a crash
//! the next supervisor recognises what is left over. What a job means (a check, an agent) is not known here.

mod attend;
mod cancel;
mod capture;
mod enrol;
mod environment;
mod gone;
mod group;
mod identity;
mod job;
mod kin;
mod registry;
mod rolling;
mod run;
mod stat;
mod tail;

pub use cancel::Cancel;
pub use capture::Capture;
pub use enrol::Enrolment;
pub(crate) use environment::environment;
pub use environment::{inherited, may_inherit};
pub(crate) use gone::Process;
pub use gone::when_gone;
pub use group::fresh_mark;
pub(crate) use identity::Identity;
pub use job::{CommandLine, Job};
pub use kin::{Line, Lineage};
pub use registry::Registration;
pub use registry::{Kind, MARK, Record, RegistryError, is_alive, reap, records};
pub use run::{Ran, Running, run, start};
pub(crate) use stat::boot;
pub use tail::tail;
