//! Findings files as reviewers write them: four forms in, one claim out, and no way to approve by accident.

use pairflow_core::facts::{Class, Finding, Severity};
use pairflow_core::findings::feedback::{
    BadFeedback, EXAMPLE, Feedback, MAX_DETAIL, MAX_FEEDBACK, MAX_FILE, MAX_REPRODUCER, ReviewClaim, read,
};
use pairflow_core::ids::FindingId;
use pairflow_core::log::{MAX_FINDINGS, MAX_TITLE};
use proptest::prelude::*;
use serde_json::{Value, json};

const OURS: &str = include_str!("feedback_samples/ours_findings.json");
const OURS_NOTHING: &str = include_str!("feedback_samples/ours_nothing.json");
const REVIEW: &str = include_str!("feedback_samples/review_changes.json");
const REVIEW_APPROVES: &str = include_str!("feedback_samples/review_approve.json");
const REVIEW_ASKS: &str = include_str!("feedback_samples/review_discussion.json");
const DECISION: &str = include_str!("feedback_samples/decision_no_go.json");
const DECISION_GO: &str = include_str!("feedback_samples/decision_go.json");
const CHALLENGE: &str = include_str!("feedback_samples/challenge_refused.json");
const CHALLENGE_APPROVES: &str = include_str!("feedback_samples/challenge_approved.json");
const FENCED: &str = include_str!("feedback_samples/fenced.md");

const SAMPLES: [&str; 11] = [
    OURS,
    OURS_NOTHING,
    REVIEW,
    REVIEW_APPROVES,
    REVIEW_ASKS,
    DECISION,
    DECISION_GO,
    CHALLENGE,
    CHALLENGE_APPROVES,
    FENCED,
    EXAMPLE,
];

fn said(value: &Value) -> Result<Feedback, BadFeedback> {
    read(&value.to_string())
}

#[track_caller]
fn refused(text: &str, sentence: &str) {
    assert_eq!(read(text).unwrap_err().to_string(), sentence);
}

/// Replaces one value of a sample and expects it to be refused.
#[track_caller]
fn spoiled(sample: &str, path: &str, value: Value, sentence: &str) {
    let mut document: Value = serde_json::from_str(sample).unwrap();
    *document.pointer_mut(path).unwrap() = value;
    refused(&document.to_string(), sentence);
}

/// Removes one key of a sample and expects it to be refused.
#[track_caller]
fn without(sample: &str, object: &str, key: &str, sentence: &str) {
    let mut document: Value = serde_json::from_str(sample).unwrap();
    document.pointer_mut(object).unwrap().as_object_mut().unwrap().remove(key).unwrap();
    refused(&document.to_string(), sentence);
}

fn brief(feedback: &Feedback) -> Vec<(Severity, &str)> {
    feedback.findings.iter().map(|finding| (finding.severity, finding.title.as_str())).collect()
}

#[test]
fn our_form_carries_every_part_of_a_finding() {
    let feedback = read(OURS).unwrap();
    let whole = Finding {
        detail: "Row 7 fails, rows 1 to 6 stay.".into(),
        file: Some("src/import.rs".into()),
        line: Some(42),
        class: Some(Class::DataIntegrity),
        suggestion: "One transaction.".into(),
        reproducer: Some("cargo test half_way".into()),
        reverses: Some(FindingId(3)),
        ..Finding::new(Severity::P1, "no rollback")
    };
    assert_eq!(feedback.findings, [whole, Finding::new(Severity::P3, "a typo")]);
    assert_eq!((feedback.confirm, feedback.reopen), (vec![FindingId(1)], vec![FindingId(2)]));
    assert_eq!((feedback.claim, feedback.summary.as_str()), (ReviewClaim::RequestChanges, "Two things."));
}

#[test]
fn an_empty_list_says_that_nothing_was_found() {
    let feedback = read(OURS_NOTHING).unwrap();
    assert_eq!((feedback.claim, feedback.findings.len()), (ReviewClaim::Approve, 0));
    assert_eq!(feedback.confirm, [FindingId(1), FindingId(4)]);
}

