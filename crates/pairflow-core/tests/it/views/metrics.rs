//! The figures of a repository's loops: what is counted, and that the page shows it safely.

use pairflow_core::bubble::{Command, HeadSeen, PassCommand};
use pairflow_core::facts::{Answers, Dispute, FixTest, Judgement, Outcome, Ruling, Severity};
use pairflow_core::ids::{BubbleId, FindingId};
use pairflow_core::log::{Body, Evidence};
use pairflow_core::view::metrics::{BubbleMeter, Metrics, MetricsReport, Tally, UnreadableBubble, page};
use pairflow_testkit::script::{ScriptRun, play};
use serde_json::json;

/// A bubble that is done after two looks, without a finding.
const DONE: &str = "start
    codex edits a.rs
    codex: pass
    claude: pass clean
    codex: pass clean
    human: approve
    human: commit";

fn add(metrics: &mut Metrics, run: &ScriptRun) {
    let mut meter = BubbleMeter::new(run.state.id.clone());
    run.log.iter().for_each(|envelope| meter.step(envelope));
    meter.add_to(metrics, false);
}

fn measured(run: &ScriptRun) -> Metrics {
    let mut metrics = Metrics::default();
    add(&mut metrics, run);
    metrics
}

/// The figures of one agent, all severities together; what is zero is left out.
fn of(metrics: &Metrics, agent: &str) -> serde_json::Value {
    let mut all = serde_json::Map::new();
    for tally in metrics.by_agent.get(agent).iter().flat_map(|tallies| tallies.values()) {
        let serde_json::Value::Object(fields) = serde_json::to_value(tally).unwrap() else { unreachable!() };
        for (name, value) in fields.into_iter().filter(|(_, value)| *value != json!(0)) {
            let sum = all.get(&name).and_then(serde_json::Value::as_u64).unwrap_or(0) + value.as_u64().unwrap();
            all.insert(name, json!(sum));
        }
    }
    serde_json::Value::Object(all)
}

fn answer(run: &mut ScriptRun, by: &str, answers: Answers) {
    let head = HeadSeen::Branch(run.state.rules.bubble_branch.clone());
    let plain = PassCommand::new(by.parse().unwrap(), "answered", head);
    run.send(&Command::Pass(PassCommand { answers, ..plain }));
    run.settle();
}

/// Every finding has exactly one end.
fn balances(metrics: &Metrics) -> bool {
    let sums = |it: Tally| it.filed == it.confirmed + it.conceded + it.dismissed + it.waived + it.open;
    sums(metrics.total()) && metrics.by_severity.values().all(|it| sums(*it))
}

#[test]
fn rounds_and_looks_are_those_of_the_first_acceptance() {
    let mut run = play(DONE);
    let metrics = measured(&run);
    assert_eq!((metrics.converged.bubbles, metrics.bubbles.done), (1, 1));
    assert_eq!(metrics.converged.looks.0, [(2, 1)].into());
    assert_eq!(metrics.converged.rounds.0, [(1, 1)].into());
    run = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass clean\nhuman: approve");
    run.line("human: rework 'another name'");
    ["codex edits a.rs", "codex: pass", "claude: pass clean", "codex: pass clean", "human: rework 'again'"]
        .into_iter()
        .for_each(|line| run.line(line));
    let metrics = measured(&run);
    assert_eq!(metrics.converged.looks.0, [(2, 1)].into(), "{:?}", run.lines);
    assert_eq!((metrics.rework.bubbles, metrics.rework.requests, metrics.rework.after_approval), (1, 2, 1));
    assert_eq!(metrics.bubbles.active, 1);
}

#[test]
fn findings_are_counted_by_how_they_ended_for_the_agent_that_filed_them() {
    let mut run = play(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P0 'data is lost' P1 'no rollback' P1 'no lock' P2 'long name' P1 'slow'
         human: waive F3 'we do not lock'",
    );
    let dispute = |finding, reason: &str| Dispute { finding: FindingId(finding), reason: reason.to_owned() };
    run.line("codex edits a.rs");
    let tests = vec![FixTest { finding: FindingId(1), command: "./lost".to_owned() }];
    let untestable = vec![dispute(5, "it depends on the machine")];
    let (fixed, disputed) =
        (vec![FindingId(1), FindingId(5)], vec![dispute(2, "there is one"), dispute(4, "it is short")]);
    answer(&mut run, "codex", Answers { fixed, disputed, tests, untestable, ..Answers::default() });
    run.line("claude: pass clean");
    let metrics = measured(&run);
    assert_eq!(
        of(&metrics, "claude"),
        json!({"filed": 5, "confirmed": 2, "conceded": 2, "waived": 1, "disputed": 2}),
        "{:?}",
        run.lines
    );
    assert_eq!(of(&metrics, "codex"), json!({"fixes_shown": 1, "fixes_untestable": 1}), "{:?}", run.lines);
    assert_eq!(metrics.by_severity[&Severity::P1].filed, 3);
    assert!(balances(&metrics));
}

