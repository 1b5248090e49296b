//! The exported page: whatever the texts are, nothing but our own markup comes out, everything can be linked to, and it
//! stays within its bounds.

use std::collections::BTreeSet;

use pairflow_core::facts::Finding;
use pairflow_core::facts::{FileChange, Outcome, Receipt, Snapshot};
use pairflow_core::ids::{AgentId, CommitId, Party, TreeId};
use pairflow_core::log::{Body, Envelope, Evidence, Lifecycle, Pass};
use pairflow_core::view::export::{Export, LogFacts, Patches, VerifiedClaim, render};
use pairflow_testkit::script::{ScriptRun, play};
use proptest::prelude::*;

const PATCH: &str = "diff --git a/src/token.rs b/src/token.rs\nnew file mode 100644\n--- /dev/null\n+++ b/src/token.rs\n\
                     @@ -0,0 +1,2 @@\n+fn token() {}\n+// <b>\n";

fn story() -> ScriptRun {
    play(
        "given criterion 'two logins get two tokens'
         start
         codex edits src/token.rs
         codex: pass 'Guard the token in src/token.rs:2' explaining '# What\\nsee src/token.rs:1\\n# Why\\nIt raced.'
         claude: pass P1 'no rollback' at src/token.rs:2 class security
         codex: asks 'Which database, given F1?'
         human: reply 'sqlite'
         codex edits src/lib.rs
         codex: pass 'Roll back' fixes F1
         claude: pass clean
         codex: pass 'fine by me' P2 'slow under load'
         human: approve
         human: commit",
    )
}

fn facts(log: &[Envelope]) -> LogFacts {
    let mut facts = LogFacts::new("demo".parse().unwrap());
    log.iter().for_each(|envelope| facts.step(envelope));
    facts
}

fn export(log: &[Envelope], patch: &str) -> Export {
    Export {
        facts: facts(log),
        lines: log.len() as u64,
        head: "0123abcd".to_owned(),
        verified: vec![VerifiedClaim { what: "log: chain".to_owned(), problem: None }],
        patches: Patches { whole: patch.to_owned(), rounds: vec![(1, patch.to_owned())], missing: None },
    }
}

/// The tags that we use.
const TAGS: &str = "html head meta title style body header nav main section article footer h1 h2 h3 h4 p b i a ul ol li dl \
                    dt dd div span code pre table thead tbody tr th td details summary blockquote time ins del";

/// Reads the page as a strict parser would: returns its ids and its links, and fails on anything that is not our markup.
fn read(page: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut ids, mut links, mut open) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let body = page.strip_prefix("<!doctype html>").unwrap();
    for piece in body.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or_else(|| panic!("a tag without an end: {piece:.80}"));
        let style = tag == "style";
        assert!(style || !text.contains('>'), "an unescaped > in {text:.80}");
        let mut words = tag.splitn(2, ' ');
        let name = words.next().unwrap();
        let bare = name.trim_start_matches('/');
        assert!(TAGS.split(' ').any(|tag| tag == bare), "a tag that is not ours: {tag:.80}");
        if name.starts_with('/') {
            assert_eq!(open.pop(), Some(bare), "tags are closed in order: {tag:.80}");
        } else if bare != "meta" {
            open.push(bare);
        }
        for (attribute, value) in attributes(words.next().unwrap_or_default()) {
            match attribute.as_str() {
                "id" => assert!(ids.insert(value.clone()), "two places are called {value}"),
                "href" => {
                    links.insert(value.strip_prefix('#').expect("links stay on the page").to_owned());
                }
                "class" | "open" | "lang" | "charset" | "name" | "content" | "http-equiv" => {}
                other => panic!("an attribute that is not ours: {other} in {tag:.80}"),
            }
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    (ids, links)
}

