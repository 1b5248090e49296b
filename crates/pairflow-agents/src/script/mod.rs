//! Scripted agents: what each agent does in its first, second, … turn, written down as YAML and played for real.
//!
//! A scripted agent edits real files, runs real commands and calls the real `pairflow` binary. It can also misbehave in
//! every way that real agents do.

mod misbehave;
mod model;
mod parse;
mod play;
mod progress;
mod turn;
mod verbs;

pub use crate::driver::STATE_VARIABLE;
pub use model::{
    Append, Claim, FileMode, InnerPath, Misbehaviour, NoSuchTurn, Pass, Refused, Script, Step, Verb, Write,
};
pub use parse::ScriptError;
pub use play::play;
pub use turn::Turn;