#[test]
fn our_form_approves_only_without_grave_findings_and_without_reopened_rows() {
    let of = |findings: Value, reopen: Value| said(&json!({"findings": findings, "reopen": reopen})).unwrap().claim;
    assert_eq!(
        of(json!([{"severity": "P2", "title": "x"}, {"severity": "P3", "title": "y"}]), json!([])),
        ReviewClaim::Approve
    );
    assert_eq!(of(json!([{"severity": "P1", "title": "x"}]), json!([])), ReviewClaim::RequestChanges);
    assert_eq!(of(json!([{"severity": "P0", "title": "x"}]), json!([])), ReviewClaim::RequestChanges);
    assert_eq!(of(json!([]), json!(["F1"])), ReviewClaim::RequestChanges);
}

#[test]
fn the_example_of_the_help_is_a_findings_file() {
    let feedback = read(EXAMPLE).unwrap();
    assert_eq!(feedback.claim, ReviewClaim::RequestChanges);
    assert_eq!(feedback.findings.len(), 2);
}

#[test]
fn a_typo_in_our_form_is_refused_with_the_known_keys() {
    refused(
        r#"{"findings": [], "reopened": ["F1"]}"#,
        "/reopened: unknown field `reopened`, expected one of `findings`, `confirm`, `reopen`, `retract`, `summary`",
    );
    refused(
        r#"{"findings": [{"severity": "P2", "title": "x", "reproduce": "false"}]}"#,
        "/findings/0/reproduce: unknown field `reproduce`, expected one of `severity`, `title`, `detail`, `file`, `line`, \
         `class`, `suggestion`, `reproducer`, `repeats`, `reverses`",
    );
}

#[test]
fn rows_of_the_ledger_are_named_exactly_and_only_once() {
    let rows = said(&json!({"findings": [], "confirm": ["F4", "F4", "F1"]})).unwrap().confirm;
    assert_eq!(rows, [FindingId(1), FindingId(4)]);
    for bad in ["4", "f4", "F0", "F04", "F+4", "F99999999999", ""] {
        let text = json!({"findings": [], "reopen": [bad]}).to_string();
        refused(
            &text,
            &format!("/reopen/0: '{bad}' names no finding; write F1, F2, … as `pairflow findings` shows them"),
        );
    }
    refused(
        r#"{"findings": [], "confirm": ["F1"], "reopen": ["F2", "F1"]}"#,
        "/reopen: 'F1' is also in 'confirm'; keep it in one of the two",
    );
}

