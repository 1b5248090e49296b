//! `pairflow supervisor`: the process that performs what is owed.

use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use pairflow_engine::supervisor_client::{Client, Health, Stopped, SupervisorStatus};
use serde::Serialize;

use crate::app::App;
use crate::entry::{CommandEntry, Group};
use crate::exit::CommandError;
use crate::out::Out;

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
    /// Whether it answers; one that runs and does not answer hangs.
    answers: bool,
    pid: Option<u32>,
    version: Option<String>,
    bubbles: Option<usize>,
    busy: Option<usize>,
    agents: Option<usize>,
}

impl Shown {
    fn of(health: Health) -> Self {
        match health {
            Health::Answers(reply) => Self { running: true, answers: true, ..Self::that(Some(reply)) },
            Health::Hangs(pid) => Self { running: true, pid, ..Self::that(None) },
            Health::Absent => Self::that(None),
        }
    }

    /// One that ran and is gone, if there was one.
    fn that(reply: Option<SupervisorStatus>) -> Self {
        Self {
            running: false,
            answers: false,
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
    let engine = app.engine()?;
    let client = Client::new(&engine);
    match args.command {
        SupervisorCommand::Status { json } => {
            let health = client.health();
            if json {
                return out.json("supervisor/1", &Shown::of(health));
            }
            status(out, health)
        }
        SupervisorCommand::Stop { json } => {
            let stopped = client.stop(PATIENCE)?;
            if json {
                return out.json("supervisor/1", &shown_after(&client, stopped));
            }
            match stopped {
                Stopped::Ended(reply) => out.line(format_args!("Stopped the supervisor, process {}", reply.pid)),
                Stopped::Killed(pid) => {
                    out.line(format_args!("The supervisor did not answer and was ended by force, process {pid}"))
                }
                Stopped::Absent => out.line(format_args!("No supervisor is running.")),
            }
        }
    }
}

/// What programs see after a stop: the supervisor that ended, and whether another one runs.
fn shown_after(client: &Client<'_>, stopped: Stopped) -> Shown {
    let running = client.is_there();
    match stopped {
        Stopped::Ended(reply) => Shown { running, answers: running, ..Shown::that(Some(reply)) },
        Stopped::Killed(pid) => Shown { running, pid: u32::try_from(pid).ok(), ..Shown::that(None) },
        Stopped::Absent => Shown { running, ..Shown::that(None) },
    }
}

fn status(out: &mut Out, health: Health) -> Result<(), CommandError> {
    let SupervisorStatus { pid, version, bubbles, busy, agents } = match health {
        Health::Answers(reply) => reply,
        Health::Hangs(pid) => {
            let process = pid.map(|pid| format!(", process {pid},")).unwrap_or_default();
            out.line(format_args!("The supervisor{process} does not answer."))?;
            out.next(format_args!("pairflow supervise"));
            return Ok(());
        }
        Health::Absent => {
            out.line(format_args!("No supervisor is running."))?;
            out.next(format_args!("pairflow supervise"));
            return Ok(());
        }
    };
    out.line(format_args!("The supervisor runs as process {pid}, version {version}"))?;
    out.line(format_args!("Bubbles: {bubbles} in its care, {busy} being worked on, {agents} with a running agent."))
}
