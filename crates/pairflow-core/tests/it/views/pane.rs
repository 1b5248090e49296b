//! The status view: what it shows in the states that matter, at every size, whatever the texts are. The captures in
//! `docs/status-view.md` are made here.

use std::path::Path;

use pairflow_core::bubble::{BubbleState, Command, Hindrance};
use pairflow_core::facts::Finding;
use pairflow_core::facts::Seat;
use pairflow_core::safe::{steers, width};
use pairflow_core::time::Timestamp;
use pairflow_core::view::pane::{Alarm, PaneInput, SeatNow, SeatStatus, Size, render, silence_left};
use pairflow_core::view::{StyledLine, Tone};

use pairflow_testkit::script::compare_document;

use crate::support::play::{Play, finding, ids, rules};

const TASK: &str = "# Save safely\n\nWrite to a temporary file first, then rename it.";

/// The middle of a bubble's life: a review has found something, and the implementer is at it again.
fn running() -> Play {
    let mut play = Play::started("save-safely", TASK, rules());
    play.produce("codex", "write to a temporary file, then rename", &[], "aaaa");
    play.review(
        "claude",
        "three problems",
        vec![
            finding("P1:a failed rename leaves the temporary file behind", "src/save.rs", 42),
            finding("P2:the directory is not synced after the rename", "src/save.rs", 57),
            finding("P3:`tmp2` would read better as `backup_path`", "src/save.rs", 31),
        ],
    );
    play.seconds += 252;
    play
}

/// The same bubble, with two questions to the person.
fn waiting() -> Play {
    let mut play = running();
    let asks = |by: &str, question: &str| Command::AskHuman {
        by: by.parse().unwrap(),
        question: question.to_owned(),
        refs: Vec::new(),
        key: None,
    };
    play.run(asks("codex", "May the file format change? A checksum in the first line would let a reader tell half a file from a whole one, but older versions could not read it any more."));
    play.seconds += 95;
    play
}

fn seats(play: &Play) -> Vec<SeatNow> {
    let seat = |agent: &str, seat, status, ago: u64| SeatNow {
        agent: agent.parse().unwrap(),
        seat: Some(seat),
        status,
        since: Some(Timestamp::from_millis(play.now().ts.millis() - i64::try_from(ago * 1000).unwrap())),
        session: None,
        pane: Some("%1".to_owned()),
        pid: Some(4711),
        notice: None,
        held_back: false,
        active: Some(play.now().up - ago * 1000),
    };
    vec![
        seat("codex", Seat::Implementer, SeatStatus::Busy, 38),
        seat("claude", Seat::Reviewer, SeatStatus::Stopped, 250),
    ]
}

/// What is seen of a bubble without a story and without agents.
fn input(play: &Play) -> PaneInput<'_> {
    PaneInput {
        state: &play.state,
        seats: None,
        timeline: &[],
        now: play.now(),
        foreign: None,
        alarms: &[],
        supervised: true,
        pane: false,
    }
}

fn shown(play: &Play, alarms: &[Alarm], columns: usize, rows: usize) -> Vec<StyledLine> {
    let seats = seats(play);
    let input = PaneInput { seats: Some(&seats), timeline: &play.rows, alarms, ..input(play) };
    render(&input, Size { columns, rows })
}

fn text(lines: &[StyledLine]) -> String {
    lines.iter().map(|line| format!("{}\n", line.text().trim_end())).collect()
}

#[test]
fn the_captures_in_the_document_are_what_the_view_shows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/status-view.md");
    let stored = include_str!("../../../../../docs/status-view.md").to_owned();
    let captures = [
        ("running 80x24", text(&shown(&running(), &[], 80, 24))),
        ("running 200x10", text(&shown(&running(), &[], 200, 10))),
        ("running 200x50", text(&shown(&running(), &[], 200, 50))),
        ("waiting 80x24", text(&shown(&waiting(), &[], 80, 24))),
        ("waiting 200x50", text(&shown(&waiting(), &[], 200, 50))),
    ];
    let document = captures.iter().fold(stored, |text, (name, capture)| replaced(&text, name, capture));
    compare_document(&path, &document);
}

