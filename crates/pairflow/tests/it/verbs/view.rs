//! The status view on a terminal of its own, and once without one.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pairflow_testkit::home::Home;
use pairflow_testkit::wait::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::support::bubbles::{handed_over, home, started};

/// How many rows the terminal has at most.
const ROWS: usize = 60;

/// A view on a terminal.
struct Watched {
    child: Child,
    master: File,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Watched {
    fn start(home: &Home, size: (u16, u16), env: &[(&str, &str)]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = || Stdio::from(File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap());
        let mut command = home.command(&["view", "b1"]);
        command.env("TERM", "xterm-256color").envs(env.iter().copied());
        command.stdin(slave()).stdout(slave()).stderr(slave());
        let master = File::from(master);
        let watched = Self { child: command.spawn().unwrap(), master, sent: Arc::default() };
        drop(command);
        watched.resize(size);
        let (mut reader, sent) = (watched.master.try_clone().unwrap(), watched.sent.clone());
        // Reading fails once every process has closed its end of the terminal.
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                sent.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        watched
    }

    fn resize(&self, (columns, rows): (u16, u16)) {
        let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).unwrap();
    }

    fn sent(&self) -> String {
        String::from_utf8_lossy(&self.sent.lock().unwrap()).into_owned()
    }

    /// Waits until the screen shows what `wanted` looks for, and returns it.
    #[track_caller]
    fn until(&self, what: &str, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        wait_until(what, || wanted(&screen(&self.sent())));
        screen(&self.sent())
    }

    /// Presses a key that ends the view, and returns all that it ever sent.
    #[track_caller]
    fn leave(mut self, key: &str) -> String {
        self.master.write_all(key.as_bytes()).unwrap();
        wait_until("the end of the view", || self.child.try_wait().unwrap().is_some());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        self.until("the cursor", |_| self.sent().contains("\u{1b}[?25h"));
        self.sent()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a terminal shows after it was sent `text`; only what the view uses is understood.
fn screen(text: &str) -> Vec<String> {
    let mut lines = vec![String::new(); ROWS];
    let mut at = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(sequence) = rest.strip_prefix("\u{1b}[") {
            let Some(end) = sequence.find(|c: char| c.is_ascii_alphabetic()) else { break };
            match &sequence[..=end] {
                "H" => {
                    at = 0;
                    lines[0].clear();
                }
                "2J" => lines.iter_mut().for_each(String::clear),
                "J" => lines[at + 1..].iter_mut().for_each(String::clear),
                _ => {}
            }
            rest = &sequence[end + 1..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' => {
                at = (at + 1).min(ROWS - 2);
                lines[at].clear();
            }
            '\r' | '\u{7}' | '\u{1b}' => {}
            c => lines[at].push(c),
        }
    }
    lines
}

fn has(lines: &[String], text: &str) -> bool {
    lines.iter().any(|line| line.contains(text))
}

#[test]
fn without_a_terminal_it_is_shown_once() {
    let home = home();
    handed_over(&home, "b1");
    for args in [&["--width", "80", "--height", "24"][..], &["--once", "--width", "80", "--height", "24"]] {
        let shown = home.pairflow(&[&["view", "--id", "b1"], args].concat()).ok().stdout;
        assert!(shown.starts_with("b1  RUNNING  round 1 of 8, 0 of 2 looks\nWrite done.txt\n"), "{shown}");
        assert!(shown.contains("\nTurn      claude as reviewer since "), "{shown}");
        assert!(shown.contains("\nAgents    codex   implementer  waits for its turn\n"), "{shown}");
        assert!(shown.contains(" codex    hands over: first cut\n"), "{shown}");
        assert!(shown.lines().count() <= 24 && !shown.contains('\u{1b}'), "{shown}");
    }
    home.pairflow(&["bubble", "view", "b1", "--once", "--height", "1"]).ok();
    home.pairflow(&["view", "b1", "--width", "0"]).ends(2);
    home.pairflow(&["view", "nobody"]).ends(1);
}

#[test]
fn an_absent_supervisor_is_said() {
    let home = home();
    started(&home, "b1");
    let there = home.pairflow(&["view", "b1", "--once"]).ok().stdout;
    assert!(!there.contains("supervisor"), "{there}");
    home.pairflow(&["supervisor", "stop"]).ok();
    let alone = home.pairflow(&["view", "b1", "--once"]).ok().stdout;
    let wanted = "No supervisor is running, so nothing happens.\n  pairflow supervise\n";
    assert!(alone.contains(wanted), "{alone}");
}

#[test]
fn it_follows_log_and_size_and_rings_for_a_question() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    let view = Watched::start(&home, (100, 20), &[]);
    let lines = view.until("the first picture", |lines| has(lines, "Turn      codex as implementer"));
    assert!(lines[0].starts_with("b1  RUNNING  round 1"), "{lines:#?}");
    assert!(!view.sent().contains('\u{7}'), "nothing has happened yet");
    codex.pairflow(&["ask-human", "--question", "Which colour?"]).ok();
    let lines = view.until("the question", |lines| has(lines, "pairflow reply b1 --message"));
    assert!(lines[0].starts_with("b1  WAITING_HUMAN  round 1"), "{lines:#?}");
    assert!(has(&lines, "Which colour?"), "{lines:#?}");
    view.until("the bell", |_| view.sent().contains('\u{7}'));
    view.resize((30, 4));
    let small = view.until("the small picture", |lines| lines[0].ends_with('…'));
    assert!(small[4..].iter().all(String::is_empty), "{small:#?}");
    assert!(small.iter().all(|line| line.chars().count() <= 30), "{small:#?}");
    view.resize((200, 10));
    view.until("the wide picture", |lines| lines[1].contains(" │ "));
    let sent = view.leave("q");
    assert!(sent.starts_with("\u{1b}[?25l"), "the cursor was hidden: {sent:?}");
    assert_eq!(sent.matches('\u{7}').count(), 1, "one question, one ring");
}