#[test]
fn our_form_needs_its_list_of_findings() {
    refused(r#"{"confirm": ["F1"]}"#, "/: missing field `findings`");
    refused(r#"{"findings": null}"#, "/findings: invalid type: null, expected a sequence");
}

#[test]
fn a_review_keeps_file_line_suggestion_and_code() {
    let feedback = read(REVIEW).unwrap();
    assert_eq!(
        brief(&feedback),
        [
            (Severity::P0, "The token is compared with ==."),
            (Severity::P1, "no expiry"),
            (Severity::P2, "slow"),
            (Severity::P3, "name"),
        ]
    );
    let first = &feedback.findings[0];
    assert_eq!((first.file.as_deref(), first.line), (Some("src/auth.py"), Some(10)));
    assert_eq!(
        first.detail,
        "The token is compared with ==.\nAn attacker can time it.\n\nLines 10 to 14.\n\nThe code now:\nreturn token == given"
    );
    assert_eq!(
        first.suggestion,
        "Compare in constant time.\n\nSuggested code:\nreturn hmac.compare_digest(token, given)"
    );
    assert_eq!((feedback.claim, feedback.summary.as_str()), (ReviewClaim::RequestChanges, "Needs iteration."));
}

#[test]
fn a_review_approves_beside_minor_issues_whatever_it_says_of_tests() {
    let feedback = read(REVIEW_APPROVES).unwrap();
    assert_eq!(feedback.claim, ReviewClaim::Approve);
    assert_eq!(brief(&feedback), [(Severity::P2, "slow")]);
}

#[test]
fn an_approval_beside_a_grave_issue_requests_changes() {
    for severity in ["critical", "major"] {
        let issue = json!({"severity": severity, "file_path": "a", "line_start": 1, "issue": "wrong"});
        let feedback = said(&json!({"verdict": "approve", "summary": "perfect", "issues": [issue]})).unwrap();
        assert_eq!(feedback.claim, ReviewClaim::RequestChanges);
    }
}

#[test]
fn a_wish_to_discuss_is_kept_whatever_was_found() {
    assert_eq!(read(REVIEW_ASKS).unwrap().claim, ReviewClaim::NeedsDiscussion);
    let mut document: Value = serde_json::from_str(REVIEW).unwrap();
    document["verdict"] = json!("needs_discussion");
    assert_eq!(said(&document).unwrap().claim, ReviewClaim::NeedsDiscussion);
}

#[test]
fn conditions_become_findings_unless_the_work_is_approved_or_an_issue_blocks() {
    let of = |verdict: &str, issues: Value| {
        let conditions = ["add a test", "bound the queue"];
        said(&json!({"verdict": verdict, "summary": "s", "issues": issues, "approval_conditions": conditions}))
    };
    let alone = of("request_changes", json!([])).unwrap();
    assert_eq!(brief(&alone), [(Severity::P1, "add a test"), (Severity::P1, "bound the queue")]);
    let issue = json!([{"severity": "minor", "file_path": "a", "line_start": 1, "issue": "slow"}]);
    let beside = of("request_changes", issue).unwrap();
    assert_eq!(
        (beside.claim, brief(&beside).len()),
        (ReviewClaim::RequestChanges, 3),
        "what blocks is in the conditions"
    );
    let grave = json!([{"severity": "major", "file_path": "a", "line_start": 1, "issue": "wrong"}]);
    assert_eq!(brief(&of("request_changes", grave).unwrap()), [(Severity::P1, "wrong")], "the issue says more");
    let discussed = of("needs_discussion", json!([])).unwrap();
    assert_eq!((discussed.claim, discussed.findings.len()), (ReviewClaim::NeedsDiscussion, 2), "no condition is lost");
    assert_eq!(
        of("approve", json!([])).unwrap_err().to_string(),
        "/approval_conditions: an approval has no conditions; say request_changes, or leave the list empty if they are met"
    );
}

#[test]
fn changes_requested_without_a_reason_are_the_summary_as_a_finding() {
    let of = |summary: &str| said(&json!({"verdict": "request_changes", "summary": summary, "issues": []}));
    assert_eq!(brief(&of("not like this").unwrap()), [(Severity::P1, "not like this")]);
    assert_eq!(of(" ").unwrap_err().to_string(), "/summary: this is empty; write the text that belongs here");
}

#[test]
fn mistakes_in_a_review_are_named_with_their_path() {
    let issue = "/issues/1/severity";
    spoiled(
        REVIEW,
        issue,
        json!("blocker"),
        "/issues/1/severity: unknown variant `blocker`, expected one of `critical`, `major`, `minor`, `nitpick`",
    );
    spoiled(REVIEW, issue, json!(1), "/issues/1/severity: invalid type: integer `1`, expected string or map");
    spoiled(
        REVIEW,
        "/verdict",
        json!("APPROVE"),
        "/verdict: unknown variant `APPROVE`, expected one of `approve`, `request_changes`, `needs_discussion`",
    );
    spoiled(REVIEW, "/issues/3/issue", json!("  "), "/issues/3/issue: this is empty; write the text that belongs here");
    spoiled(REVIEW, "/issues/0", json!("x"), "/issues/0: invalid type: string \"x\", expected an object");
    spoiled(REVIEW, "/tests_passed", json!("yes"), "/tests_passed: invalid type: string \"yes\", expected a boolean");
    spoiled(REVIEW, "/strengths", json!("all"), "/strengths: invalid type: string \"all\", expected a sequence");
    spoiled(REVIEW, "/issues/0/line_end", json!(9), "/issues/0: line_end is before line_start; correct one of them");
    without(REVIEW, "/issues/2", "line_start", "/issues/2: missing field `line_start`");
    without(REVIEW, "", "verdict", "/: missing field `verdict`");
    without(REVIEW, "", "summary", "/: missing field `summary`");
    without(REVIEW_APPROVES, "", "issues", "/: missing field `issues`");
}

#[test]
fn every_failed_quality_check_is_a_finding() {
    let feedback = read(DECISION).unwrap();
    let checks: Vec<_> = feedback.findings.iter().map(|f| (f.severity, f.class, f.title.as_str())).collect();
    assert_eq!(
        checks,
        [
            (Severity::P1, None, "the quality check 'code_standards_met' is false"),
            (Severity::P0, Some(Class::Security), "the quality check 'security_review_passed' is false"),
            (Severity::P1, Some(Class::Tests), "the quality check 'test_coverage_adequate' is false"),
        ]
    );
    assert!(feedback.findings.iter().all(|finding| finding.detail == feedback.summary));
    assert_eq!(feedback.claim, ReviewClaim::RequestChanges);
}

#[test]
fn go_approves_and_go_with_a_failed_check_does_not() {
    assert_eq!(read(DECISION_GO).unwrap().claim, ReviewClaim::Approve);
    assert_eq!(said(&json!({"decision": "GO", "feedback": ""})).unwrap().claim, ReviewClaim::Approve);
    let mut document: Value = serde_json::from_str(DECISION).unwrap();
    document["decision"] = json!("GO");
    let feedback = said(&document).unwrap();
    assert_eq!((feedback.claim, feedback.findings.len()), (ReviewClaim::RequestChanges, 3));
}

#[test]
fn no_go_without_a_failed_check_is_one_finding_with_the_feedback() {
    let of = |feedback: &str| said(&json!({"decision": "NO_GO", "feedback": feedback}));
    let feedback = of("Missing error handling.\nSee login().").unwrap();
    assert_eq!(brief(&feedback), [(Severity::P1, "Missing error handling.")]);
    assert_eq!(feedback.findings[0].detail, "Missing error handling.\nSee login().");
    assert_eq!(of("").unwrap_err().to_string(), "/feedback: this is empty; write the text that belongs here");
}

#[test]
fn mistakes_in_a_decision_are_named_with_their_path() {
    for word in ["go", "MAYBE", "NO_GO | GO", ""] {
        let sentence = format!("/decision: unknown variant `{word}`, expected `GO` or `NO_GO`");
        spoiled(DECISION_GO, "/decision", json!(word), &sentence);
    }
    spoiled(DECISION_GO, "/decision", json!(true), "/decision: invalid type: boolean `true`, expected string or map");
    spoiled(DECISION_GO, "/quality_checks", json!(null), "/quality_checks: invalid type: null, expected a map");
    for (value, kind) in [(json!(null), "null"), (json!("true"), "string \"true\""), (json!(1), "integer `1`")] {
        let path = "/quality_checks/security_review_passed";
        let sentence = format!("{path}: invalid type: {kind}, expected a boolean");
        spoiled(DECISION_GO, path, value, &sentence);
    }
    without(DECISION_GO, "", "decision", "/: missing field `decision`");
    without(DECISION_GO, "", "feedback", "/: missing field `feedback`");
}

#[test]
fn a_refused_challenge_is_one_finding() {
    let feedback = read(CHALLENGE).unwrap();
    assert_eq!(brief(&feedback), [(Severity::P1, "The cache is never invalidated.")]);
    assert_eq!(feedback.findings[0].detail, "The cache is never invalidated.\nAssumption: nobody writes twice.");
    assert_eq!((feedback.claim, &feedback.summary), (ReviewClaim::RequestChanges, &feedback.findings[0].detail));
    assert_eq!(read(CHALLENGE_APPROVES).unwrap().claim, ReviewClaim::Approve);
}

#[test]
fn mistakes_of_a_challenger_are_named_with_their_path() {
    spoiled(
        CHALLENGE_APPROVES,
        "/challenger_approved",
        json!("true"),
        "/challenger_approved: invalid type: string \"true\", expected a boolean",
    );
    spoiled(CHALLENGE, "/critique", json!(""), "/critique: this is empty; write the text that belongs here");
    without(CHALLENGE_APPROVES, "", "challenger_approved", "/: missing field `challenger_approved`");
    without(CHALLENGE_APPROVES, "", "critique", "/: missing field `critique`");
}

#[test]
fn two_forms_in_one_file_are_refused() {
    refused(
        r#"{"decision": "GO", "feedback": "", "issues": []}"#,
        "/: 'issues' and 'decision' belong to different forms; keep to one of them",
    );
    refused(
        r#"{"findings": [], "verdict": "request_changes"}"#,
        "/: 'findings' and 'verdict' belong to different forms; keep to one of them",
    );
    refused(
        r#"{"challenger_approved": true, "critique": "", "decision": "NO_GO"}"#,
        "/: 'decision' and 'challenger_approved' belong to different forms; keep to one of them",
    );
}

#[test]
fn other_documents_are_refused() {
    let none = "/: none of 'findings', 'verdict', 'decision', 'challenger_approved' is there; a review that found \
                nothing is {\"findings\": []}";
    refused("{}", none);
    refused(r#"{"approved": true, "status": "CODE_IS_PERFECT"}"#, none);
    refused(r#"{"pair_session": {"challenger_approved": true}}"#, none);
    refused("[]", "/: this is not an object; write one JSON object");
    refused("true", "/: this is not an object; write one JSON object");
    refused("\"approve\"", "/: this is not an object; write one JSON object");
}

#[test]
fn keys_that_the_other_forms_do_not_have_are_tolerated() {
    for sample in [REVIEW_APPROVES, DECISION_GO, CHALLENGE_APPROVES] {
        let mut document: Value = serde_json::from_str(sample).unwrap();
        document["confidence"] = json!(0.9);
        assert_eq!(said(&document), read(sample));
    }
}

#[test]
fn one_fenced_block_in_prose_is_read() {
    assert_eq!(read(FENCED).unwrap().claim, ReviewClaim::Approve);
    for fence in ["```\n", "```JSON\r\n", "  ````json\n"] {
        let text = format!("{fence}{}\n````\n", r#"{"findings": []}"#);
        assert_eq!(read(&text).unwrap().claim, ReviewClaim::Approve, "{text}");
    }
    assert_eq!(read(&format!("\u{feff}{OURS_NOTHING}")).unwrap(), read(OURS_NOTHING).unwrap());
}

#[test]
fn prose_that_can_be_read_in_two_ways_is_refused() {
    let block = "```json\n{\"findings\": []}\n```\n";
    refused(
        &format!("{block}\nor\n\n{block}"),
        "line 7, column 1: there is more than one fenced block; leave only the one with the findings",
    );
    refused(
        &format!("So:\n{{\"decision\": \"NO_GO\"}}\n{block}"),
        "line 2, column 1: there is a brace outside of the fenced block; write the JSON object alone, without prose \
         around it",
    );
    refused(
        &format!("{block}\nbut {{x}} is wrong\n"),
        "line 5, column 1: there is a brace outside of the fenced block; write the JSON object alone, without prose \
         around it",
    );
    refused(
        "Here:\n```json\n{\"findings\": []}\n",
        "line 2, column 1: the fenced block is never closed; end it with a line of ``` or write the JSON without a fence",
    );
    refused(
        "```python\n{\"findings\": []}\n```\n",
        "line 1, column 1: the fenced block is marked 'python'; mark it ```json",
    );
}

#[test]
fn what_is_not_json_is_refused_with_line_and_column() {
    let tail = "write one JSON object and nothing after it";
    refused("", &format!("line 1, column 0: EOF while parsing a value; {tail}"));
    refused("LGTM", &format!("line 1, column 1: expected value; {tail}"));
    refused("Sure: {\"findings\": []}", &format!("line 1, column 1: expected value; {tail}"));
    refused("{\"findings\": []} approved", &format!("line 1, column 18: trailing characters; {tail}"));
    refused("{\"findings\": []}\n{\"findings\": []}", &format!("line 2, column 1: trailing characters; {tail}"));
    refused("{\"findings\": [],}", &format!("line 1, column 17: trailing comma; {tail}"));
    refused("a\nb\n```json\n{\"findings\": [}\n```", &format!("line 4, column 15: expected value; {tail}"));
    let deep = format!("{{\"findings\": {}", "[".repeat(100_000));
    assert!(read(&deep).unwrap_err().to_string().contains("recursion limit exceeded"));
}

#[test]
fn a_key_that_is_there_twice_is_refused() {
    refused(
        r#"{"decision": "NO_GO", "feedback": "", "decision": "GO"}"#,
        "line 1, column 48: the key 'decision' is there twice; keep one of the two",
    );
    let twice = r#"{"findings": [{"severity": "P0", "title": "x", "severity": "P3"}]}"#;
    assert!(read(twice).unwrap_err().to_string().ends_with("the key 'severity' is there twice; keep one of the two"));
    let escaped = "{\"decision\": \"GO\", \"feedback\": \"\", \"d\\u0065cision\": \"NO_GO\"}";
    assert!(read(escaped).unwrap_err().to_string().ends_with("the key 'decision' is there twice; keep one of the two"));
}

#[test]
fn a_long_title_is_cut_between_words_and_kept_whole_in_the_detail() {
    let long = "word ".repeat(120).trim().to_owned();
    let feedback = said(&json!({"findings": [{"severity": "P2", "title": long, "detail": "More."}]})).unwrap();
    assert_eq!(feedback.findings[0].title, "word ".repeat(100).trim());
    assert_eq!(feedback.findings[0].detail, format!("{long}\n\nMore."));

    let fits = "é".repeat(MAX_TITLE);
    let feedback = said(&json!({"findings": [{"severity": "P2", "title": fits}]})).unwrap();
    assert_eq!((&feedback.findings[0].title, feedback.findings[0].detail.as_str()), (&fits, ""));

    let no_gap = "é".repeat(MAX_TITLE + 1);
    let feedback = said(&json!({"challenger_approved": false, "critique": no_gap})).unwrap();
    assert_eq!((&feedback.findings[0].title, &feedback.findings[0].detail), (&fits, &no_gap));
}

#[test]
fn an_empty_title_is_refused() {
    for title in ["", " \n\t"] {
        let text = json!({"findings": [{"severity": "P1", "title": title}]}).to_string();
        refused(&text, "/findings/0/title: this is empty; write the text that belongs here");
    }
}

#[test]
fn texts_end_at_their_bounds() {
    let bounds = [
        ("detail", MAX_DETAIL, "/findings/0: the detail"),
        ("suggestion", MAX_DETAIL, "/findings/0: the suggestion"),
        ("reproducer", MAX_REPRODUCER, "/findings/0/reproducer: this"),
    ];
    for (key, limit, at) in bounds {
        let of = |bytes: usize| said(&json!({"findings": [{"severity": "P1", "title": "t", key: "x".repeat(bytes)}]}));
        assert!(of(limit).is_ok());
        assert_eq!(
            of(limit + 1).unwrap_err().to_string(),
            format!("{at} is {} bytes; the limit is {limit}", limit + 1)
        );
    }
    let long = "x".repeat(MAX_DETAIL + 1);
    for document in [
        json!({"decision": "NO_GO", "feedback": long}),
        json!({"decision": "GO", "feedback": long, "quality_checks": {"a": false}}),
        json!({"challenger_approved": false, "critique": long}),
        json!({"findings": [{"severity": "P1", "title": long}]}),
    ] {
        assert!(said(&document).unwrap_err().to_string().contains("is 8193 bytes; the limit is 8192"));
    }
}

#[test]
fn a_review_has_a_bounded_number_of_findings() {
    let findings = |count: usize| vec![json!({"severity": "P3", "title": "x"}); count];
    assert_eq!(said(&json!({"findings": findings(MAX_FINDINGS)})).unwrap().findings.len(), MAX_FINDINGS);
    refused(
        &json!({"findings": findings(MAX_FINDINGS + 1)}).to_string(),
        "/findings: 101 findings are too many; the limit is 100: keep the most severe",
    );
    let checks: serde_json::Map<_, _> = (0..=MAX_FINDINGS).map(|at| (format!("c{at}"), json!(false))).collect();
    refused(
        &json!({"decision": "GO", "feedback": "", "quality_checks": checks}).to_string(),
        "/quality_checks: 101 findings are too many; the limit is 100: keep the most severe",
    );
    refused(
        &" ".repeat(MAX_FEEDBACK + 1),
        "findings file: is 524289 bytes; the limit is 524288: keep the most severe findings",
    );
}

#[test]
fn a_file_is_a_path_inside_the_repository() {
    let of = |file: &str| said(&json!({"findings": [{"severity": "P1", "title": "t", "file": file}]}));
    let read = |file: &str| of(file).unwrap().findings[0].file.clone().unwrap();
    assert_eq!(read("./src//a b.rs"), "src/a b.rs");
    assert_eq!(read("src/..a/b..rs"), "src/..a/b..rs");
    assert_eq!(read(&"x".repeat(MAX_FILE)).len(), MAX_FILE);
    for bad in ["/etc/passwd", "../x", "src/../../x", "src/..", "a\0b", "", ".", "./", " "] {
        let sentence = of(bad).unwrap_err().to_string();
        assert!(sentence.ends_with("is no path inside the repository; write it relative to the root, without '..'"));
    }
    assert!(of(&"x".repeat(MAX_FILE + 1)).is_err());
}

#[test]
fn a_line_is_a_whole_number_from_1_in_a_file() {
    let of = |line: Value| said(&json!({"findings": [{"severity": "P1", "title": "t", "file": "a", "line": line}]}));
    assert_eq!(of(json!(1)).unwrap().findings[0].line, Some(1));
    let sentence = |line: Value| of(line).unwrap_err().to_string();
    let counted = "/findings/0/line: lines are counted from 1; write the number of the line";
    assert_eq!(sentence(json!(0)), counted);
    assert_eq!(sentence(json!(1_u64 << 32)), counted);
    for odd in [json!(-1), json!(1.0), json!(1e300)] {
        assert!(sentence(odd).ends_with(", expected u64"));
    }
    refused(
        r#"{"findings": [{"severity": "P1", "title": "t", "line": 3}]}"#,
        "/findings/0: a line needs its file; add 'file', or leave the line out",
    );
}

#[test]
fn severities_and_classes_are_out_of_their_lists() {
    spoiled(
        OURS,
        "/findings/0/severity",
        json!("P4"),
        "/findings/0/severity: unknown variant `P4`, expected one of `P0`, `P1`, `P2`, `P3`",
    );
    spoiled(
        OURS,
        "/findings/0/class",
        json!("vibes"),
        "/findings/0/class: there is no class 'vibes'; there are core_logic, security, data_integrity, performance, tests, \
         docs, style, other",
    );
    spoiled(
        OURS,
        "/findings/0/reproducer",
        json!("a\0b"),
        "/findings/0/reproducer: a command cannot hold a NUL character; remove it",
    );
}

#[test]
fn a_message_repeats_the_file_only_briefly_and_without_control_characters() {
    let word = format!("\u{1b}[2J{}", "x".repeat(1000));
    let sentence = said(&json!({"decision": word, "feedback": ""})).unwrap_err().to_string();
    assert!(!sentence.contains('\u{1b}') && sentence.chars().count() < 250, "{sentence}");
    let sentence = said(&json!({"findings": [], word: 1})).unwrap_err().to_string();
    assert!(!sentence.contains('\u{1b}') && sentence.chars().count() < 250, "{sentence}");
}

/// Whether a text is an approving document, found out without any code of the reader.
fn approves(text: &str) -> bool {
    let json = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to)).unwrap_or_default();
    let Ok(value) = serde_json::from_str::<Value>(json) else { return false };
    let all = |key: &str, of: &dyn Fn(&Value) -> bool| value[key].as_array().is_some_and(|list| list.iter().all(of));
    let harmless = |words: [&'static str; 2]| move |item: &Value| words.iter().any(|word| item["severity"] == *word);
    let ours = all("findings", &harmless(["P2", "P3"])) && value["reopen"].as_array().is_none_or(Vec::is_empty);
    let review = value["verdict"] == "approve" && all("issues", &harmless(["minor", "nitpick"]));
    let ticked = value["quality_checks"].as_object().is_none_or(|checks| checks.values().all(|check| *check == true));
    let decision = value["decision"] == "GO" && ticked;
    let challenge = value["challenger_approved"] == true;
    let forms = [&value["findings"], &value["verdict"], &value["decision"], &value["challenger_approved"]];
    let one = forms.into_iter().filter(|mark| !mark.is_null()).count() == 1;
    one && (ours || review || decision || challenge)
}

/// What holds for everything that is read.
fn holds(text: &str) -> Result<(), TestCaseError> {
    let feedback = match read(text) {
        Ok(feedback) => feedback,
        Err(bad) => {
            prop_assert!(bad.to_string().chars().count() < 400, "{bad}");
            return Ok(());
        }
    };
    prop_assert!(feedback.claim != ReviewClaim::Approve || approves(text), "approved: {text}");
    prop_assert!(feedback.findings.len() <= MAX_FINDINGS);
    prop_assert!(feedback.confirm.iter().all(|id| !feedback.reopen.contains(id)));
    for finding in &feedback.findings {
        let chars = finding.title.chars().count();
        prop_assert!((1..=MAX_TITLE).contains(&chars) && !finding.title.contains('\n'));
        prop_assert!(finding.detail.len() <= MAX_DETAIL && finding.suggestion.len() <= MAX_DETAIL);
        prop_assert!(finding.line != Some(0) && (finding.line.is_none() || finding.file.is_some()));
        let inside = |file: &String| !file.starts_with('/') && file.split('/').all(|part| part != "..");
        prop_assert!(finding.file.as_ref().is_none_or(inside));
        prop_assert!(feedback.claim != ReviewClaim::Approve || !finding.severity.blocks());
    }
    Ok(())
}

/// Words that turn one document into another.
const WORDS: &[&str] = &[
    "approve",
    "request_changes",
    "GO",
    "NO_GO",
    "true",
    "false",
    "null",
    "critical",
    "major",
    "minor",
    "P0",
    "P3",
    "[]",
    "{}",
    "\"\"",
    "0",
    "findings",
    "issues",
    "verdict",
    "decision",
    "quality_checks",
    "challenger_approved",
    "critique",
    "reopen",
    "severity",
    "```json\n",
    "```\n",
    "{",
    "}",
    ",",
    "\"",
    "\\",
    "\u{0}",
    "é",
    "APPROVED",
    "LGTM",
];

/// One change to a sample: which place, and what is done there.
fn change() -> impl Strategy<Value = (prop::sample::Index, u8, prop::sample::Index)> {
    (any::<prop::sample::Index>(), 0..5_u8, any::<prop::sample::Index>())
}

/// Places between words and signs, so that a change hits whole words as often as pieces of them.
fn places(text: &str) -> Vec<usize> {
    let edge = |c: char| !(c.is_alphanumeric() || c == '_');
    text.char_indices().flat_map(|(at, c)| edge(c).then_some([at, at + c.len_utf8()])).flatten().chain([0]).collect()
}

fn changed(text: &str, (place, kind, with): (prop::sample::Index, u8, prop::sample::Index)) -> String {
    let places = places(text);
    let at = places[place.index(places.len())];
    let (head, tail) = text.split_at(at);
    let length = |of: &str| of.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(of.len()).max(1);
    let rest = |of: &str| of.get(length(of).min(of.len())..).unwrap_or_default().to_owned();
    let word = WORDS[with.index(WORDS.len())];
    match kind {
        0 => format!("{head}{word}{}", rest(tail)),
        1 => format!("{head}{word}{tail}"),
        2 => format!("{head}{}", rest(tail)),
        3 => head.to_owned(),
        _ => format!("{head}{}", SAMPLES[with.index(SAMPLES.len())]),
    }
}

/// Any JSON out of the words that mean something here.
fn document() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(WORDS);
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let object = prop::collection::vec((word(), inner), 0..6)
            .prop_map(|entries| entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
        prop_oneof![list, object]
    })
}

#[test]
fn the_samples_say_what_an_independent_look_says() {
    for sample in SAMPLES {
        assert_eq!(read(sample).unwrap().claim == ReviewClaim::Approve, approves(sample), "{sample}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn any_bytes_are_read_or_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        holds(&text)?;
        prop_assert!(read(&text).is_err());
    }

    #[test]
    fn any_text_around_a_sample_never_approves_by_accident(
        before in "\\PC{0,20}|[`{}\"\n json]{0,20}",
        sample in prop::sample::select(&SAMPLES[..]),
        after in "\\PC{0,20}|[`{}\"\n json]{0,20}",
    ) {
        holds(&format!("{before}{sample}{after}"))?;
    }

    #[test]
    fn a_changed_sample_approves_only_if_it_still_says_so(
        sample in prop::sample::select(&SAMPLES[..]),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let text = changes.into_iter().fold(sample.to_owned(), |text, change| changed(&text, change));
        holds(&text)?;
    }

    #[test]
    fn any_document_of_known_words_approves_only_if_it_says_so(document in document()) {
        holds(&document.to_string())?;
    }

    #[test]
    fn a_sample_with_a_value_replaced_approves_only_if_it_still_says_so(
        sample in prop::sample::select(&SAMPLES[..9]),
        at in any::<prop::sample::Index>(),
        value in document(),
    ) {
        let mut whole: Value = serde_json::from_str(sample).unwrap();
        let object = whole.as_object_mut().unwrap();
        let key = object.keys().nth(at.index(object.len())).unwrap().clone();
        object.insert(key, value);
        holds(&whole.to_string())?;
    }

    #[test]
    fn titles_are_the_beginning_of_what_was_said(text in "[ a-zé\n]{0,20}|[ a-zé]{450,600}") {
        match said(&json!({"challenger_approved": false, "critique": text})) {
            Ok(feedback) => {
                let finding = &feedback.findings[0];
                prop_assert!(text.trim().starts_with(&finding.title));
                let whole = if finding.detail.is_empty() { &finding.title } else { &finding.detail };
                prop_assert_eq!(whole, text.trim());
            }
            Err(_) => prop_assert!(text.trim().is_empty()),
        }
    }
}
