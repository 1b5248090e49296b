//! `pairflow escaped`: a defect that was found after a bubble was done.

use pairflow_core::bubble::Command;
use pairflow_core::facts::Severity;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Out, command, nonempty, people, status};

const EXAMPLES: &str = r#"Examples:
  pairflow escaped login-race "two logins within one second still share a token"
  pairflow escaped login-race "typo in the error message" --severity P3"#;

/// Record a defect that was found after a bubble was done
///
/// The defect is recorded in the log of the bubble, which stays DONE. `pairflow metrics` counts it. The same text is
/// recorded once.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct EscapedArgs {
    /// The bubble: its id or a unique beginning of it
    #[arg(value_name = "ID", value_parser = nonempty)]
    pub id: String,
    /// What is wrong, in a sentence
    #[arg(value_name = "TEXT", value_parser = nonempty, allow_hyphen_values = true)]
    pub text: String,
    /// How severe it is: P0, P1, P2 or P3
    #[arg(long, value_name = "SEVERITY", default_value = "P1", value_parser = severity)]
    pub severity: Severity,
    /// The repository [default: the one of the current directory]
    #[arg(long, value_name = "PATH")]
    pub repo: Option<std::path::PathBuf>,
    /// Print the new status as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("escaped", Decisions, EscapedArgs, run, people);

fn severity(text: &str) -> Result<Severity, String> {
    text.trim().to_uppercase().parse().map_err(|_| "a severity is one of P0, P1, P2, P3".to_owned())
}

fn run(args: EscapedArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.bubble(&BubbleArg::named(Some(args.id), args.repo), "escaped")?;
    let EscapedArgs { severity, text, .. } = args;
    let applied = bubble.apply(&Command::Escaped { severity, text })?;
    if args.json {
        return status::print_json(app, out, &bubble, &applied.state);
    }
    match applied.id.filter(|_| !applied.repeated) {
        Some(_) => out.line(format_args!("Recorded an escaped {severity} defect of bubble {}", bubble.id)),
        None => out.line(format_args!("This {severity} defect is already recorded for bubble {}", bubble.id)),
    }
}
