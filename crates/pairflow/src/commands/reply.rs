//! `pairflow reply`: the person's answer.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::bubble::{Command, Phase};
use pairflow_core::ids::MsgId;
use pairflow_core::log::RetryKey;

use crate::app::{App, fits};
use crate::args::{BubbleArg, DecisionArg, said};
use crate::commands::status;
use crate::entry::{CommandEntry, Group};
use crate::exit::CommandError;
use crate::out::Out;

const EXAMPLES: &str = r#"Examples:
  pairflow reply login-race --message "use the old token format"
  pairflow reply login-race --message "good enough" --decision accept"#;

/// Answer a question
///
/// On a tie-break `--decision` says whether the work is taken as it is; without it the loop goes on. A permission is given
/// with `--decision accept` and the name of its request, as the inbox prints it; a `--message` refuses it.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReplyArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// The answer, or `-` for stdin; a decision needs none
    #[arg(long, short = 'm', value_name = "TEXT", value_parser = said, allow_hyphen_values = true)]
    #[arg(required_unless_present = "decision")]
    pub message: Option<String>,
    /// Which question: the id of its message; needed if several are open, and to give a permission
    #[arg(long, value_name = "MSG")]
    pub question: Option<String>,
    /// The decision, for questions that have one
    #[arg(long, value_name = "DECISION")]
    pub decision: Option<DecisionArg>,
    /// A name for this attempt: repeated with the same key, it is recorded once
    #[arg(long, value_name = "KEY", value_parser = said)]
    pub key: Option<String>,
    /// Print where the bubble stands then, as JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "reply",
    aliases: &[],
    group: Group::Operator,
    about: "Answer a question",
    hidden: false,
    human_only: |_| true,
    args: ReplyArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = ReplyArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.bubble_that(fits::asking, &args.bubble, "reply")?;
    let text = args.message.as_deref().map(|words| app.message("--message", words)).transpose()?.unwrap_or_default();
    let mut refs = Vec::new();
    let message = bubble.inline(&text, &mut refs)?;
    let question = args.question.map(MsgId);
    let command = Command::Reply {
        message,
        question,
        decision: args.decision.map(Into::into),
        refs,
        key: args.key.map(RetryKey),
    };
    let state = bubble.apply(&command)?.state;
    app.hands().wake(&bubble)?;
    if args.json {
        return status::print_json(app, out, &bubble, &state);
    }
    match &state.phase {
        Phase::WaitingHuman(_) => {
            out.line(format_args!("Answered; {} more to answer in bubble {}", state.gate.questions.len(), bubble.id))?;
            out.next(format_args!("pairflow inbox {}", bubble.id));
            Ok(())
        }
        Phase::Running(_) if state.paused => {
            out.line(format_args!("Answered; bubble {} is paused and goes on when it is resumed", bubble.id))?;
            out.next(format_args!("pairflow resume {}", bubble.id));
            Ok(())
        }
        Phase::Running(turn) if !turn.is_open() => out.line(format_args!(
            "Answered; the turn of {} opens in bubble {} once the checks have run",
            turn.agent, bubble.id
        )),
        Phase::Running(turn) => out.line(format_args!("Answered; {} goes on in bubble {}", turn.agent, bubble.id)),
        other => out.line(format_args!("Answered; {} is {} now.", bubble.id, other.name())),
    }
}
