//! Sessions on a server of our own, without any configuration of the person: made once, found by their exact names, gone
//! when the server is gone.

use std::time::Duration;

use pairflow_engine::tmux::{Ensured, Tmux, TmuxError};
use pairflow_testkit::wait::wait_until;
use rustix::process::Signal;

use crate::support::{Server, words};

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

/// Makes a session under `config` and goes through everything that is relied on; says why there is no configuration.
#[track_caller]
fn works(config: &str) -> Option<String> {
    let server = Server::with_config(config);
    let plan = server.plan("pf-a", &["sh", "-c", "echo first; exec cat"]);
    let hasty = server.tmux.clone().with_patience(Duration::from_secs(10));
    let Ensured::Made { pane, without_config } = hasty.ensure_session(&plan).unwrap() else { panic!("it is new") };
    server.shows(&pane, "first");
    let listed = server.tmux.panes().unwrap();
    assert_eq!(listed.len(), 1, "under {config:?}: {listed:?}");
    assert_eq!((listed[0].session.as_str(), listed[0].mode), ("pf-a", false), "under {config:?}");
    assert_eq!(server.of(&pane, "#{window_width}x#{window_height}"), "200x50", "under {config:?}");

    let second = server.split(&pane, &["sh", "-c", "echo second; exec cat"]);
    let third = server.split(&pane, &["sh", "-c", "exit 3"]);
    server.tmux.layout(&[pane.clone(), second.clone(), third.clone()]).unwrap();
    assert_eq!(server.ended(&third).status, Some(3), "under {config:?}");
    server.tmux.respawn(&third, &["sh", "-c", "echo third; exec cat"].map(String::from), server.dir()).unwrap();
    server.shows(&third, "third");
    server.tmux.paste(&second, "only here").unwrap();
    server.tmux.enter(&second).unwrap();
    server.shows(&second, "only here\nonly here");
    for other in [&pane, &third] {
        assert!(!server.tmux.capture(other).unwrap().contains("only here"), "under {config:?}");
    }
    server.tmux.close(&third).unwrap();
    assert_eq!(server.tmux.panes().unwrap().len(), 2, "under {config:?}");
    without_config
}

#[test]
fn indexes_may_begin_anywhere() {
    assert_eq!(works("set -g base-index 1\nsetw -g pane-base-index 1\nset -g renumber-windows on"), None);
    assert_eq!(works("set -g base-index 100\nsetw -g pane-base-index 7"), None);
}

#[test]
fn options_against_us_are_overruled() {
    let config = "set -g destroy-unattached on\nset -s exit-unattached on\nset -s exit-empty on\n\
                  setw -g remain-on-exit off\nset -g detach-on-destroy off\nset -g default-size 20x5\n\
                  setw -g window-size smallest\nsetw -g synchronize-panes on\nset -g history-limit 0";
    assert_eq!(works(config), None);
}

#[test]
fn shells_of_the_configuration_are_not_used() {
    assert_eq!(works("set -g default-command 'false'\nset -g default-shell /bin/false"), None);
    assert_eq!(works("set -g default-command 'exec /nonexistent'\nset -g default-shell /bin/true"), None);
}

#[test]
fn tastes_do_not_matter() {
    let config = "set -g prefix C-a\nset -g mouse on\nsetw -g mode-keys vi\nset -g status-keys vi\n\
                  set -g status off\nsetw -g pane-border-status top\nsetw -g main-pane-height 40\n\
                  setw -g other-pane-height 30\nset -g set-titles on\nset -g default-terminal screen\n\
                  setw -g aggressive-resize on\nset -g focus-events on\nset -s escape-time 0";
    assert_eq!(works(config), None);
}