#[test]
fn a_fix_that_nothing_shows_is_unproven_and_one_under_way_is_not_counted() {
    let mut run = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback'\ncodex edits a.rs");
    let tests = vec![FixTest { finding: FindingId(1), command: "./rollback".to_owned() }];
    answer(&mut run, "codex", Answers { fixed: vec![FindingId(1)], tests, ..Answers::default() });
    assert_eq!(of(&measured(&run), "codex"), json!({"fixes_shown": 1}), "{:?}", run.lines);
    // The same life, with a test that passes without the fix, too.
    for envelope in &mut run.log {
        if let Body::Evidence(Evidence::FixTested { before, after, .. }) = &mut envelope.event.body {
            (before.outcome, *after) = (Outcome::Passed, None);
        }
    }
    assert_eq!(of(&measured(&run), "codex"), json!({"fixes_unproven": 1}), "{:?}", run.lines);

    let mut run = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback'\ncodex edits a.rs");
    answer(&mut run, "codex", Answers { fixed: vec![FindingId(1)], ..Answers::default() });
    assert_eq!(of(&measured(&run), "codex"), json!({}), "{:?}", run.lines);
    run.line("human: stop");
    assert_eq!(of(&measured(&run), "codex"), json!({"fixes_unproven": 1}), "{:?}", run.lines);
}

#[test]
fn a_judged_finding_is_upheld_or_dismissed() {
    let contested = "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex: pass disputes F1 'there is one'
         claude: pass reopens F1";
    for (ruling, expected) in [
        (Ruling::Upheld, json!({"filed": 1, "disputed": 1, "upheld": 1, "open": 1})),
        (Ruling::Dismissed, json!({"filed": 1, "disputed": 1, "dismissed": 1})),
    ] {
        let mut run = play(contested);
        let by = run.state.phase.turn().unwrap().agent.clone();
        let judgement = Judgement { finding: FindingId(1), ruling, reason: "I looked".to_owned() };
        run.send(&Command::Judge { by, judgement, key: None });
        run.settle();
        let metrics = measured(&run);
        assert_eq!(of(&metrics, "claude"), expected, "{:?}", run.lines);
        assert!(balances(&metrics));
    }
}

#[test]
fn reproducers_that_show_nothing_are_wrong_ones() {
    let mut run = play(
        "F1 reproducer passes
         start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback' by './rollback' P1 'no lock' by './lock'",
    );
    assert_eq!(
        of(&measured(&run), "claude"),
        json!({"filed": 2, "open": 2, "reproducers": 2, "dropped": 1}),
        "{:?}",
        run.lines
    );
    run.line("codex: pass disputes F1 'it is there' disputes F2 'it is locked'");
    run.line("claude: pass clean retracts F2 confirms F2");
    let metrics = measured(&run);
    let tally = of(&metrics, "claude");
    assert_eq!((&tally["withdrawn"], &tally["dropped"]), (&json!(1), &json!(1)), "{tally} {:?}", run.lines);
}

#[test]
fn questions_are_counted_by_kind_and_bubbles_that_asked() {
    let mut metrics = Metrics::default();
    add(&mut metrics, &play("start\ncodex: asks 'which database?'\nhuman: reply 'sqlite'\ncodex: asks 'which port?'"));
    add(&mut metrics, &play(DONE));
    assert_eq!((metrics.questions.bubbles, metrics.questions.total), (1, 2));
    let kinds = serde_json::to_value(&metrics.questions.by_kind).unwrap();
    assert_eq!(kinds, json!([{"kind": "question", "count": 2}]));
    assert_eq!(metrics.summary(), "2 bubbles: 1 done, 1 active");
    assert_eq!(metrics.caution().unwrap(), "Only 1 bubble has converged: the figures say little yet.");
}

#[test]
fn few_bubbles_are_said_to_be_few_and_enough_are_not() {
    let mut metrics = Metrics::default();
    assert_eq!(metrics.caution().unwrap(), "There is no bubble to measure.");
    add(&mut metrics, &play("start"));
    assert_eq!(metrics.caution().unwrap(), "No bubble has converged yet, so there is nothing to say about the loop.");
    let run = play(DONE);
    (0..5).for_each(|_| add(&mut metrics, &run));
    assert_eq!(metrics.caution(), None);
}

