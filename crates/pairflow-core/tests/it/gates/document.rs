//! The document quality gate: whole documents, one rule at a time, and whatever else a file may hold.

use std::fmt::Write as _;

use pairflow_core::gates::document::{DocumentCheck, Remark, examine, report};
use proptest::prelude::*;

const GOOD: &str = include_str!("documents/good.md");
const GOOD_BY_HEADINGS: &str = include_str!("documents/good_by_headings.md");

fn alone(text: &str) -> Vec<Remark> {
    examine(&[("prd.md".to_owned(), text.to_owned())])
}

/// Returns the remarks as lines of `check line:column what`, the check by its first letter.
fn lines(remarks: &[Remark]) -> Vec<String> {
    let line = |remark: &Remark| {
        let check = &remark.check.name()["document:".len()..][..1];
        format!("{check} {}:{} {}", remark.line, remark.column, remark.what)
    };
    remarks.iter().map(line).collect()
}

/// Returns what is not as wanted, if each remark does not start with what is wanted, in order, or there is another.
fn difference(name: &str, remarks: &[Remark], wanted: &[&str]) -> Option<String> {
    let found = lines(remarks);
    let same = found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| found.starts_with(wanted));
    (!same).then(|| format!("{name}\nfound:  {found:#?}\nwanted: {wanted:#?}"))
}

fn check(name: &str, remarks: &[Remark], wanted: &[&str]) {
    assert_eq!(difference(name, remarks, wanted), None);
}

/// Parts of a document that has nothing wrong; a case replaces some of them.
#[derive(Clone, Copy)]
struct Parts<'a> {
    scope: &'a str,
    non_goals: &'a str,
    requirements: &'a str,
    acceptance: &'a str,
    more: &'a str,
}

const PARTS: Parts<'_> = Parts {
    scope: "- Import",
    non_goals: "- Export",
    requirements: "- R1: A file is imported.",
    acceptance: "- AC1: The file of R1 appears.",
    more: "",
};

impl Parts<'_> {
    /// Puts the rollout and the risks first, so that the parts of a case start at known lines.
    fn text(self) -> String {
        let mut text = String::from("# Rollout\n\nIn week 12.\n\n# Risks\n\nNone is known.\n\n");
        let Self { scope, non_goals, requirements, acceptance, more } = self;
        let parts = [
            ("Requirements", requirements),
            ("Acceptance criteria", acceptance),
            ("Scope", scope),
            ("Non-goals", non_goals),
            ("Other", more),
        ];
        for (title, body) in parts {
            write!(text, "# {title}\n\n{body}\n\n").unwrap();
        }
        text
    }
}

/// The line on which the requirements of a case start.
const AT: u32 = 11;

#[test]
fn a_good_document_has_no_remarks() {
    assert_eq!(lines(&alone(GOOD)), [""; 0]);
    assert_eq!(lines(&alone(GOOD_BY_HEADINGS)), [""; 0]);
    assert_eq!(lines(&alone(&GOOD.replace('\n', "\r\n"))), [""; 0]);
    assert_eq!(lines(&alone(&PARTS.text())), [""; 0]);
}

#[test]
fn a_good_document_may_be_cut_into_files_in_any_order() {
    let (first, second) = GOOD.split_at(GOOD.find("## 4. Acceptance").unwrap());
    let first = first.replace("(#7-roll-out-plan)", "(./parts/second.md#7-roll-out-plan)");
    let files = [("docs/parts/second.md".to_owned(), second.to_owned()), ("docs/first.md".to_owned(), first)];
    assert_eq!(lines(&examine(&files)), [""; 0]);
}

#[test]
fn missing_and_empty_sections_are_named() {
    check(
        "bad_sections.md",
        &alone(include_str!("documents/bad_sections.md")),
        &[
            "c 1:1 the section \"Non-goals\" is missing: add a heading such as `## Non-goals`",
            "c 3:4 the section \"Scope\" has nothing under its heading \"Scope\"",
            "c 15:4 the section \"Risks\" has nothing under its heading \"Risks\"",
            "c 19:4 the section \"Rollout\" has nothing under its heading \"Roll-out\"",
        ],
    );
}

#[test]
fn each_required_section_that_is_missing_is_named() {
    let sections = ["Scope", "Non-goals", "Requirements", "Acceptance criteria", "Risks", "Rollout"];
    for section in sections {
        let text = PARTS.text().replace(&format!("# {section}\n"), "# Elsewhere\n");
        let missing: Vec<_> = lines(&alone(&text)).into_iter().filter(|line| line.contains("is missing")).collect();
        let named = format!("c 1:1 the section \"{section}\" is missing: add a heading such as `## {section}`");
        assert!(missing.len() == 1 && missing[0].starts_with(&named), "{section}: {missing:?}");
    }
}