/// Puts a capture into the block that follows its mark.
fn replaced(document: &str, name: &str, capture: &str) -> String {
    let mark = format!("<!-- capture: {name} -->\n```text\n");
    let (before, rest) = document.split_once(&mark).unwrap_or_else(|| panic!("the document has no {mark}"));
    let (_, after) = rest.split_once("```\n").unwrap();
    format!("{before}{mark}{capture}```\n{after}")
}

#[test]
fn what_matters_most_stands_in_a_few_lines() {
    let lines = text(&shown(&waiting(), &[], 80, 6));
    assert_eq!(
        lines,
        "save-safely  WAITING_HUMAN  round 2 of 8, 1 of 3 looks
Inbox     codex, 1 min ago: May the file format change? A checksum in the first
          line would let a reader tell half a file from a whole one, but older
          versions could not read it any more.
            pairflow reply save-safely --message '…'
Turn      codex as implementer since 12:02:20 UTC, 6 min, waits for you
"
    );
}

#[test]
fn an_absent_supervisor_is_said_with_the_command() {
    let alarms = [Alarm {
        what: "No supervisor is running, so nothing happens.".to_owned(),
        next: Some("pairflow supervise".to_owned()),
    }];
    let lines = shown(&running(), &alarms, 80, 10);
    assert_eq!(lines[1].pieces, [(Tone::Bad, "No supervisor is running, so nothing happens.".to_owned())]);
    assert_eq!(lines[2].text(), "  pairflow supervise");
}

#[test]
fn the_count_down_follows_the_later_sign_of_life() {
    let play = running();
    let left = |active: Option<u64>| {
        let mut seats = seats(&play);
        seats[0].active = active;
        let input = PaneInput { seats: Some(&seats), ..input(&play) };
        (silence_left(&input).unwrap() / 1000, text(&render(&input, Size { columns: 80, rows: 8 })))
    };
    let limit = u64::from(play.state.rules.watchdog_timeout_minutes) * 60;
    let heard = play.state.phase.turn().unwrap().heard.up;
    let silent = (play.now().up - heard) / 1000;
    assert_eq!(left(None).0, limit - silent);
    assert_eq!(left(Some(heard - 5000)).0, limit - silent, "an older sign of life counts less than the log");
    assert_eq!(left(Some(play.now().up - 2000)).0, limit - 2);
    assert_eq!(left(Some(play.now().up + 9_000_000)).0, limit - silent, "of another run of the machine");
    let busy = left(Some(play.now().up - 2000)).1;
    assert!(busy.contains("asks you in 4 min 58 s without activity, in 55 min 34 s at the latest\n"), "{busy}");
    let quiet = left(None).1;
    assert!(quiet.contains(&format!("asks you in {} s without activity", limit - silent)), "{quiet}");
}

#[test]
fn agents_are_shown_with_what_is_known_of_them() {
    let play = running();
    let mut all = seats(&play);
    all[0].status = SeatStatus::Permission;
    all[1].status = SeatStatus::Gone;
    let view = |seats: Option<&[SeatNow]>, state: &BubbleState| {
        let input = PaneInput { state, seats, ..input(&play) };
        text(&render(&input, Size { columns: 100, rows: 12 }))
    };
    let known = view(Some(&all), &play.state);
    assert!(known.contains("waits for a permission 38 s, see pairflow attach save-safely\n"), "{known}");
    assert!(known.contains("claude  reviewer     gone 4 min\n"), "{known}");
    let unknown = view(None, &play.state);
    assert!(unknown.contains("codex   implementer  status unknown\n"), "{unknown}");
    let mut external = play.state.clone();
    external.rules.driver = pairflow_core::rules::DriverKind::External;
    let joined = view(None, &external);
    assert!(joined.contains("codex   implementer  has the turn\n"), "{joined}");
    assert!(joined.contains("claude  reviewer     waits for its turn\n"), "{joined}");
    assert!(!joined.contains("attach"), "there is nothing to attach to: {joined}");
}

#[test]
fn an_agent_at_a_permission_points_to_the_question_and_never_to_the_name_of_a_pane() {
    let mut play = running();
    let what = "Bash: make".to_owned();
    play.run(Command::Hindered { agent: "codex".parse().unwrap(), by: Hindrance::Permission, what });
    let mut all = seats(&play);
    all[0].status = SeatStatus::Permission;
    let lines = text(&render(&PaneInput { seats: Some(&all), ..input(&play) }, Size { columns: 100, rows: 24 }));
    assert!(lines.contains("codex   implementer  waits for a permission 38 s, see Inbox\n"), "{lines}");
    assert!(lines.contains("pairflow attach save-safely"), "the inbox says how: {lines}");
    assert!(!lines.contains('%'), "{lines}");
}