#[test]
fn hooks_are_taken_off() {
    let config = "set-hook -g after-new-session 'new-window'\nset-hook -g session-created 'kill-server'\n\
                  set-hook -g after-split-window 'kill-pane'\nset-hook -g pane-died 'kill-pane'\n\
                  set-hook -g pane-exited 'kill-session'\nset-hook -gw window-layout-changed 'kill-window'\n\
                  set-hook -ga after-new-session 'split-window'\nset-hook -g after-select-layout 'select-layout tiled'";
    assert_eq!(works(config), None);
    let ours = "set-hook -g after-show-hooks 'kill-server'\nset-hook -g after-set-option 'kill-server'\n\
                set-hook -g after-set-hook 'kill-server'\nset-hook -g after-list-panes 'kill-server'";
    assert_eq!(works(ours), None);
}

#[test]
fn sessions_of_the_configuration_are_closed() {
    assert_eq!(works("new-session -d -s mine\nnew-session -d -s pf\nnew-window -t mine"), None);
}

#[test]
fn a_configuration_with_faults_neither_hinders_nor_covers_the_first_pane() {
    assert_eq!(works("no-such-command\nset -g no-such-option 1\nset -g mouse perhaps"), None);
    assert_eq!(works("bind {{{ '"), None);
}

#[test]
fn without_a_usable_session_the_configuration_is_left_out_and_that_is_said() {
    for config in ["kill-server", "set -s command-alias[90] new-session='kill-session'"] {
        let why = works(config).unwrap_or_else(|| panic!("{config:?} was survived"));
        assert!(why.starts_with("tmux was started without your configuration, because with it:"), "{why}");
    }
}

#[test]
fn a_configuration_that_never_ends_is_left_out_and_its_server_is_gone() {
    // The loop ends with the home of the test.
    let config = "run-shell 'echo $PPID > $HOME/server; while test -d $HOME; do sleep 0.1; done'";
    let server = Server::with_config(config);
    let hasty = server.tmux.clone().with_patience(Duration::from_secs(3));
    let plan = server.plan("pf-a", &["sh", "-c", "echo first; exec cat"]);
    let Ensured::Made { pane, without_config } = hasty.ensure_session(&plan).unwrap() else { panic!("it is new") };
    assert!(without_config.unwrap().contains("did not end within 6000 ms"));
    server.shows(&pane, "first");
    let earlier = std::fs::read_to_string(server.path("server")).unwrap().trim().parse().unwrap();
    let (say, heard) = std::sync::mpsc::channel();
    pairflow_engine::process::when_gone(earlier, move || say.send(()).unwrap()).unwrap();
    heard.recv_timeout(Duration::from_secs(20)).expect("the first server is ended");
}

#[test]
fn a_plain_session_reads_no_configuration() {
    let server = Server::with_config("set -g @mine yes\nkill-server");
    let mut plan = server.plan("pf-a", &["sleep", "60"]);
    plan.plain = true;
    assert!(matches!(server.tmux.ensure_session(&plan).unwrap(), Ensured::Made { without_config: None, .. }));
    assert_eq!(server.person(&["show-options", "-gqv", "@mine"]).as_deref(), Some(""));
}

#[test]
fn keys_and_options_of_the_person_are_in_force() {
    let server = Server::with_config("set -g @mine yes\nset -g prefix C-x\nbind -n F5 select-pane -t :.+");
    server.open("pf-a", &["sleep", "60"]);
    assert_eq!(server.person(&["show-options", "-gv", "@mine"]).as_deref(), Some("yes"));
    assert_eq!(server.person(&["show-options", "-gv", "prefix"]).as_deref(), Some("C-x"));
    assert!(server.person(&["list-keys", "-T", "root"]).unwrap().contains("F5"));
}

#[test]
fn what_we_rely_on_stays_when_the_person_reads_their_configuration_again() {
    let server = Server::with_config("set -g destroy-unattached on\nsetw -g remain-on-exit off\nset -s exit-empty on");
    let pane = server.open("pf-a", &["sleep", "60"]);
    server.person(&["source-file", server.path(".tmux.conf").to_str().unwrap()]).unwrap();
    let ended = server.split(&pane, &["sh", "-c", "exit 4"]);
    assert_eq!(server.ended(&ended).status, Some(4));
    assert_eq!(server.tmux.panes().unwrap().len(), 2);
}
