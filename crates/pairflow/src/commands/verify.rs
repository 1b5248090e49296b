//! `pairflow verify`: recomputes the certificate.

use pairflow_core::facts::Certificate;
use pairflow_core::safe::safe_line;
use pairflow_core::text::counted;
use pairflow_engine::verbs::{VerifyAnswer, VerifyReport, verify};

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Exit, Out, TextLine, Tone, anyone, command};

const AFTER: &str = "\
The seal of the log has one of four results: sealed by you, sealed with another key (cannot be checked here), not
sealed, or broken.

Exit code:
  0  everything was checked and holds, and the log is sealed by you
  1  nothing is wrong, but not everything can be checked here, such as who wrote the log
  5  the log is damaged, or one of its claims does not hold

Example:
  pairflow verify login-race";

/// Recompute the certificate from log and repository
///
/// It only reads. The last line and the exit code follow from the weakest result.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER)]
pub struct VerifyArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("verify", Reading, VerifyArgs, run, anyone);

fn run(args: VerifyArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let bubble = app.look_at(&args.bubble, "verify", out)?;
    out.progress(format_args!("recomputing what the log of {} claims …", bubble.id));
    let report = verify(&bubble)?;
    if args.json {
        out.json("verify/1", &report)?;
    } else {
        for row in &report.rows {
            let (paint, mark) = match row.answer {
                VerifyAnswer::Holds => (Tone::Good, "ok     "),
                VerifyAnswer::Unchecked => (Tone::Warn, "unknown"),
                VerifyAnswer::Wrong => (Tone::Bad, "wrong  "),
            };
            let problem = if row.problem.is_empty() { String::new() } else { format!(": {}", row.problem) };
            out.paint(&TextLine::new().add(paint, mark).plain(format!("  {}{problem}", row.what)))?;
        }
        out.line(format_args!("{}", verdict(&report)))?;
    }
    match report.answer {
        VerifyAnswer::Holds => Ok(()),
        VerifyAnswer::Unchecked => Err(CommandError::silent(Exit::Refused)),
        VerifyAnswer::Wrong => Err(CommandError::silent(Exit::LogDamaged)),
    }
}

/// The last sentence: never more than the weakest row says.
fn verdict(report: &VerifyReport) -> String {
    let id = &report.bubble_id;
    let lines = counted(report.envelopes, "line");
    match (report.answer, &report.certificate) {
        (VerifyAnswer::Wrong, _) => format!("Bubble {id} does not verify; the rows marked wrong say why."),
        (VerifyAnswer::Unchecked, _) => {
            format!("Nothing is wrong in {lines} of bubble {id}, but the rows marked unknown cannot be checked here.")
        }
        (VerifyAnswer::Holds, None) => format!("Everything holds in {lines} of bubble {id}: no certificate yet."),
        (VerifyAnswer::Holds, Some(certificate)) => {
            let (tree, how) = (certificate.tree.short(), accepted(certificate));
            let waived = match &certificate.waived[..] {
                [] => String::new(),
                waived => format!("; waived by a person: {}", safe_line(&waived.join(", "), 400)),
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
