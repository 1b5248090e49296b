//! Scripted agents: what each agent does in each of its turns, written as YAML and played for real.
//!
//! A scripted agent edits real files, runs real commands and calls the real `pairflow` binary. It can also misbehave in
//! every way that real agents do.

mod model;
mod play;

pub use crate::drivers::STATE_VARIABLE;
pub use model::{
    AppendStep, ConvergedStep, FileMode, InnerPath, JudgeStep, Misbehaviour, NoSuchTurn, PassStep, RefusedStep, Script,
    ScriptError, ScriptRuling, ScriptStep, Verb, WriteStep,
};
pub use play::{ScriptedTurn, play};