#[test]
fn ctrl_c_leaves_and_colours_can_be_refused() {
    let home = home();
    started(&home, "b1");
    let coloured = Watched::start(&home, (100, 20), &[]);
    coloured.until("the picture", |lines| has(lines, "Help"));
    let sent = coloured.leave("\u{3}");
    assert!(sent.contains("\u{1b}[1mb1\u{1b}[0m"), "{sent:?}");
    let plain = Watched::start(&home, (100, 20), &[("NO_COLOR", "1")]);
    plain.until("the picture", |lines| has(lines, "Help"));
    let sent = plain.leave("q");
    let endings = sent.split("\u{1b}[").skip(1).filter_map(|one| one.chars().find(char::is_ascii_alphabetic));
    assert!(endings.clone().count() > 3 && endings.clone().all(|end| end != 'm'), "{sent:?}");
}

#[test]
fn a_signal_ends_it_and_the_terminal_is_given_back() {
    use std::os::unix::process::ExitStatusExt;
    let home = home();
    started(&home, "b1");
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut view = Watched::start(&home, (100, 20), &[]);
        // The terminal is looked at as the shell finds it after the view.
        let name = ptsname(&view.master, Vec::new()).unwrap();
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let terminal = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty()).unwrap();
        let modes =
            || tcgetattr(&terminal).unwrap().local_modes & (LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        view.until("the picture", |lines| has(lines, "Help"));
        wait_until("keys that arrive at once", || modes().is_empty());
        assert!(view.sent().contains("\u{1b}[?25l") && !view.sent().contains("\u{1b}[?25h"), "{:?}", view.sent());
        let pid = Pid::from_raw(i32::try_from(view.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        wait_until("the end of the view", || view.child.try_wait().unwrap().is_some());
        assert_eq!(view.child.wait().unwrap().signal(), Some(signal.as_raw()));
        let before = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        wait_until("keys that arrive by lines again", || modes() == before);
        view.until("the cursor", |_| view.sent().contains("\u{1b}[?25h"));
    }
}

#[test]
fn a_log_that_is_away_for_a_moment_is_said_and_found_again() {
    let home = home();
    started(&home, "b1");
    let view = Watched::start(&home, (100, 20), &[]);
    view.until("the picture", |lines| has(lines, "Turn      codex"));
    let log = home.repo.join(".pairflow/bubbles/b1/transcript.ndjson");
    std::fs::rename(&log, log.with_extension("away")).unwrap();
    let lines = view.until("the trouble", |lines| has(lines, "The log cannot be read"));
    assert!(has(&lines, "Turn      codex"), "what was known stays: {lines:#?}");
    std::fs::rename(log.with_extension("away"), &log).unwrap();
    view.until("the log", |lines| has(lines, "Turn      codex") && !has(lines, "The log cannot be read"));
    view.leave("q");
}

#[test]
fn a_bubble_that_is_deleted_is_said_and_what_was_known_stays() {
    let home = home();
    started(&home, "b1");
    let view = Watched::start(&home, (100, 20), &[]);
    view.until("the picture", |lines| has(lines, "Turn      codex"));
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    view.until("the end", |lines| lines[0].starts_with("b1  CANCELLED"));
    home.pairflow(&["delete", "b1", "--yes"]).ok();
    let lines = view.until("the deletion", |lines| has(lines, "Bubble b1 was deleted; this is its last state."));
    assert!(lines[0].starts_with("b1  CANCELLED"), "{lines:#?}");
    view.leave("q");
}

#[test]
fn what_the_supervisor_says_of_the_agents_is_shown() {
    let home = home();
    started(&home, "b1");
    let runtime = home.repo.join(".pairflow/runtime/b1");
    std::fs::create_dir_all(&runtime).unwrap();
    let seats = r#"[{"agent": "codex", "seat": "implementer", "status": "busy", "since": "2020-01-01T00:00:00Z"}]"#;
    std::fs::write(runtime.join("seats.json"), seats).unwrap();
    let shown = home.pairflow(&["view", "b1", "--once"]).ok().stdout;
    assert!(shown.contains("codex   implementer  busy ") && shown.contains(" d\n"), "{shown}");
    for bad in ["", "[{", "{}", "\u{1b}[2J"] {
        std::fs::write(runtime.join("seats.json"), bad).unwrap();
        let shown = home.pairflow(&["view", "b1", "--once"]).ok().stdout;
        assert!(shown.contains("codex   implementer  has the turn\n"), "{bad:?}: {shown}");
    }
}

#[test]
fn an_idle_view_costs_next_to_nothing() {
    let home = home();
    started(&home, "b1");
    let view = Watched::start(&home, (100, 20), &[]);
    view.until("the picture", |lines| has(lines, "Turn      codex"));
    let stat = format!("/proc/{}/stat", view.child.id());
    // Ticks of the processor, a hundredth of a second each: of the process, and of the kernel for it.
    let ticks = || {
        let text = std::fs::read_to_string(&stat).unwrap();
        let fields: Vec<_> = text.rsplit(") ").next().unwrap().split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    let (before, began) = (ticks(), Instant::now());
    // Long enough for three looks; a loop that does not wait would burn three hundred ticks.
    wait_until("the end of three seconds", || began.elapsed() >= Duration::from_secs(3));
    let used = ticks() - before;
    assert!(used <= 6, "{used} ticks in three seconds are more than two percent of a core");
    view.leave("q");
}
