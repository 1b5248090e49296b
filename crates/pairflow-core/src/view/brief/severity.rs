//! The four severities as a reviewer is told them: what each means, what it costs, and what it looks like.

use crate::facts::Severity;
use crate::rules::BubbleKind;
use crate::view::markdown::Page;

/// What a reviewer is told of one severity.
struct Told {
    severity: Severity,
    name: &'static str,
    means: &'static str,
    costs: &'static str,
    in_code: [&'static str; 2],
    in_a_document: [&'static str; 2],
}

const ALL: [Told; 4] = [
    Told {
        severity: Severity::P0,
        name: "critical",
        means: "loses or corrupts data, opens a security hole, or breaks what worked.",
        costs: "The work cannot be accepted while it is open: it goes back to the implementer.",
        in_code: [
            "the migration drops `orders` before the copy is verified: a crash in between loses every order",
            "the id from the URL goes into the SQL text: `/orders?id=1 OR 1=1` lists the orders of everyone",
        ],
        in_a_document: [
            "requirement 4 deletes accounts at once, although the law in section 2 wants them kept for 30 days",
            "the roll-out has no way back after step 3, which rewrites the production data in place",
        ],
    },
    Told {
        severity: Severity::P1,
        name: "major",
        means: "does not do what the task or a criterion asks, or is wrong in a case that will happen.",
        costs: "The same: the work goes back.",
        in_code: [
            "a failed write leaves half a file behind; the criterion says that nothing is left",
            "two logins in the same moment get one session: the look-up and the insert are not one step",
        ],
        in_a_document: [
            "requirements 2 and 7 contradict each other: one forbids retries, the other asks for three",
            "no acceptance criterion says how requirement 5 is tested, so nobody can say when it is met",
        ],
    },
    Told {
        severity: Severity::P2,
        name: "minor",
        means: "works, but should be better.",
        costs: "The person who approves sees it. One of the class `core_logic`, `security` or `data_integrity`, or in a \
                file that the project calls risky, has to be answered once (fixed or disputed) before acceptance.",
        in_code: [
            "the retry sleeps for 5 s while it holds the lock, so every other request waits",
            "`parse_port` has no test for 0 and for 65536",
        ],
        in_a_document: [
            "\"fast\" in requirement 3 has no number beside it",
            "the risk that the vendor's API changes is named, but not what is done then",
        ],
    },
    Told {
        severity: Severity::P3,
        name: "nitpick",
        means: "a matter of taste.",
        costs: "The person who approves sees it; it never costs a round.",
        in_code: ["`tmp2` would read better as `backup_path`", "a typo in the log message: \"recieved\""],
        in_a_document: ["section 3 would read better before section 2", "\"it's\" for \"its\" in the introduction"],
    },
];

/// Adds what the severities mean, what they cost, and two examples of each.
pub(super) fn severities(page: &mut Page, kind: BubbleKind) {
    page.section("How grave a finding is");
    page.line("Take the gravest that fits. If you cannot say what goes wrong, for whom and when, it is a P3 at most.");
    page.line("");
    for told in &ALL {
        page.item(&format!("{} {}: {} {}", told.severity, told.name, told.means, told.costs));
        let examples = if kind == BubbleKind::Document { &told.in_a_document } else { &told.in_code };
        examples.iter().for_each(|example| page.line(&format!("  - e.g. {example}")));
    }
}
