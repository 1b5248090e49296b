//! The real agent CLIs for tests: installed once per machine in pinned versions, with homes that raise no dialog and an
//! environment that holds nothing of the person who runs the tests.

mod home;
mod hooks;
mod install;
mod panes;
mod slot;

pub use home::AgentHome;
pub use hooks::HookLog;
pub use install::{CLAUDE_VERSION, CODEX_VERSION, Clis, agent_clis};
pub use panes::Panes;
pub use slot::Slot;
