//! `pairflow verify`: recomputes the certificate.

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::facts::Certificate;
use pairflow_core::safe::safe_line;
use pairflow_core::text::counted;
use pairflow_engine::verbs::{Answer, VerifyReport, verify};

use crate::app::App;
use crate::args::BubbleArg;
use crate::entry::{CommandEntry, Group, anyone};
use crate::exit::{CommandError, Exit};
use crate::out::{Line, Out, Paint};

const AFTER: &str = "\
The log itself gets one of four answers: sealed by you, sealed with another key (which cannot be checked here), not
sealed, or broken.

Exit code:
  0  everything was checked and holds, and the log is sealed by you
  1  nothing wrong was found, but not everything can be checked here, such as who wrote the log
  5  the log is damaged, or something that it claims does not hold

Example:
  pairflow verify login-race";

/// Recompute the certificate from log and repository
///
/// Only reads. The last line says what the weakest of all checks came to, and so does the exit code.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER)]
pub struct VerifyArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "verify",
    aliases: &[],
    group: Group::Operator,
    about: "Recompute the certificate from log and repository",
    hidden: false,
    human_only: anyone,
    args: VerifyArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = VerifyArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let bubble = app.look_at(&args.bubble, "verify", out)?;
    out.progress(format_args!("recomputing what the log of {} claims …", bubble.id));
    let report = verify(&bubble)?;
    if args.json {
        out.json("verify/1", &report)?;
    } else {
        for row in &report.rows {
            let (paint, mark) = match row.answer {
                Answer::Holds => (Paint::Good, "ok     "),
                Answer::Unchecked => (Paint::Warn, "unknown"),
                Answer::Wrong => (Paint::Bad, "wrong  "),
            };
            let problem = if row.problem.is_empty() { String::new() } else { format!(": {}", row.problem) };
            out.paint(&Line::new().add(paint, mark).plain(format!("  {}{problem}", row.what)))?;
        }
        out.line(format_args!("{}", verdict(&report)))?;
    }
    match report.answer {
        Answer::Holds => Ok(()),
        Answer::Unchecked => Err(CommandError::told(Exit::Refused)),
        Answer::Wrong => Err(CommandError::told(Exit::LogDamaged)),
    }
}

/// The last sentence: never more than the weakest row says.
fn verdict(report: &VerifyReport) -> String {
    let id = &report.bubble_id;
    let lines = counted(report.envelopes, "line");
    match (report.answer, &report.certificate) {
        (Answer::Wrong, _) => format!("Bubble {id} does not verify; the rows marked wrong say why."),
        (Answer::Unchecked, _) => {
            format!("Nothing is wrong in {lines} of bubble {id}, but the rows marked unknown cannot be checked here.")
        }
        (Answer::Holds, None) => format!("Everything holds in {lines} of bubble {id}: no certificate yet."),
        (Answer::Holds, Some(certificate)) => {
            let (tree, how) = (certificate.tree.short(), accepted(certificate));
            let waived = match &certificate.waived[..] {
                [] => String::new(),
                waived => format!("; the person did without: {}", safe_line(&waived.join(", "), 400)),
            };
            format!("Everything holds in {lines} of bubble {id}: tree {tree} {how}{waived}.")
        }
    }
}

/// Who accepted the work, and who had reviewed it by then.
fn accepted(certificate: &Certificate) -> String {
    let by: Vec<_> = certificate.reviews.iter().map(|review| review.agent.as_str()).collect();
    let by = by.join(" and ");
    match (certificate.by_person(), by.is_empty()) {
        (true, true) => "was accepted by a person at a tie-break, without a clean review".to_owned(),
        (true, false) => format!("was accepted by a person at a tie-break, reviewed by {by}"),
        (false, true) => {
            format!("was accepted under the policy {}, without a review", safe_line(&certificate.policy, 60))
        }
        (false, false) => format!("was accepted, reviewed by {by}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How work was accepted that these agents had reviewed clean, and for which a person did without this.
    fn told(reviewers: &[&str], waived: &[&str]) -> String {
        let review = |agent: &&str| serde_json::json!({"agent": agent, "round": 1, "own_work": false});
        let certificate = serde_json::json!({
            "policy": "single",
            "policy_version": 1,
            "max_rounds": 8,
            "tree": "aaaa",
            "reviews": reviewers.iter().map(review).collect::<Vec<_>>(),
            "checks": [],
            "open": [],
            "round_role_history": [],
            "waived": waived,
        });
        accepted(&serde_json::from_value(certificate).unwrap())
    }

    #[test]
    fn a_person_is_named_where_a_person_accepted_and_nowhere_else() {
        assert_eq!(told(&["claude", "codex"], &[]), "was accepted, reviewed by claude and codex");
        assert_eq!(told(&[], &[]), "was accepted under the policy single, without a review");
        assert_eq!(told(&["claude"], &["F1"]), "was accepted by a person at a tie-break, reviewed by claude");
        assert_eq!(told(&[], &["F1"]), "was accepted by a person at a tie-break, without a clean review");
    }
}
