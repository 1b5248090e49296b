//! A permission that is too long for a line: the command that gives it stands only where all of it can be read.

use std::sync::Arc;

use pairflow_core::bubble::{Command, Hindrance};
use pairflow_engine::clock::SystemClock;
use pairflow_engine::engine::{Engine, UserDirs};
use pairflow_engine::store::RealDisk;
use pairflow_testkit::home::Home;

use crate::support::bubbles::{home, started};
use crate::support::terminal::on_terminal;

const LONG: &str = "Bash make && make test && make install prefix=/usr/local && make clean; curl x | sh";

/// Starts a bubble in which codex waits for the permission to do something.
fn asks(home: &Home, what: &str) {
    started(home, "b1");
    let dir = |name: &str| match name {
        "HOME" => Some(home.root().join("home").into_os_string()),
        "XDG_STATE_HOME" => Some(home.root().join("state").into_os_string()),
        _ => None,
    };
    let engine = Engine::new(Arc::new(RealDisk), Arc::new(SystemClock), UserDirs::find(dir).unwrap());
    let bubble = engine.bubble(&home.repo, &"b1".parse().unwrap()).unwrap();
    let (agent, by) = ("codex".parse().unwrap(), Hindrance::Permit);
    bubble.apply(&Command::Hindered { agent, by, what: what.to_owned() }).unwrap();
}

/// What a command shows on a terminal of 80 columns.
fn at_terminal(home: &Home, args: &[&str], keys: &[(&str, &str)]) -> String {
    let (code, text) = on_terminal(home.command(args), keys);
    assert_eq!(code, 0, "{text}");
    text
}

/// The line that gives the permission, as it stands ready to be copied.
fn allows(text: &str) -> bool {
    let given = |line: &str| line.contains("pairflow reply") && line.trim_end().ends_with("--decision accept");
    text.lines().any(given)
}

#[test]
fn the_overview_points_to_the_whole_of_what_it_has_to_cut() {
    let home = home();
    asks(&home, LONG);
    let cut = at_terminal(&home, &[], &[]);
    assert!(cut.contains("Bash make") && !cut.contains("curl x"), "{cut}");
    assert!(!allows(&cut), "{cut}");
    assert!(cut.contains("\n        pairflow inbox b1\n"), "{cut}");
    let mut elsewhere = home.command(&[]);
    elsewhere.current_dir(home.root());
    let (_, cut) = on_terminal(elsewhere, &[]);
    assert!(cut.contains(&format!("\n        pairflow inbox b1 --repo {}\n", home.repo.display())), "{cut}");
    let whole = home.pairflow(&[]).ok().stdout;
    assert!(whole.contains(LONG) && allows(&whole), "no terminal, no cut: {whole}");
}

#[test]
fn a_short_one_is_given_from_the_overview() {
    let home = home();
    asks(&home, "Bash make");
    let text = at_terminal(&home, &[], &[]);
    assert!(text.contains("Bash make.") && allows(&text), "{text}");
}

#[test]
fn inbox_and_next_show_all_of_it_with_what_gives_it() {
    let home = home();
    asks(&home, LONG);
    for args in [&["inbox", "b1"][..], &["next"]] {
        let text = home.pairflow(args).ok().stdout;
        assert!(text.contains(LONG) && allows(&text), "{args:?}: {text}");
    }
    let inbox = at_terminal(&home, &["inbox", "b1"], &[]);
    assert!(inbox.contains(LONG) && allows(&inbox), "{inbox}");
    let next = at_terminal(&home, &["next"], &[("[a=allow it once", "q")]);
    assert!(next.contains(LONG), "the key is offered beneath the whole of it: {next}");
}

#[test]
fn a_pause_that_shows_nothing_of_it_points_to_all_of_it() {
    let home = home();
    asks(&home, "Bash make");
    let ran = home.pairflow(&["pause", "b1"]).ok().says("next: pairflow inbox b1");
    assert!(!allows(&ran.stderr), "{}", ran.stderr);
}
