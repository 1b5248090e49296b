//! A home of its own for the real program: a temporary directory with everything that pairflow looks for, a repository
//! in it, and the binary under test. Nothing of the machine's own configuration reaches it, and nothing is left behind.

mod agent;
mod memory;
mod place;
mod processes;
mod program;
mod ran;

pub use agent::Agent;
pub use memory::temporary_dir;
pub use place::{Home, TEST_LIMITS};
pub use processes::{processes_in, processes_of};
pub use program::write_program;
pub use ran::Ran;