fn attributes(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let name = rest[..end].to_owned();
        rest = &rest[end..];
        let value = match rest.strip_prefix("=\"") {
            None => String::new(),
            Some(after) => {
                let (value, left) = after.split_once('"').unwrap();
                rest = left;
                value.to_owned()
            }
        };
        found.push((name, value));
        rest = rest.trim_start();
    }
    found
}

#[test]
fn every_link_of_the_page_leads_to_a_place_on_it() {
    let page = render(&export(&story().log, PATCH));
    let (ids, links) = read(&page);
    let dead: Vec<_> = links.difference(&ids).collect();
    assert_eq!(dead, Vec::<&String>::new());
    for place in ["f1", "f2", "hunk-1-1", "hunk-r1-1-1", "file-1", "round-1", "verdict", "people"] {
        assert!(ids.contains(place), "{place}");
    }
    assert!(ids.iter().any(|id| id.starts_with("receipt-")) && ids.iter().any(|id| id.starts_with("msg-")));
}

#[test]
fn what_agents_say_is_linked_to_findings_hunks_and_receipts_or_marked() {
    let page = render(&export(&story().log, PATCH));
    assert!(page.contains("see <a class=\"ref\" href=\"#hunk-1-1\">src/token.rs:1</a></li>"), "{page}");
    assert!(page.contains("It raced. <span class=\"none\">no evidence</span>"));
    assert!(page.contains("given <a class=\"ref\" href=\"#f1\">F1</a>?"));
}

#[test]
fn the_page_tells_the_whole_story() {
    let page = render(&export(&story().log, PATCH));
    for part in [
        ">DONE<",
        "two logins get two tokens",
        "codex implements, claude reviews",
        "Accepted under the policy",
        "part of it changed in its own turn",
        "All 1 recomputed claims hold",
        "Which database",
        "sqlite",
        "approved</span> tree",
        "Committed as",
        "fn token() {}</ins>",
        "// &lt;b&gt;</ins>",
    ] {
        assert!(page.contains(part), "{part:?} is missing");
    }
}