#[test]
fn an_agent_that_nobody_was_asked_about_points_to_its_pane_and_not_to_the_question_about_another() {
    let mut play = running();
    let what = "Bash: make".to_owned();
    play.run(Command::Hindered { agent: "claude".parse().unwrap(), by: Hindrance::Permission, what });
    let mut all = seats(&play);
    (all[0].status, all[1].status) = (SeatStatus::Dialog, SeatStatus::Permission);
    let lines = text(&render(&PaneInput { seats: Some(&all), ..input(&play) }, Size { columns: 100, rows: 24 }));
    assert!(lines.contains("waits at a dialog 38 s, see pairflow attach save-safely\n"), "{lines}");
    assert!(lines.contains("waits for a permission 4 min, see Inbox\n"), "{lines}");
}

/// A bubble in which codex waits for a permission that can be given from everywhere.
fn permission(what: &str) -> Play {
    let mut play = running();
    play.run(Command::Hindered { agent: "codex".parse().unwrap(), by: Hindrance::Permit, what: what.to_owned() });
    play
}

/// Whether the command that allows something stands ready to be copied.
fn allows(lines: &str) -> bool {
    lines.lines().map(str::trim).any(|line| line.starts_with("pairflow reply") && line.contains(" --d"))
}

#[test]
fn a_permission_is_given_only_beneath_all_that_it_is_asked_for() {
    let short = text(&shown(&permission("Bash make; curl x | sh"), &[], 100, 40));
    assert!(allows(&short), "all of it is there: {short}");
    assert!(!short.contains("pairflow inbox"), "{short}");
    for filler in ["echo one && ".repeat(30), "x".repeat(90)] {
        let long = text(&shown(&permission(&format!("Bash make && {filler}; curl x | sh")), &[], 80, 40));
        assert!(long.contains("Bash make && ") && !long.contains("curl x"), "its end is cut: {long}");
        assert!(!allows(&long) && !long.contains("Allow it"), "nothing behind the cut passes for the rest: {long}");
        assert!(long.contains("            pairflow inbox save-safely\n"), "{long}");
        assert!(long.contains(" --message '…'\n") && long.contains("  pairflow attach save-safely\n"), "{long}");
    }
}

#[test]
fn a_command_that_does_not_fit_is_not_cut_but_read_elsewhere() {
    let narrow = text(&shown(&permission("Bash make"), &[], 80, 40));
    assert!(narrow.contains("  pairflow inbox save-safely\n") && !narrow.contains("--decision a…"), "{narrow}");
    assert!(allows(&text(&shown(&permission("Bash make"), &[], 100, 40))));
}

#[test]
fn no_size_lets_a_permission_be_given_that_is_not_read_in_full() {
    let what = format!("Bash make && {}; curl x | sh", "echo one && ".repeat(22));
    let play = permission(&what);
    let mut offered = 0;
    for columns in (1..140).step_by(4) {
        for rows in [1, 3, 6, 8, 12, 40] {
            let lines = text(&shown(&play, &[], columns, rows));
            let folded = lines.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(!allows(&lines) || folded.contains(&what), "{columns}x{rows}: {lines}");
            offered += usize::from(allows(&lines));
        }
    }
    assert!(offered > 0, "where it fits, it can be given");
}

#[test]
fn a_time_that_nobody_knows_is_not_shown() {
    let play = running();
    let mut all = seats(&play);
    all[0].since = None;
    (all[1].since, all[1].status) = (None, SeatStatus::Unknown);
    let lines = text(&render(&PaneInput { seats: Some(&all), ..input(&play) }, Size { columns: 100, rows: 24 }));
    assert!(lines.contains("codex   implementer  busy\n"), "{lines}");
    assert!(lines.contains("claude  reviewer     status unknown\n"), "{lines}");
}

