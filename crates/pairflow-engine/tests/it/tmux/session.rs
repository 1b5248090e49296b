//! Sessions on a server of our own: made once, found by their exact names, gone when the server is gone.

use std::time::Duration;

use pairflow_engine::tmux::{Ensured, Tmux, TmuxError};
use pairflow_testkit::wait::wait_until;
use rustix::process::Signal;

use crate::support::tmux::{Server, words};

#[test]
fn a_session_is_made_once_and_then_left_alone() {
    let server = Server::new();
    assert!(!server.tmux.is_there());
    let pane = server.open("pf-a", &["sh", "-c", "stty size; exec cat"]);
    assert!(server.tmux.is_there());
    // One line is the name over the pane.
    server.shows(&pane, "49 200");
    let before = server.pane(&pane);
    assert_eq!((before.session.as_str(), before.dead, before.mode, before.tag), ("pf-a", false, false, None));
    assert_eq!(server.tmux.ensure_session(&server.plan("pf-a", &["sh", "-c", "exit 1"])).unwrap(), Ensured::There);
    assert_eq!(server.pane(&pane).pid, before.pid);
    assert_eq!(server.tmux.panes().unwrap().len(), 1);
}

#[test]
fn names_that_begin_alike_are_told_apart() {
    let server = Server::new();
    let longer = server.open("pf-a-b", &["sleep", "60"]);
    assert!(!server.tmux.has_session("pf-a").unwrap());
    assert!(!server.tmux.has_session("pf-a-").unwrap());
    let shorter = server.open("pf-a", &["sleep", "60"]);
    assert_ne!(longer, shorter);
    assert_eq!(server.pane(&longer).session, "pf-a-b");
    assert_eq!(server.pane(&shorter).session, "pf-a");
    server.person(&["kill-session", "-t", "=pf-a"]).unwrap();
    assert!(!server.tmux.has_session("pf-a").unwrap());
    assert!(server.tmux.has_session("pf-a-b").unwrap());
}

#[test]
fn a_server_without_sessions_has_no_panes_and_takes_new_ones() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sleep", "60"]);
    server.person(&["kill-session", "-t", "=pf-a"]).unwrap();
    assert!(server.tmux.is_there());
    assert_eq!(server.tmux.panes().unwrap(), []);
    assert!(matches!(server.tmux.capture(&pane), Err(TmuxError::NoPane { .. })));
    let next = server.open("pf-a", &["sleep", "60"]);
    assert_ne!(pane, next, "the name of a pane is not used twice");
}

#[test]
fn secrets_of_the_environment_stay_outside() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sh", "-c", "env; echo done; exec cat"]);
    server.shows(&pane, "done");
    let seen = server.tmux.capture(&pane).unwrap();
    assert!(seen.contains(&format!("HOME={}", server.dir().display())), "{seen}");
    let global = server.person(&["show-environment", "-g"]).unwrap();
    for text in [&seen, &global] {
        assert!(!text.contains("SECRET") && !text.contains("CARGO"), "{text}");
    }
}

#[test]
fn a_dead_server_is_an_error_of_its_own_and_can_be_made_anew() {
    let server = Server::new();
    let pane = server.open_reader("pf-a");
    server.signal(Signal::KILL);
    wait_until("the server is gone", || !server.tmux.is_there());
    let dead = |result: Result<(), TmuxError>| matches!(result, Err(TmuxError::NoServer { .. }));
    assert!(dead(server.tmux.panes().map(drop)));
    assert!(dead(server.tmux.paste(&pane, "text")));
    assert!(dead(server.tmux.enter(&pane)));
    assert!(dead(server.tmux.capture(&pane).map(drop)));
    assert!(dead(server.tmux.split(&pane, &words(&["sleep", "60"]), server.dir()).map(drop)));
    assert!(dead(server.tmux.respawn(&pane, &words(&["sleep", "60"]), server.dir())));
    assert!(dead(server.tmux.layout(std::slice::from_ref(&pane))));
    assert!(dead(server.tmux.tag(&pane, "status")));
    assert!(!server.tmux.has_session("pf-a").unwrap());
    server.open_reader("pf-a");
}