#[test]
fn the_page_is_made_in_every_state_and_twice_the_same() {
    let log = story().log;
    for length in 0..=log.len() {
        let export = export(&log[..length], PATCH);
        let page = render(&export);
        read(&page);
        assert_eq!(page, render(&export));
    }
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page = render(&export(&story().log, PATCH));
    for word in ["<script", "src=", "<link", "<img", "url(", "@import", "http:", "https:"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn what_does_not_hold_is_said_in_the_open() {
    let log = story().log;
    let mut export = export(&log, "");
    export.verified.push(VerifiedClaim { what: "artifact <x>".to_owned(), problem: Some("it was changed".to_owned()) });
    export.patches.missing = Some("the repository is gone".to_owned());
    let page = render(&export);
    read(&page);
    assert!(page.contains("Does not hold: artifact &lt;x&gt;: it was changed"));
    assert!(page.contains("class=\"verdict bad\"") && page.contains("the repository is gone"));
}

/// The story with every text replaced by `text`.
fn hostile(text: &str) -> Vec<Envelope> {
    let codex: AgentId = "codex".parse().unwrap();
    let mut log = story().log;
    for envelope in &mut log {
        match &mut envelope.event.body {
            Body::Lifecycle(Lifecycle::Created { task, acceptance_criteria, repo, rules, .. }) => {
                (*task, *repo) = (text.to_owned(), text.to_owned());
                *acceptance_criteria = vec![text.to_owned()];
                rules.base_branch = text.to_owned();
            }
            Body::Pass(pass) => replace_pass(pass, text),
            Body::HumanQuestion(question) => question.question = text.to_owned(),
            Body::HumanReply(reply) => reply.message = text.to_owned(),
            Body::ApprovalDecision(decision) => decision.message = text.to_owned(),
            Body::Evidence(Evidence::Receipt { receipt }) => *receipt = replace_receipt(receipt, text),
            Body::Evidence(Evidence::Snapshot { snapshot }) => replace_snapshot(snapshot, text, &codex),
            Body::Convergence(claim) => {
                let certificate = &mut claim.certificate;
                certificate.policy = text.to_owned();
                certificate.notes = vec![text.to_owned()];
                certificate.waived = vec![text.to_owned()];
            }
            _ => {}
        }
    }
    log
}

fn replace_pass(pass: &mut Pass, text: &str) {
    pass.summary = text.to_owned();
    if let Some(explanation) = &mut pass.explanation {
        (explanation.what, explanation.risks) = (text.to_owned(), text.to_owned());
    }
    for finding in pass.findings.iter_mut().flatten() {
        let said = || text.to_owned();
        *finding = Finding {
            title: said(),
            detail: said(),
            suggestion: said(),
            file: Some(said()),
            reproducer: Some(said()),
            anchor: said(),
            ..finding.clone()
        };
    }
}

fn replace_receipt(receipt: &Receipt, text: &str) -> Receipt {
    let said = || text.to_owned();
    let outcome = Outcome::CouldNotCheck { why: said() };
    Receipt { check: said(), command: said(), tail: said(), output: Some(said()), outcome, ..receipt.clone() }
}

fn replace_snapshot(snapshot: &mut Snapshot, text: &str, by: &AgentId) {
    let file = FileChange { path: text.to_owned(), status: 'M', added: Some(1), removed: None };
    snapshot.changed = vec![file.clone()];
    snapshot.since_last = vec![file];
    snapshot.author = Some(Party::Agent(by.clone()));
    snapshot.tree = TreeId(text.chars().take(40).collect());
    snapshot.commit = CommitId(text.to_owned());
}

const EVIL: &[&str] = &[
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='x",
    "</title></style></pre></details><b>",
    "<!-- ",
    "]]>",
    "&lt;b&gt;&#60;",
    "\0",
    "\u{1b}[31m\u{1b}]0;x\u{7}",
    "```\n<i>\n```",
    "`<u>`",
    "- <li>\n# <h1>\n1. x",
    "F1",
    "\u{202e}",
    "\n",
    "diff --git a/<b> b/<b>\n+++ b/<b>\n@@ -1 +1 @@ <b>\n+<b>\n-<b>\n <b>\n",
    "`",
    "javascript:alert(1)",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_text_becomes_markup(
        pieces in prop::collection::vec(prop::sample::select(EVIL), 1..8),
        noise in any::<String>(),
    ) {
        let text = pieces.concat() + &noise;
        let page = render(&export(&hostile(&text), &format!("{PATCH}{text}")));
        read(&page);
        let clean = !page.contains("<script") && !page.contains(['\0', '\u{1b}', '\u{202e}']);
        prop_assert!(clean);
    }
}

#[test]
fn a_flood_in_every_text_makes_a_page_within_bounds() {
    let piece = "<script>'\"\n+<&\n- `<`\n\n";
    let megabyte = piece.repeat(1024 * 1024 / piece.len());
    let patch = format!("{PATCH}{megabyte}");
    let page = render(&export(&hostile(&megabyte[..200_000]), &patch));
    read(&page);
    let one = |envelope: &Envelope| matches!(envelope.event.body, Body::Lifecycle(Lifecycle::Created { .. }));
    let created: Vec<_> = hostile(&megabyte).into_iter().filter(one).collect();
    read(&render(&export(&created, &patch)));
    assert!(page.len() < 16 * 1024 * 1024, "{} bytes", page.len());
}

#[test]
fn a_long_diff_is_cut_with_a_note() {
    let patch = format!("{PATCH}{}", "+ more\n".repeat(40_000));
    let page = render(&export(&story().log, &patch));
    assert!(page.contains("lines are left out here; <code>pairflow diff demo</code> shows all of it."));
    assert!(page.contains("<code>pairflow diff demo --round 1</code>"));
    assert!(page.len() < 2 * 1024 * 1024, "{}", page.len());
}