#[test]
fn a_long_title_gives_way_to_how_its_finding_stands() {
    let mut play = Play::started("save-safely", TASK, rules());
    play.produce("codex", "first cut", &[], "aaaa");
    let title = format!("P1:{}", "a rename that fails leaves files behind ".repeat(4));
    play.review("claude", "a problem", vec![finding(title.trim_end(), "src/save.rs", 42)]);
    let answers = pairflow_core::facts::Answers { fixed: ids(&[1]), ..Default::default() };
    play.run(Command::Pass(pairflow_core::bubble::PassCommand {
        answers,
        ..crate::support::play::pass("codex", "mended")
    }));
    // The place is cut, too, where the title would get too little.
    for (columns, end, place) in
        [(80, 80, "  src/save.rs…"), (90, 90, "  src/save.rs:42"), (200, 100, "  src/save.rs:42")]
    {
        let lines = text(&shown(&play, &[], columns, 30));
        let row = lines.lines().find(|line| line.contains("F1 P1")).unwrap();
        let row: String = row.chars().take(end).collect();
        assert!(row.trim_end().ends_with(&format!("… [claimed fixed, unproven]{place}")), "{columns}: {row}");
    }
    let narrow = text(&shown(&play, &[], 50, 30));
    assert!(narrow.contains("… [claimed fixed, unproven]"), "{narrow}");
}

#[test]
fn without_a_supervisor_nobody_counts() {
    let play = running();
    let lines = text(&render(&PaneInput { supervised: false, ..input(&play) }, Size { columns: 80, rows: 24 }));
    assert!(lines.contains("Watchdog  timeouts are paused: no supervisor is running\n"), "{lines}");
    assert!(!lines.contains("asks you in"), "{lines}");
}

#[test]
fn the_view_of_the_session_offers_no_key_that_leaves_it() {
    let play = running();
    let help = |pane| text(&render(&PaneInput { pane, ..input(&play) }, Size { columns: 100, rows: 40 }));
    assert!(help(false).contains("q quits; tmux: prefix o next pane"), "{}", help(false));
    assert!(help(true).contains("          tmux: prefix o next pane, z zoom, d detach\n"), "{}", help(true));
    assert!(!help(true).contains("q quits") && !help(true).contains("attach"), "{}", help(true));
}

#[test]
fn a_notice_that_is_not_acknowledged_is_shown_at_its_agent() {
    let mut play = running();
    play.run(Command::Pass(crate::support::play::pass("codex", "again")));
    play.run(Command::SnapshotTaken { snapshot: crate::support::play::snapshot("codex", "aaaa", false) });
    let turn = play.state.phase.turn().unwrap().number;
    play.run(Command::TurnReady { turn, slices: 0 });
    let before = text(&shown(&play, &[], 100, 12));
    assert!(before.contains("claude  reviewer     stopped 4 min, notice 4 not sent yet\n"), "{before}");
    play.run(Command::Sent { notice: 4 });
    let sent = text(&shown(&play, &[], 100, 12));
    assert!(sent.contains("notice 4 not acknowledged yet\n"), "{sent}");
}

#[test]
fn every_state_has_a_line_that_says_what_it_is() {
    let mut play = running();
    let line = |play: &Play| text(&shown(play, &[], 120, 20));
    play.run(Command::Pause { reason: "lunch".to_owned() });
    let paused = line(&play);
    assert!(paused.starts_with("save-safely  RUNNING, paused  round 2"), "{paused}");
    assert!(paused.contains("pairflow resume save-safely"), "{paused}");
    assert!(!paused.contains("Watchdog"), "nobody is waited for: {paused}");
    play.run(Command::Resume);
    let answers = pairflow_core::facts::Answers { fixed: ids(&[1]), ..Default::default() };
    play.run(Command::Pass(pairflow_core::bubble::PassCommand {
        answers,
        ..crate::support::play::pass("codex", "mended")
    }));
    assert!(line(&play).contains(", opening: recording the tree"), "{}", line(&play));
    play.run(Command::SnapshotTaken { snapshot: crate::support::play::snapshot("codex", "bbbb", true) });
    assert!(line(&play).contains(", opening: running check test"), "{}", line(&play));
    play.run(Command::Pause { reason: "lunch".to_owned() });
    play.run(Command::Stop { reason: "enough".to_owned() });
    let stopped = line(&play);
    assert!(!stopped.contains("CANCELLED, paused") && !play.state.paused, "what is over is not paused: {stopped}");
    assert!(stopped.contains("CANCELLED") && stopped.contains("cancelled"), "{stopped}");
}

