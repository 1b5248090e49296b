//! `pairflow hook`: what an agent's CLI reports while it works.
//!
//! It runs before every tool that the agent uses, so it must never disturb: whatever fails, it prints nothing and exits
//! with 0. It looks at no configuration, no repository and no log.

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::time::Instant;

use clap::{ArgMatches, FromArgMatches};
use pairflow_engine::agent_socket::{HookAnswer, HookCall, HookName, report};
use pairflow_engine::process::MARK;
use serde_json::{Value, json};

use super::{App, Args, CommandEntry, CommandError, Out, anyone};
use crate::entry::CommandGroup;

/// How much of the input is looked at, in bytes.
const LOOKED_AT: usize = 1024 * 1024;

/// Report an event of an agent's CLI
///
/// Reads the event as JSON from stdin. Without a supervisor it does nothing.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow hook Stop < event.json")]
pub struct HookArgs {
    /// The event, as the CLI names it
    // Anything is taken: a usage error would mean something to the CLI.
    #[arg(value_name = "EVENT", num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
    pub event: Vec<OsString>,
}

/// The line of the table.
pub const ENTRY: CommandEntry =
    CommandEntry { name: "hook", group: CommandGroup::Plumbing, human_only: anyone, args: HookArgs::augment_args, run };

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let input = input(app);
    let event = HookArgs::from_arg_matches(matches).ok().and_then(|args| args.event.first()?.to_str()?.parse().ok());
    let socket = app.env.get("PAIRFLOW_SOCKET").map(PathBuf::from).filter(|path| !path.as_os_str().is_empty());
    let (Some(event), Some(socket)) = (event, socket) else { return Ok(()) };
    // It says which program speaks: one that is being ended still reports while the next one is started.
    let mark = app.env.get(MARK).and_then(|mark| mark.into_string().ok());
    let answer = report(&socket, HookCall { mark, ..HookCall::read(event, &input) });
    if let Some(told) = answer.and_then(|answer| told(event, &answer)) {
        // The CLI has closed the pipe: it has ended its hook.
        let _ = out.raw(format!("{told}\n").as_bytes());
    }
    Ok(())
}

/// Reads all of stdin, so that the CLI gets rid of it, and keeps the beginning. A CLI that never closes it is not waited
/// for.
fn input(app: &App) -> Vec<u8> {
    let mut kept = Vec::new();
    if app.terminal.stdin {
        return kept;
    }
    let mut stdin = app.stdin.borrow_mut();
    // As large as this, nothing is left behind in a buffer that polling does not see.
    let mut part = vec![0; 64 * 1024];
    let until = Instant::now() + app.limits.hook_input;
    while app.stdin_is_ready(until) {
        match stdin.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(read) => kept.extend_from_slice(&part[..read.min(LOOKED_AT - kept.len())]),
        }
    }
    kept
}

/// Returns the answer to the CLI, in the form that both CLIs understand.
fn told(event: HookName, answer: &HookAnswer) -> Option<Value> {
    let decision =
        |decision: Value| json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
    match (event, answer) {
        (HookName::Stop, HookAnswer::Block { reason }) => Some(json!({"decision": "block", "reason": reason})),
        (HookName::PermissionRequest, HookAnswer::Allow) => Some(decision(json!({"behavior": "allow"}))),
        (HookName::PermissionRequest, HookAnswer::Deny { message }) => {
            Some(decision(json!({"behavior": "deny", "message": message})))
        }
        _ => None,
    }
}