#[test]
fn vague_words_are_marked_where_they_stand_unless_a_measure_ties_them() {
    check(
        "bad_words.md",
        &alone(include_str!("documents/bad_words.md")),
        &[
            "a 5:33 \"etc\" cannot be checked",
            "a 13:21 \"fast\"",
            "a 13:30 \"user friendly\"",
            "a 16:20 \"tbd\" leaves the decision open",
            "a 20:17 \"reasonably\"",
        ],
    );
}

#[test]
fn ids_links_scope_and_numbers_that_contradict_each_other_are_marked() {
    check(
        "bad_facts.md",
        &alone(include_str!("documents/bad_facts.md")),
        &[
            "c 3:5 the link to #limits leads nowhere: prd.md has no such heading",
            "c 12:3 \"Export to PDF (later)\" is excluded here and in scope elsewhere",
            "c 13:3 R3 is excluded here and is a requirement",
            "c 19:3 R2 is used twice: prd.md already has \"R2: A user can have at most 5 imports at once\"",
            "c 24:29 10 s for \"timeout\" here, but 30 s in R1: make them agree",
            "c 25:26 at most 3 for \"imports\" here, but at most 5 in R2",
            "c 26:15 the acceptance criterion names requirement R7, which does not exist",
            "c 26:27 RISK-4 is named here but defined nowhere",
        ],
    );
}

#[test]
fn requirements_without_a_criterion_are_named() {
    check(
        "bad_links.md",
        &alone(include_str!("documents/bad_links.md")),
        &[
            "t 14:3 requirement R2 (An import can be stopped) is named by no acceptance criterion: add one that names R2",
            "t 15:3 requirement 3 (An import can be started again) has no id",
            "t 16:3 requirement R4 (Imports are listed (AC9)) is named by no acceptance criterion",
            "c 16:27 AC9 is named here but defined nowhere",
        ],
    );
}