#[test]
fn a_package_that_waits_is_in_the_inbox_with_its_commands() {
    let mut play = Play::started("save-safely", TASK, rules());
    play.produce("codex", "done", &[], "aaaa");
    play.review("claude", "clean", Vec::new());
    play.review("codex", "clean", Vec::new());
    play.review("claude", "clean", Vec::new());
    let lines = text(&shown(&play, &[], 80, 24));
    assert!(lines.contains("READY_FOR_APPROVAL"), "{lines}");
    assert!(lines.contains("pairflow ok save-safely\n"), "{lines}");
    assert!(lines.contains("Turn      tree aaaa waits for your approval\n"), "{lines}");
}

#[test]
fn no_size_is_too_small_and_no_line_too_wide() {
    let (running, waiting) = (running(), waiting());
    let alarms = [Alarm { what: "The log cannot be read at the moment.".to_owned(), next: None }];
    for columns in (0..24).chain([40, 79, 80, 81, 119, 139, 140, 141, 200, 400]) {
        for rows in (0..12).chain([15, 16, 17, 24, 50, 120]) {
            for (play, alarms) in [(&running, &alarms[..]), (&waiting, &[][..])] {
                let lines = shown(play, alarms, columns, rows);
                assert!(lines.len() <= rows, "{columns}x{rows}: {} lines", lines.len());
                let widest = lines.iter().map(|line| width(&line.text())).max().unwrap_or(0);
                assert!(widest <= columns, "{columns}x{rows}: {widest} columns");
                assert!(lines.iter().all(|line| line.width() == width(&line.text())));
                assert!(rows == 0 || columns < 11 || lines[0].text().starts_with("save-safel"), "{columns}x{rows}");
            }
        }
    }
}

#[test]
fn foreign_text_neither_steers_the_terminal_nor_breaks_the_columns() {
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\n日本語\u{202e}\u{200b} #{pane_id} %1 \u{9b}31m";
    let mut play = Play::started("save-safely", &format!("# {evil}"), rules());
    play.produce("codex", evil, &[], "aaaa");
    let claim = Finding { detail: evil.to_owned(), ..finding("P1:x", "a\u{1b}[31m.rs", 3) };
    play.review("claude", evil, vec![Finding { title: evil.to_owned(), ..claim }]);
    let ask =
        |question: String| Command::AskHuman { by: "codex".parse().unwrap(), question, refs: Vec::new(), key: None };
    play.run(ask(evil.repeat(50)));
    play.run(ask("x".repeat(60_000)));
    let alarms = [Alarm { what: evil.to_owned(), next: Some(evil.to_owned()) }];
    for (columns, rows) in [(80, 24), (200, 10), (200, 50), (33, 7)] {
        let lines = shown(&play, &alarms, columns, rows);
        for line in &lines {
            let text = line.text();
            assert!(!text.contains(|c: char| steers(c) || c == '\n' || c == '\t'), "{text:?}");
            assert!(width(&text) <= columns, "{text:?}");
        }
    }
    let wide = shown(&play, &[], 200, 30);
    let bars: Vec<_> = wide[2..].iter().map(|line| width(line.text().split('│').next().unwrap())).collect();
    assert!(bars.iter().all(|at| *at == 101), "the bar between the columns stands straight: {bars:?}");
}

#[test]
fn a_used_up_account_is_shown_with_the_day_on_which_it_can_be_used_again() {
    let mut play = running();
    let until = Timestamp::from_millis(play.now().ts.millis() + 3 * 24 * 3_600_000);
    let by = Hindrance::Limit { until: Some(until) };
    play.run(Command::Hindered { agent: "codex".parse().unwrap(), by, what: "weekly limit".to_owned() });
    let lines = text(&shown(&play, &[], 100, 24));
    let said = format!("codex has reached its usage limit until {} UTC", until.date_hms());
    assert!(lines.contains(&said), "{lines}");
    let ends = [Command::Stop { reason: "enough".to_owned() }, Command::GiveUp { reason: "no disk".to_owned() }];
    for end in ends {
        let mut over = play.clone();
        over.run(end);
        // Whatever the log leaves behind: nobody is waited for any more.
        over.state.presence.parked = play.state.presence.parked.clone();
        let lines = text(&shown(&over, &[], 100, 24));
        assert!(!lines.contains("usage limit"), "{lines}");
    }
}
