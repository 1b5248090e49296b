//! Scripts: a bubble's life in a dozen lines, played through the pure core in microseconds.
//!
//! A script has one act a line; the world around the bubble (clock, worktree, checks) is virtual. After each act
//! everything that is owed is paid, as a supervisor would, unless the line ends in `(hold)`. [`check`] compares what
//! came of each line with the expected text; [`play`] returns the whole play for a closer look.
//!
//! ```text
//! given policy single
//! given max_rounds 3              codex: pass empty (hands over nothing; otherwise work.rs is edited)
//! given agents codex, claude [, gemini]   checks test, lint   no checks   watchdog 5
//! start                           codex: pass 'first cut'           claude: pass P1 'no rollback' P2 'naming'
//! claude: pass P1 'x' at a.rs:3 class security by './repro' late undoes F1     claude: pass confirms F1 reopens F2
//! human: waive F1 'why'           human: waive lint 'why'           human: waive lint withdraw 'why'
//! claude: pass P2 'x' discuss     claude: pass P2 'x' insists (says that the work has to change)
//! codex: pass step dry-run blocked 'no limit' (of a document)       claude: pass clean stepped
//! codex: pass fixes F1 disputes F2 'why' explained         F1 reproducer fails|passes|cannot run
//! claude: pass clean              claude: converged 'done'          codex: asks 'which db?'
//! human: reply 'sqlite'           human: reply accept               human: approve | rework 'x' | commit | merge
//! human: pause | resume | stop    human: update                     human edits a.rs    claude edits a.rs
//! test fails | passes | cannot run                                  commit fails 'why'  commit works
//! wait 6m                         clock jumps -10y                  reboot              crash
//! settle (pay everything that is owed)                              step (pay one debt)
//! ```

mod document;
mod invariants;
mod lines;
mod panes;
mod run;
mod samples;
mod words;
mod world;

pub use document::{documented_moves, every_command, state_machine};
pub use invariants::{broken, stuck};
pub use run::{Move, ScriptRun, Sent, check, compare_document, play};
pub use samples::{Sample, samples};