/// Requirements and criteria, and what is said of them; lines count from the first of the requirements.
type Case<'a> = (&'a str, &'a str, &'a [&'a str]);

fn check_all(cases: &[Case<'_>]) {
    let mut failed = Vec::new();
    for (requirements, acceptance, wanted) in cases {
        let mut remarks = alone(&Parts { requirements, acceptance, ..PARTS }.text());
        remarks.iter_mut().for_each(|remark| remark.line = remark.line.wrapping_sub(AT - 1));
        failed.extend(difference(&format!("{requirements}\n--\n{acceptance}"), &remarks, wanted));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn a_measure_is_a_number_with_a_unit_a_comparison_or_a_count() {
    const AC: &str = "- AC1: R1 holds.";
    let vague: &[&str] = &["a 1:13 \"fast\""];
    check_all(&[
        ("- R1: It is fast.", AC, vague),
        ("- R1: It is fast, 200 ms.", AC, &[]),
        ("- R1: It is fast (200ms).", AC, &[]),
        ("- R1: It is fast: p95 < 2.", AC, &[]),
        ("- R1: It is fast for 99.9 % of calls.", AC, &[]),
        ("- R1: It is fast: no more than two clicks.", AC, &[]),
        ("- R1: It is fast; exactly one call.", AC, &[]),
        ("- R1: It is fast: 3 or fewer.", AC, &[]),
        ("- R1: It is fast by 2026-03-01.", AC, &[]),
        ("- R1: It is fast with `limit < 30 s`.", AC, &[]),
        ("- R1: It is fast for $5.", AC, &[]),
        ("- R1: It is fast in version 2.", AC, vague),
        ("- R1: It is fast in 2026.", AC, vague),
        ("- R1: It is fast, see RFC-9110 and section 3.", AC, vague),
        ("- R1: It is fast; one of the goals.", AC, vague),
        ("- R1: It is fast.\n  - That is 200 ms.", AC, &[]),
        ("- R1: It is fast.\n\n  That is 200 ms.", AC, &[]),
        ("- R1: It is fast.\n- R2: It takes 200 ms.", "- AC1: R1 and R2 hold.", vague),
        ("- R1: It is fast.", "- AC1: R1 takes 200 ms.", &[]),
        ("- R1: It is fast (AC7).", "- AC7: It takes 200 ms.", &[]),
        ("- R1: It is fast.", "### R1\n\n- It takes 200 ms.", &[]),
        ("- R1: It is fast.", "- AC1: R1 holds.\n- AC2: It takes 200 ms.", vague),
    ]);
}

#[test]
fn words_are_vague_only_where_they_are_meant() {
    const AC: &str = "- AC1: R1 holds.";
    check_all(&[
        ("- R1: Sent as soon as it is saved.", AC, &[]),
        ("- R1: Sent as soon as possible.", AC, &["a 1:12 \"as soon as possible\""]),
        ("- R1: A many-to-many relation.", AC, &[]),
        ("- R1: Shows how many are left.", AC, &[]),
        ("- R1: The flag `fast` is read.", AC, &[]),
        ("- R1: The button \"Quick start\" and “Some” and 'Easy' are shown.", AC, &[]),
        ("- R1: Read https://example.org/fast/easy first.", AC, &[]),
        ("- R1: Read [it](fast/easy.md) first.", AC, &[]),
        ("- R1: Read /etc/hosts and is_fast.", AC, &[]),
        ("- R1: An *easy-to-use* form.", AC, &["a 1:11 \"easy\""]),
        ("- R1: FAST.", AC, &["a 1:7 \"fast\""]),
        ("- R1: Breakfast is somewhat handsome.", AC, &[]),
        ("### R1 A fast import\n\nA file is read.", AC, &[]),
        ("| ID | Some requirement |\n|---|---|\n| R1 | Read it. |", AC, &[]),
        ("| ID | Requirement |\n|---|---|\n| R1 | Quick. |", AC, &["a 3:8 \"quick\""]),
        ("- R1: Read it.\n\n```\nfast\n```", AC, &[]),
        ("- R1: Read it. <!-- fast -->", AC, &[]),
        ("- R1: Read it.\n\n> fast, they said", AC, &[]),
        ("- R1: Read it.\n\n## Rationale\n\nfast", AC, &[]),
        ("R1: It is easy. It takes 2 s.", AC, &["a 1:11 \"easy\""]),
        ("R1: It is easy, e.g. 2 clicks.", AC, &[]),
    ]);
}

#[test]
fn a_criterion_reaches_its_requirement_by_id_or_by_place() {
    const ONE: &str = "- R1: Read it.";
    let unmet: &[&str] = &["t 1:3 requirement R1 (Read it) is named by no"];
    check_all(&[
        (ONE, "- It is read (R1).", &[]),
        (ONE, "- It is read (R-1).", &[]),
        (ONE, "- R1: it is read.", &[]),
        (ONE, "- AC1: `R1` is met.", &[]),
        (ONE, "AC1: R1 is met.", &[]),
        (ONE, "### AC1\n\nThis is R1.", &[]),
        (ONE, "### For R1\n\n- AC1: It is read.", &[]),
        (ONE, "| Criterion | For |\n|---|---|\n| It is read. | R1 |", &[]),
        (ONE, "- It is read.", unmet),
        (ONE, "These criteria prove R1:\n\n- It is read.", unmet),
        (ONE, "- It is read.\n\n```\nR1\n```", unmet),
        ("- R1: Read it (AC1).", "- AC1: It is read.", &[]),
        ("### R1 Read it\n\n#### Acceptance criteria\n\n- It is read.", "- See above.", &[]),
        ("### R1 Read it\n\n- AC1: It is read.", "- See above.", &[]),
        (
            "| ID | Requirement | Acceptance criteria |\n|---|---|---|\n| R1 | Read it | It is read. |",
            "- See above.",
            &[],
        ),
        (
            "| ID | Requirement | Acceptance criteria |\n|---|---|---|\n| R1 | Read it | TBD |",
            "- See above.",
            &["t 3:1 requirement R1 (Read it", "a 3:18 \"tbd\""],
        ),
        ("- R1: a\n- R2: b\n- R3: c", "- AC1: R1–R3 are met.", &[]),
        ("- R1: a\n- R2: b\n- R3: c", "- AC1: R1, R3.", &["t 2:3 requirement R2 (b)"]),
        ("- R1: Reading\n  - R1.1: fully", "- AC1: R1.1 is met.", &[]),
        ("- Read it.", "- AC1: It is read.", &["t 1:3 requirement 1 (Read it) has no id"]),
        ("1. Read it.", "- AC1: It is read.", &["t 1:4 requirement 1 (Read it) has no id"]),
        ("- [ ] R1 Read it.", "- [x] R1 is read.", &[]),
        ("It is read.", "- It is read.", &["t 1:1 the requirements are running text"]),
    ]);
}

#[test]
fn ids_are_unique_and_lead_somewhere() {
    const AC: &str = "- AC1: R1 holds.";
    check_all(&[
        ("- R1: a\n- R1: b", AC, &["c 2:3 R1 is used twice"]),
        ("- R1: a\n- R-1: b", AC, &["c 2:3 R-1 is used twice"]),
        ("| ID | Requirement |\n|---|---|\n| R1 | a |\n\n### R1\n\nMore on a.", AC, &[]),
        ("- R1: a, unlike R4", AC, &["c 1:17 R4 is named here but defined nowhere"]),
        ("- R1: a, unlike [R4](../other/prd.md)", AC, &[]),
        ("- R1: a, unlike [R4](#rollout)", AC, &["c 1:18 R4"]),
        ("- R1: UTF-8, S3 and HTTP-2", AC, &[]),
        ("- R1: a", "- AC1: R1\n- AC1: R1 again", &["c 6:3 AC1 is used twice"]),
        ("- R1: a", "- AC1: R1 and REQ-2", &["c 5:15 the acceptance criterion names requirement REQ-2"]),
        ("- R1: a", "- AC1: R1–R3", &["c 5:11 the acceptance criterion names requirement R3"]),
    ]);
}

#[test]
fn the_same_quantity_has_the_same_number() {
    check_all(&[
        ("- R1: A timeout of 30 s.", "- AC1: R1 has a timeout of 30,000 ms.", &[]),
        ("- R1: A timeout of 30 s.", "- AC1: R1 has a 10-second timeout.", &["c 5:17 10 second for \"timeout\""]),
        ("- R1: The timeout is 30 s.", "- AC1: R1: timeout: 1 min.", &["c 5:21 1 min for \"timeout\""]),
        ("- R1: A session timeout of 30 s.", "- AC1: R1 has a request timeout of 10 s.", &[]),
        ("- R1: A timeout of 30 s.", "- AC1: R1 after 31 s ends.", &[]),
        ("- R1: At most 5 attempts.", "- AC1: R1 after 4 attempts goes on.", &[]),
        ("- R1: At most 5 attempts.", "- AC1: R1: up to 3 attempts.", &["c 5:18 at most 3 for \"attempts\""]),
        ("- R1: A size of 1 MB.", "- AC1: R1: a size of 1024 KB.", &[]),
        ("- R1: A timeout of 30 s.\n- R2: Read.", "- AC1: R1.\n- AC2: R2 has a timeout of 10 s.", &[]),
    ]);
}

#[test]
fn nothing_is_both_in_scope_and_excluded() {
    let cases: [(&str, &str, &[&str]); 7] = [
        ("- PDF export", "- PDF exports.", &["c 23:3 \"PDF exports\" is excluded here and in scope elsewhere"]),
        ("- Export to PDF", "- No PDF export", &["c 23:3 \"No PDF export\""]),
        ("- Search", "- Search: fuzzy matching", &[]),
        ("- No export", "- Export", &[]),
        ("- Import", "- A file is imported.", &["c 23:3 \"A file is imported\" is excluded here and required"]),
        ("- Import", "- R1 — planned for 2027", &["c 23:3 R1 is excluded here"]),
        ("- Import", "- R1 on phones", &[]),
    ];
    for (scope, non_goals, wanted) in cases {
        check(&format!("{scope}\n--\n{non_goals}"), &alone(&Parts { scope, non_goals, ..PARTS }.text()), wanted);
    }
}

#[test]
fn links_inside_the_set_lead_somewhere() {
    let cases: [(&str, &[&str]); 10] = [
        ("[x](#scope)", &[]),
        ("[x](#Acceptance-criteria)", &[]),
        ("[x](#nowhere)", &["c 27:1 the link to #nowhere leads nowhere: prd.md"]),
        ("[x](prd.md#nowhere)", &["c 27:1 the link to #nowhere"]),
        ("[x](other.md#nowhere) and [y](https://example.org/#nowhere)", &[]),
        ("`[x](#nowhere)`", &[]),
        ("<a id=\"here\"></a> [x](#here)", &[]),
        ("## A `b_c` & *d*\n\n[x](#a-b_c--d)", &[]),
        ("## Same\n\n## Same\n\n[x](#same-1) [y](#same-2)", &["c 31:14 the link to #same-2"]),
        ("see [x][y]\n\n[y]: #nowhere", &["c 27:5 the link to #nowhere"]),
    ];
    for (more, wanted) in cases {
        check(more, &alone(&Parts { more, ..PARTS }.text()), wanted);
    }
}

#[test]
fn a_receipt_says_how_many_remarks_there_are_and_where() {
    let remarks = alone(include_str!("documents/bad_sections.md"));
    let text = report(DocumentCheck::Completeness, &remarks);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("document:completeness: 4 remarks"));
    assert!(lines.next().unwrap().starts_with("prd.md:1:1: the section \"Non-goals\" is missing"));
    assert_eq!(lines.count(), 3);
    assert_eq!(report(DocumentCheck::Ambiguity, &remarks), "document:ambiguity: no remarks\n");
}

#[test]
fn every_check_has_a_name_of_its_own() {
    let names = DocumentCheck::ALL.map(DocumentCheck::name);
    let wanted = ["document:completeness", "document:ambiguity", "document:consistency", "document:traceability"];
    assert_eq!(names, wanted);
}

#[test]
fn without_a_document_every_section_is_missing() {
    assert_eq!(examine(&[]).len(), 6);
    assert_eq!(alone("").len(), 6);
}

/// Patterns that make a careless reader go over the same text again and again.
#[test]
fn a_megabyte_of_anything_is_read() {
    let patterns = [
        "](",
        "[",
        "[[]",
        "`",
        "`` ` ",
        "<",
        "<!--",
        "<a ",
        "\"a ",
        "'",
        "“",
        "# ",
        "#",
        "- ",
        "-\n",
        "|",
        "|-|\n",
        ">",
        "R1 ",
        "R1-R99 ",
        "fast ",
        "- fast 3 s\n",
        "1.1.",
        "* * ",
        "**",
        "\\",
        "é",
        "\t- a\n",
        "- R1: 3 s of 3 s\n",
        "~~~\n",
        "http://",
        "A-",
        "## R1\n",
        "\r",
        "\u{0}",
        "- R1: timeout of 3 s R1-R99\n",
    ];
    for pattern in patterns {
        alone(&format!("## Requirements, acceptance criteria\n{}", pattern.repeat(20_000 / pattern.len())));
    }
    let whole = patterns.map(|pattern| pattern.repeat(50)).concat();
    alone(&whole.repeat(1_000_000 / whole.len() + 1));
    let runs: String = (1..500).map(|len| format!("{} ", "`".repeat(len))).collect();
    alone(&runs);
}

fn piece() -> impl Strategy<Value = String> {
    let marks = [
        "# ",
        "## Scope\n",
        "\n## Requirements\n",
        "\n# Acceptance\n",
        "- ",
        "  - ",
        "1. ",
        "| ",
        "|---|\n",
        "\n",
        "\n\n",
        "`",
        "```\n",
        "**",
        "[",
        "](",
        ")",
        "<!--",
        "-->",
        "\"",
        "“",
        "”",
        "'",
        "R1",
        "R2:",
        "AC1",
        "–",
        "R9 ",
        "fast ",
        "TBD",
        "30 s ",
        "timeout of ",
        "at most 5 ",
        "\\",
        "\t",
        "    ",
        "\r\n",
        "---\n",
        "===\n",
        "> ",
        "é",
        "\u{a0}",
        "#x",
    ];
    prop_oneof![
        6 => proptest::sample::select(marks.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

proptest! {
    #[test]
    fn garbage_is_read_and_every_remark_has_a_place(
        texts in prop::collection::vec(prop::collection::vec(piece(), 0..60), 0..4)
    ) {
        let files: Vec<(String, String)> =
            texts.iter().enumerate().map(|(nth, pieces)| (format!("{nth}.md"), pieces.concat())).collect();
        for remark in examine(&files) {
            if let Some((_, text)) = files.iter().find(|(path, _)| *path == remark.path) {
                let line = text.split('\n').nth(remark.line as usize - 1).unwrap();
                prop_assert!(remark.column as usize <= line.chars().count() + 1, "{remark:?}");
            } else {
                prop_assert!(files.is_empty());
            }
        }
    }

    #[test]
    fn the_same_documents_have_the_same_remarks(pieces in prop::collection::vec(piece(), 0..60)) {
        let text = pieces.concat();
        prop_assert_eq!(alone(&text), alone(&text));
    }

    #[test]
    fn losing_a_criterion_of_the_good_document_never_passes(nth in 1_usize..=8) {
        let start = GOOD.find(&format!("{nth}. AC{nth}")).unwrap();
        let end = GOOD[start..].find("\n").map(|len| start + len).unwrap();
        let text = format!("{}{}", &GOOD[..start], &GOOD[end..]);
        prop_assert!(alone(&text).iter().any(|remark| remark.check == DocumentCheck::Traceability));
    }
}