#[test]
fn the_newest_escaped_defects_are_listed_and_all_are_counted() {
    let mut metrics = Metrics::default();
    let mut run = play(DONE);
    (1..=30).for_each(|n| run.line(&format!("human: escaped P2 'defect {n}'")));
    add(&mut metrics, &run);
    add(&mut metrics, &run);
    let escaped = &metrics.escaped;
    assert_eq!((escaped.total, escaped.bubbles, escaped.newest.len()), (60, 2, 50));
    assert_eq!(escaped.by_severity, [(Severity::P2, 60)].into());
    assert_eq!(escaped.newest.back().unwrap().text, "defect 30");
    assert_eq!(escaped.newest.front().unwrap().text, "defect 6");
}

#[test]
fn a_median_is_a_number_that_occurred() {
    let spread = |values: &[u32]| {
        let mut counts = std::collections::BTreeMap::new();
        values.iter().for_each(|value| *counts.entry(*value).or_default() += 1);
        let spread = pairflow_core::view::metrics::Spread(counts);
        (spread.percentile(50), spread.percentile(90), spread.most())
    };
    assert_eq!(spread(&[]), (None, None, None));
    assert_eq!(spread(&[4]), (Some(4), Some(4), Some(4)));
    assert_eq!(spread(&[2, 2, 3, 9]), (Some(2), Some(9), Some(9)));
    assert_eq!(spread(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), (Some(5), Some(9), Some(10)));
}

/// A report with hostile text wherever text of others can be.
fn hostile() -> MetricsReport {
    let mut run = play(DONE);
    run.line("human: escaped P0 '<script>alert(1)</script> \u{202e}\u{1b}[31m'");
    let mut report = MetricsReport { repo: "/home/me/<img src=x onerror=y>".to_owned(), ..MetricsReport::default() };
    add(&mut report.own, &run);
    add(&mut report.foreign, &run);
    let error = "bad line: \"<b>\u{1b}[2J\"".to_owned();
    report.add_unreadable(UnreadableBubble { bubble_id: "<i>x".to_owned(), archived: true, error });
    report
}

#[test]
fn the_page_has_no_script_no_resource_and_no_foreign_markup() {
    let page = page::render(&hostile());
    for markup in
        ["<script", "<img", "<i>x", "<b>\u{1b}", "href=", "src=\"", "onerror=y>", "@import", "http:", "https:"]
    {
        assert!(!page.contains(markup), "{markup} in {page}");
    }
    assert!(!page.contains(['\u{1b}', '\u{202e}']));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("default-src 'none'"));
    assert!(page.contains("Foreign bubbles") && page.contains("Not readable"), "{page}");
    assert_eq!(page, page::render(&hostile()), "the same logs give the same bytes");
}

#[test]
fn every_number_of_a_chart_is_in_its_text() {
    let mut run = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback' P2 'long name'");
    run.line("human: waive F1 'we roll forward'");
    let mut report = MetricsReport { repo: "/r".to_owned(), ..MetricsReport::default() };
    add(&mut report.own, &run);
    let page = page::render(&report);
    assert!(page.contains("aria-label=\"What became of them. P1: 1 waived; P2: 1 open\""), "{page}");
    assert!(page.contains("aria-label=\"Who filed them. claude: 1 P1, 1 P2\""), "{page}");
    assert!(!page.contains("id=\"converge\""), "what did not happen has no chart");
}

#[test]
fn many_agents_and_unreadable_bubbles_stay_bounded() {
    let mut metrics = Metrics::default();
    for n in 0..40 {
        let mut run = play(&format!("given agents codex, agent{n:02}\nstart\ncodex edits a.rs\ncodex: pass"));
        run.line(&format!("agent{n:02}: pass P2 'long name'"));
        add(&mut metrics, &run);
    }
    assert_eq!((metrics.by_agent.len(), metrics.total().filed), (33, 40));
    assert_eq!(of(&metrics, "other agents"), json!({"filed": 8, "open": 8}));
    let mut report = MetricsReport::default();
    for n in 0..60 {
        let bubble_id: BubbleId = format!("b{n}").parse().unwrap();
        let bubble_id = bubble_id.to_string();
        report.add_unreadable(UnreadableBubble { bubble_id, archived: false, error: "gone".to_owned() });
    }
    assert_eq!((report.unreadable.len(), report.unreadable_left_out), (50, 10));
}