#[test]
fn the_end_of_a_server_leaves_nothing_behind() {
    let server = Server::new();
    server.tmux.kill_server().unwrap();
    let pane = server.open("pf-a", &["sleep", "60"]);
    let pid = server.pane(&pane).pid;
    // Whoever ends it need not know the environment in which it was started.
    Tmux::new(server.tmux.socket(), []).kill_server().unwrap();
    assert!(!server.tmux.is_there());
    let left: Vec<_> = std::fs::read_dir(server.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".tmux.conf"]);
    let (say, heard) = std::sync::mpsc::channel();
    pairflow_engine::process::when_gone(pid, move || say.send(()).unwrap()).unwrap();
    heard.recv_timeout(Duration::from_secs(20)).expect("what was in the pane ends with it");
    server.tmux.kill_server().unwrap();
}

#[test]
fn a_server_that_hangs_is_waited_for_no_longer_than_allowed_and_can_be_ended() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sleep", "60"]);
    server.signal(Signal::STOP);
    let hasty = server.tmux.clone().with_patience(Duration::from_millis(200));
    assert!(hasty.is_there());
    assert!(matches!(hasty.panes(), Err(TmuxError::TimedOut { millis: 200, .. })));
    assert!(matches!(hasty.paste(&pane, "text"), Err(TmuxError::TimedOut { millis: 200, .. })));
    hasty.kill_server().unwrap();
    assert!(!hasty.is_there());
}

#[test]
fn no_tmux_on_the_machine_is_said_with_the_way_to_get_it() {
    let server = Server::new();
    let nowhere = Tmux::new(server.path("other"), [("PATH".to_owned(), server.dir().display().to_string())]);
    let error = nowhere.ensure_session(&server.plan("pf-a", &["sleep", "60"])).unwrap_err();
    assert!(matches!(error, TmuxError::NotInstalled));
    assert!(error.to_string().contains("apt install tmux"), "{error}");
}

#[test]
fn what_must_not_reach_tmux_is_refused() {
    let server = Server::new();
    for name in ["", "a.b", "a:b", "=a", "-a", "a b", "a\nb", "ä"] {
        let refused = server.tmux.ensure_session(&server.plan(name, &["sleep", "60"]));
        assert!(matches!(refused, Err(TmuxError::Refused { .. })), "{name:?}: {refused:?}");
    }
    let refused = server.tmux.ensure_session(&server.plan("pf-a", &[]));
    assert!(matches!(refused, Err(TmuxError::Refused { .. })));
    let mut plan = server.plan("pf-a", &["sleep", "60"]);
    plan.cwd = server.path("gone");
    assert!(matches!(server.tmux.ensure_session(&plan), Err(TmuxError::Io { .. })));
    assert!(!server.tmux.is_there());
}

#[test]
fn a_person_attaches_from_inside_another_tmux_to_exactly_the_named_session() {
    let (server, outer) = (Server::new(), Server::new());
    let pane = server.open("pf-a-b", &["sh", "-c", "echo inner text; exec cat"]);
    let attach = |session: &str| {
        let argv = server.tmux.attach_argv(session);
        argv.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>()
    };
    let mut plan = outer.plan("person", &["sleep", "60"]);
    (plan.width, plan.height) = (80, 24);
    let Ensured::Made { pane: window, .. } = outer.tmux.ensure_session(&plan).unwrap() else { panic!("it is new") };
    outer.tmux.respawn(&window, &attach("pf-a"), outer.dir()).unwrap();
    assert_eq!(outer.ended(&window).status, Some(1), "there is no such session");
    assert!(!server.tmux.is_watched().unwrap());
    outer.tmux.respawn(&window, &attach("pf-a-b"), outer.dir()).unwrap();
    outer.shows(&window, "inner text");
    assert!(server.tmux.is_watched().unwrap());
    assert_eq!(server.of(&pane, "#{window_width}"), "80");
    let second = server.split(&pane, &["sleep", "60"]);
    server.tmux.layout(&[pane.clone(), second.clone()]).unwrap();
    assert_eq!(server.of(&pane, "#{window_width}"), "80", "whoever looks keeps their size");
    outer.tmux.close(&window).unwrap();
    wait_until("the person is gone", || server.of(&pane, "#{session_attached}") == "0");
    assert!(!server.tmux.is_watched().unwrap());
    server.tmux.layout(&[pane.clone(), second]).unwrap();
    assert_eq!(server.of(&pane, "#{window_width}x#{window_height} #{pane_height}"), "200x50 10");
}
