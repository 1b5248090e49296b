//! Which known claim a finding repeats.

use crate::rounds::Finding;
use crate::rounds::identity::claim::Claim;
use crate::rounds::identity::compare::{Evidence, weigh};

/// Points from which two claims are one when neither keeps the loop going: a wrong join costs a remark, a missed one a
/// round. A shared fault alone, of claims that name no line, stays below: strangers share that much.
const MINOR: i32 = 20;
/// The same when one of them keeps the loop going: a wrong join would put a grave fault under another title.
const MIXED: i32 = 50;
/// The same when both keep the loop going and speak of the same fault. A wrong join would lose a grave fault, a missed
/// one only files it twice.
const GRAVE: i32 = 110;
/// The same when both keep the loop going and only their words are alike.
const GRAVE_BY_WORDS: i32 = 240;
/// A title of so many words is one claim wherever it stands; a shorter one may be said of many lines.
const SPECIFIC: usize = 4;

/// Returns the place of the finding in `known` that makes the same claim as `finding`: in the same file, and of all
/// those the one that has most in common with it.
pub fn best_match(known: &[Finding], finding: &Finding) -> Option<usize> {
    let mut candidates = known.iter().enumerate().filter(|(_, one)| one.file == finding.file).peekable();
    candidates.peek()?;
    let claim = Claim::of(finding);
    let weighed = candidates.filter_map(|(at, one)| {
        let evidence = weigh(&Claim::of(one), &claim);
        let grave = [one, finding].iter().filter(|one| one.severity.blocks()).count();
        // A title without a telling word is only itself.
        let told = !claim.bones.is_empty() || one.title.trim() == finding.title.trim();
        let repeated = told && evidence.verbatim && (!evidence.elsewhere || claim.bones.len() >= SPECIFIC);
        (repeated || joins(evidence, grave)).then_some(((repeated, evidence.points), at))
    });
    // Among equals the older claim is the one that was repeated.
    weighed.max_by_key(|(weight, at)| (*weight, std::cmp::Reverse(*at))).map(|(_, at)| at)
}

/// Whether two claims are one, of which `grave` keep the loop going.
fn joins(evidence: Evidence, grave: usize) -> bool {
    match (grave, evidence.same_fault) {
        (0, _) => evidence.points >= MINOR,
        (1, _) => evidence.points >= MIXED,
        (_, true) => evidence.points >= GRAVE && !evidence.apart,
        (_, false) => evidence.points >= GRAVE_BY_WORDS && !evidence.apart,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Severity;

    fn grave(title: &str) -> Finding {
        Finding { file: Some("a.rs".into()), ..Finding::new(Severity::P1, title) }
    }

    #[test]
    fn a_claim_said_again_is_the_same_wherever_its_line_went() {
        let known = [grave("Lock is held across an await"), grave("Timeout is missing")];
        let again = Finding { line: Some(80), severity: Severity::P0, ..grave("timeout is  missing.") };
        assert_eq!(best_match(&known, &again), Some(1));
    }

    #[test]
    fn a_claim_about_another_file_or_none_is_another_claim() {
        let known = [grave("Timeout is missing")];
        assert_eq!(best_match(&known, &Finding { file: Some("b.rs".into()), ..known[0].clone() }), None);
        assert_eq!(best_match(&known, &Finding { file: None, ..known[0].clone() }), None);
        assert_eq!(best_match(&[], &known[0]), None);
    }

    #[test]
    fn a_short_title_about_an_unlike_line_is_another_grave_claim() {
        let at = |title: &str, anchor: &str| Finding { anchor: anchor.into(), ..grave(title) };
        let known = [at("unwrap may panic", "let port = args.next().unwrap();")];
        assert_eq!(best_match(&known, &at("unwrap may panic", "serde_json::from_str(body).unwrap()")), None);
        let moved = at("unwrap may panic", "let port = args.next().map(parse).unwrap();");
        assert_eq!(best_match(&known, &moved), Some(0));
    }

    #[test]
    fn sister_faults_and_opposites_are_different_grave_claims() {
        for (one, other) in [
            ("No rate limit on the login endpoint", "No rate limit on the reset endpoint"),
            ("Unchecked read of the slot index", "Unchecked write of the slot index"),
            ("Retry is attempted 3 times", "Retry is attempted 5 times"),
            ("Lock is not released on the error path", "Lock is not taken on the read path"),
        ] {
            assert_eq!(best_match(&[grave(one)], &grave(other)), None, "{one} / {other}");
        }
    }

    #[test]
    fn the_closest_claim_is_taken_and_the_older_among_equals() {
        let minor = |title: &str| Finding { severity: Severity::P3, ..grave(title) };
        let known = [minor("Typo in the greeting"), minor("Typo in the farewell"), minor("Typo in the farewell")];
        assert_eq!(best_match(&known, &minor("Typo in the farewell")), Some(1));
    }
}
