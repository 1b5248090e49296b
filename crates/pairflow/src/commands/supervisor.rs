//! `pairflow supervisor`: the process that performs what is owed.

use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use pairflow_engine::supervise::{Ask, Client, Reply};
use serde::Serialize;

use crate::app::App;
use crate::exit::CommandError;
use crate::out::Out;
use crate::table::{CommandEntry, Group};

/// How long a supervisor may take to end what it has started.
const PATIENCE: Duration = Duration::from_secs(10);

/// Look at the supervisor, or stop it
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow supervisor status\n  pairflow supervisor stop")]
pub struct SupervisorArgs {
    /// What to do with it
    #[command(subcommand)]
    pub command: SupervisorCommand,
}

/// What can be done with the supervisor.
#[derive(Debug, Clone, Subcommand)]
pub enum SupervisorCommand {
    /// Say whether it runs
    Status {
        /// Print JSON for programs
        #[arg(long)]
        json: bool,
    },
    /// Stop it; bubbles go on when it is started again
    Stop {
        /// Print JSON for programs
        #[arg(long)]
        json: bool,
    },
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "supervisor",
    aliases: &[],
    group: Group::Other,
    about: "Look at the supervisor, or stop it",
    hidden: false,
    human_only: |matches| matches.subcommand_name() == Some("stop"),
    args: SupervisorArgs::augment_args,
    run,
};

/// The supervisor as programs see it.
#[derive(Serialize)]
struct Shown {
    running: bool,
    pid: Option<u32>,
    version: Option<String>,
    bubbles: Option<usize>,
    busy: Option<usize>,
    agents: Option<usize>,
}

impl Shown {
    fn of(running: bool, reply: Option<Reply>) -> Self {
        Self {
            running,
            pid: reply.as_ref().map(|reply| reply.pid),
            bubbles: reply.as_ref().map(|reply| reply.bubbles),
            busy: reply.as_ref().map(|reply| reply.busy),
            agents: reply.as_ref().map(|reply| reply.agents),
            version: reply.map(|reply| reply.version),
        }
    }
}

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = SupervisorArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let dirs = app.engine()?.dirs;
    let client = Client::new(&dirs);
    match args.command {
        SupervisorCommand::Status { json } => {
            let reply = client.ask(&Ask::Status);
            if json {
                return out.json("supervisor/1", &Shown::of(reply.is_some(), reply));
            }
            status(out, reply)
        }
        SupervisorCommand::Stop { json } => {
            let reply = client.stop(PATIENCE);
            if json {
                return out.json("supervisor/1", &Shown::of(client.is_there(), reply));
            }
            match reply {
                Some(reply) => out.line(format_args!("Stopped the supervisor, process {}", reply.pid)),
                None => out.line(format_args!("No supervisor is running.")),
            }
        }
    }
}

fn status(out: &mut Out, reply: Option<Reply>) -> Result<(), CommandError> {
    let Some(Reply { pid, version, bubbles, busy, agents }) = reply else {
        out.line(format_args!("No supervisor is running."))?;
        out.next(format_args!("pairflow supervise"));
        return Ok(());
    };
    out.line(format_args!("The supervisor runs as process {pid}, version {version}"))?;
    out.line(format_args!("Bubbles: {bubbles} in its care, {busy} being worked on, {agents} with a running agent."))
}
