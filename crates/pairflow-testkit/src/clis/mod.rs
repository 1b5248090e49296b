//! The real agent CLIs for tests: installed once per machine in pinned versions, with homes that raise no dialog and an
//! environment that holds nothing of the person who runs the tests.

mod home;
mod install;
mod panes;

pub use home::{AgentHome, HookLog};
pub use install::{CLAUDE_VERSION, CODEX_VERSION, Clis, Slot, agent_clis};
pub use panes::Panes;
