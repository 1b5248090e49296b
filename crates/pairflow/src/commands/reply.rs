//! `pairflow reply`: the person's answer.

use pairflow_core::bubble::{Command, Phase};
use pairflow_core::ids::MsgId;
use pairflow_core::log::RetryKey;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, fits, nonempty, people, status};
use crate::args::DecisionArg;

const EXAMPLES: &str = r#"Examples:
  pairflow reply login-race --message "use the old token format"
  pairflow reply login-race --decision side-with-finding --message "it happens on every restart"
  pairflow reply login-race --message "good enough" --decision accept"#;

/// Answer a question of an agent or of pairflow
///
/// At a tie-break `--decision accept` accepts the work as it is, `side-with-finding` and `side-with-implementer` decide the
/// findings of the question; otherwise the loop continues. To grant a permission, pass
/// `--decision accept` and `--question` with the id that the inbox shows; a `--message` refuses it.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReplyArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// The answer, or `-` for stdin; optional with a decision
    #[arg(long, short = 'm', value_name = "TEXT", value_parser = nonempty, allow_hyphen_values = true)]
    #[arg(required_unless_present = "decision")]
    pub message: Option<String>,
    /// The id of the question; required if several are open, and to grant a permission
    #[arg(long, value_name = "MSG")]
    pub question: Option<String>,
    /// The decision, for questions that need one
    #[arg(long, value_name = "DECISION")]
    pub decision: Option<DecisionArg>,
    /// A retry key: calls with the same key are recorded once
    #[arg(long, value_name = "KEY", value_parser = nonempty)]
    pub key: Option<String>,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("reply", Everyday, ReplyArgs, run, people);

fn run(args: ReplyArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
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
            out.line(format_args!("Answered; {} more open in bubble {}", state.gate.questions.len(), bubble.id))?;
            out.next(format_args!("pairflow inbox {}", bubble.id));
            Ok(())
        }
        Phase::Running(_) if state.paused => {
            out.line(format_args!("Answered; the bubble is paused until you resume {}", bubble.id))?;
            out.next(format_args!("pairflow resume {}", bubble.id));
            Ok(())
        }
        Phase::Running(turn) if !turn.is_open() => out
            .line(format_args!("Answered; the turn of {} opens after the checks in bubble {}", turn.agent, bubble.id)),
        Phase::Running(turn) => out.line(format_args!("Answered; {} continues in bubble {}", turn.agent, bubble.id)),
        other => out.line(format_args!("Answered; {} is {} now.", bubble.id, other.name())),
    }
}
