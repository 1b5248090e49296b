//! Panes and the programs in them: started word for word, typed into, watched to their end, and arranged.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use pairflow_engine::tmux::{PaneId, TmuxError};
use pairflow_testkit::wait::wait_until;

use crate::support::{Server, words};

/// Words that shells, tmux and its formats would each like to change.
const HOSTILE: [&str; 14] = [
    "two words",
    "'single' \"double\"",
    "#{pane_id} #S #(touch hacked) ##",
    "semi;",
    ";",
    r"back\;",
    "$HOME `touch hacked` $(touch hacked)",
    "*",
    "",
    "-t",
    "%H%M",
    "line\nfeed",
    r"\033[31m",
    "ünï → ✓",
];

#[test]
fn words_arrive_unharmed_however_a_program_is_started() {
    let server = Server::new();
    let spell = |file: &str| {
        let mut argv = vec!["sh", "-c", r#"file=$1; shift; printf '[%s]' "$@" > "$file"; exec cat"#, "sh", file];
        argv.extend(HOSTILE);
        words(&argv)
    };
    let expected: String = HOSTILE.iter().map(|word| format!("[{word}]")).collect();
    let mut plan = server.plan("pf-a", &[]);
    plan.argv = spell("made");
    server.tmux.ensure_session(&plan).unwrap();
    server.holds("made", expected.as_bytes());
    let first = server.tmux.panes().unwrap().remove(0).id;
    let second = server.tmux.split(&first, &spell("split"), server.dir()).unwrap();
    server.holds("split", expected.as_bytes());
    server.tmux.respawn(&second, &spell("respawned"), server.dir()).unwrap();
    server.holds("respawned", expected.as_bytes());
    assert!(!server.path("hacked").exists());
}

#[test]
fn a_program_of_a_single_word_is_no_line_for_a_shell() {
    let server = Server::with_config("set -g default-shell /bin/false");
    let program = server.path("odd $(touch hacked); name");
    // A link and not a copy: a file that was just written is "busy" to the kernel while another test starts a program.
    symlink("/bin/sleep", &program).unwrap();
    let pane = server.open("pf-a", &["sleep", "60"]);
    let odd = server.tmux.split(&pane, &[program.to_str().unwrap().to_owned()], server.dir()).unwrap();
    // Without a time to sleep it complains in its own name; tmux has scrolled the first line away to say that it is dead.
    assert_eq!(server.ended(&odd).status, Some(1));
    let seen = server.tmux.capture(&odd).unwrap();
    assert!(seen.contains("odd $(touch hacked); name --help"), "{seen}");
    assert!(!server.path("hacked").exists());
}

#[test]
fn a_program_starts_in_its_directory_whatever_that_is_called() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sleep", "60"]);
    let odd = server.path("#{pane_id} #[x] ##(y) %d 'q'");
    fs::create_dir(&odd).unwrap();
    let note = |file: &str| words(&["sh", "-c", r#"pwd -P > "$0"; exec cat"#, file]);
    let second = server.tmux.split(&pane, &note("here"), &odd).unwrap();
    let expected = format!("{}\n", fs::canonicalize(&odd).unwrap().display());
    wait_until("the first one notes it", || fs::read_to_string(odd.join("here")).is_ok_and(|text| text == expected));
    server.tmux.respawn(&second, &note("back"), server.dir()).unwrap();
    server.holds("back", format!("{}\n", fs::canonicalize(server.dir()).unwrap().display()).as_bytes());
    let gone = server.tmux.split(&pane, &note("x"), &server.path("nowhere"));
    assert!(matches!(gone, Err(TmuxError::Io { .. })), "{gone:?}");
}

#[test]
fn how_a_program_ended_is_known_and_its_pane_takes_another() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sh", "-c", "exit 0"]);
    let by_code = server.split(&pane, &["sh", "-c", "exit 7"]);
    let by_signal = server.split(&pane, &["sh", "-c", "kill -9 $$"]);
    let end = |pane: &PaneId| {
        let pane = server.ended(pane);
        (pane.dead, pane.status, pane.signal)
    };
    assert_eq!(end(&pane), (true, Some(0), None));
    assert_eq!(end(&by_code), (true, Some(7), None));
    assert_eq!(end(&by_signal), (true, None, Some(9)));
    server.tmux.tag(&by_code, "codex").unwrap();
    server.tmux.respawn(&by_code, &words(&["sh", "-c", "echo again; exec cat"]), server.dir()).unwrap();
    server.shows(&by_code, "again");
    let again = server.pane(&by_code);
    assert_eq!((again.dead, again.status, again.signal, again.tag.as_deref()), (false, None, None, Some("codex")));
}

#[test]
fn the_end_of_a_short_program_is_never_missed() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sleep", "60"]);
    for _ in 0..40 {
        let short = server.split(&pane, &["sh", "-c", "exit 3"]);
        assert_eq!(server.ended(&short).status, Some(3));
        server.tmux.close(&short).unwrap();
    }
}

#[test]
fn a_living_program_is_hung_up_on_by_the_next() {
    let server = Server::new();
    let pane =
        server.open("pf-a", &["sh", "-c", "trap 'echo hung up > end; exit' HUP; echo set; while :; do read x; done"]);
    server.shows(&pane, "set");
    let before = server.pane(&pane).pid;
    server.tmux.respawn(&pane, &words(&["sleep", "60"]), server.dir()).unwrap();
    server.holds("end", b"hung up\n");
    assert_ne!(server.pane(&pane).pid, before);
}

#[test]
fn a_pane_that_a_person_closed_is_gone_and_can_be_made_again() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sleep", "60"]);
    let closed = server.split(&pane, &["sleep", "60"]);
    server.person(&["kill-pane", "-t", closed.as_str()]).unwrap();
    assert!(server.tmux.panes().unwrap().into_iter().map(|one| one.id).eq([pane.clone()]));
    let gone = |result: Result<(), TmuxError>| matches!(result, Err(TmuxError::NoPane { pane }) if pane == closed);
    assert!(gone(server.tmux.paste(&closed, "text")));
    assert!(gone(server.tmux.enter(&closed)));
    assert!(gone(server.tmux.capture(&closed).map(drop)));
    assert!(gone(server.tmux.tag(&closed, "codex")));
    assert!(gone(server.tmux.close(&closed)));
    assert!(gone(server.tmux.pipe(&closed, None)));
    assert!(gone(server.tmux.split(&closed, &words(&["sleep", "60"]), server.dir()).map(drop)));
    assert!(gone(server.tmux.respawn(&closed, &words(&["sleep", "60"]), server.dir())));
    assert_eq!(server.person(&["list-buffers"]).as_deref(), Some(""), "no text is left behind");
    assert_ne!(server.split(&pane, &["sleep", "60"]), closed);
}

#[test]
fn titles_are_anybodys_text_and_change_nothing() {
    let server = Server::new();
    let title = "a:b %9:1:0 #{pane_id} #(touch hacked) ; \"x\" → ✓";
    let line = r#"printf '\033]2;%s\033\\' "$0"; echo set; exec cat"#;
    let pane = server.open("pf-a", &["sh", "-c", line, title]);
    server.shows(&pane, "set");
    assert_eq!(server.pane(&pane).title, title);
    let long = server.split(&pane, &["sh", "-c", line, &"x".repeat(700)]);
    server.shows(&long, "set");
    assert_eq!(server.pane(&long).title.len(), 200);
    let broken = server.split(&pane, &["sh", "-c", line, "one\ntwo\t\u{7}\u{1b}[31mthree"]);
    server.shows(&broken, "set");
    assert_eq!(server.tmux.panes().unwrap().len(), 3);
    assert!(!server.path("hacked").exists());
}

#[test]
fn tags_tell_panes_apart_and_strange_ones_do_not_count() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sleep", "60"]);
    let other = server.split(&pane, &["sleep", "60"]);
    server.tmux.tag(&other, "seat.codex-1_x").unwrap();
    let above = |pane: &PaneId| server.of(pane, "#{pane-border-status}: #{T:pane-border-format}");
    assert_eq!((above(&pane).trim_end(), above(&other).trim_end()), ("top:", "top:  seat.codex-1_x"));
    server.tmux.tag(&pane, "pairflow.view").unwrap();
    assert_eq!(above(&pane).trim_end(), "top:  pairflow");
    server.person(&["set-option", "-pu", "-t", pane.as_str(), "@pairflow"]).unwrap();
    assert_eq!((server.pane(&pane).tag, server.pane(&other).tag), (None, Some("seat.codex-1_x".into())));
    server.person(&["set-option", "-p", "-t", pane.as_str(), "@pairflow", "a:b\n%7:1"]).unwrap();
    assert_eq!((server.pane(&pane).tag, server.pane(&other).tag), (None, Some("seat.codex-1_x".into())));
    for text in ["", "a b", "a:b", "a\n", "#{x}", &"x".repeat(65)] {
        assert!(matches!(server.tmux.tag(&pane, text), Err(TmuxError::Refused { .. })), "{text:?}");
    }
}

/// Returns where each pane lies: its left and upper edge, and its size.
fn places(server: &Server, panes: &[PaneId]) -> Vec<String> {
    let place = |pane: &PaneId| server.of(pane, "#{pane_left},#{pane_top} #{pane_width}x#{pane_height}");
    panes.iter().map(place).collect()
}

#[test]
fn the_first_pane_lies_on_top_and_the_others_side_by_side() {
    let server = Server::with_config("setw -g pane-base-index 1");
    let top = server.open("pf-a", &["sleep", "60"]);
    let mut panes = vec![top.clone()];
    panes.push(server.split(&top, &["sleep", "60"]));
    panes.push(server.split(&top, &["sleep", "60"]));
    server.tmux.layout(&panes).unwrap();
    assert_eq!(places(&server, &panes), ["0,1 200x10", "0,12 99x38", "100,12 100x38"]);
    panes.push(server.split(&top, &["sleep", "60"]));
    server.tmux.layout(&panes).unwrap();
    assert_eq!(places(&server, &panes), ["0,1 200x10", "0,12 66x38", "67,12 66x38", "134,12 66x38"]);
    // The status pane is made again, from whichever pane is left.
    server.tmux.close(&panes[0]).unwrap();
    panes[0] = server.split(&panes[2], &["sleep", "60"]);
    server.tmux.layout(&panes).unwrap();
    assert_eq!(places(&server, &panes), ["0,1 200x10", "0,12 66x38", "67,12 66x38", "134,12 66x38"]);
    server.tmux.layout(&[]).unwrap();
}

#[test]
fn a_pane_that_a_person_zoomed_stays_so() {
    let server = Server::new();
    let top = server.open("pf-a", &["sleep", "60"]);
    let agent = server.split(&top, &["sleep", "60"]);
    server.person(&["select-pane", "-t", agent.as_str()]).unwrap();
    server.person(&["resize-pane", "-Z", "-t", agent.as_str()]).unwrap();
    let third = server.split(&top, &["sleep", "60"]);
    assert_eq!(server.of(&agent, "#{window_zoomed_flag}#{pane_active}"), "11");
    server.tmux.layout(&[third.clone(), agent.clone(), top.clone()]).unwrap();
    assert_eq!(server.of(&agent, "#{window_zoomed_flag}#{pane_active} #{pane_height}"), "11 49");
    server.person(&["resize-pane", "-Z", "-t", agent.as_str()]).unwrap();
    assert_eq!(places(&server, &[third, agent, top]), ["0,1 200x10", "0,12 99x38", "100,12 100x38"]);
}

#[test]
fn the_top_keeps_its_lines_on_a_screen_of_another_size() {
    let server = Server::new();
    let top = server.open("pf-a", &["sleep", "60"]);
    let agent = server.split(&top, &["sleep", "60"]);
    server.tmux.layout(&[top.clone(), agent.clone()]).unwrap();
    for (size, height) in [(["80", "24"], "8"), (["60", "15"], "7"), (["200", "60"], "10")] {
        server.person(&["resize-window", "-t", top.as_str(), "-x", size[0], "-y", size[1]]).unwrap();
        wait_until("the new layout", || server.of(&top, "#{pane_height}") == height);
    }
    server.person(&["resize-pane", "-Z", "-t", agent.as_str()]).unwrap();
    server.person(&["resize-window", "-t", top.as_str(), "-x", "80", "-y", "24"]).unwrap();
    assert_eq!(server.of(&agent, "#{window_zoomed_flag} #{pane_height}"), "1 23", "what a person zoomed stays so");
}

#[test]
fn a_window_left_small_has_room_again_for_more() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sleep", "60"]);
    server.person(&["resize-window", "-t", pane.as_str(), "-x", "12", "-y", "2"]).unwrap();
    let second = server.split(&pane, &["sleep", "60"]);
    server.tmux.layout(&[pane.clone(), second]).unwrap();
    assert_eq!(server.of(&pane, "#{window_width}x#{window_height}"), "200x50");
    assert_eq!(server.person(&["show-options", "-wv", "-t", pane.as_str(), "window-size"]).as_deref(), Some("latest"));
}

#[test]
fn a_paste_is_bracketed_and_enter_is_a_key_of_its_own() {
    let server = Server::new();
    let pane = server.open_reader("pf-a");
    let text = "[pairflow 7] Round 2: read '/tmp/a b/brief.md'; #{pane_id} $HOME %d \\n → ✓";
    server.tmux.paste(&pane, text).unwrap();
    let pasted = format!("\u{1b}[200~{text}\u{1b}[201~");
    server.holds("out", pasted.as_bytes());
    server.tmux.enter(&pane).unwrap();
    server.holds("out", format!("{pasted}\r").as_bytes());
    assert_eq!(server.person(&["list-buffers"]).as_deref(), Some(""));
}

#[test]
fn input_reaches_the_program_under_a_mode_and_leaves_the_mode_alone() {
    for keys in ["vi", "emacs"] {
        let server = Server::with_config(&format!("setw -g mode-keys {keys}\nset -g mouse on"));
        let pane = server.open_reader("pf-a");
        server.person(&["copy-mode", "-t", pane.as_str()]).unwrap();
        server.person(&["send-keys", "-X", "-t", pane.as_str(), "cursor-up"]).unwrap();
        let before = server.of(&pane, "#{pane_mode} #{copy_cursor_x},#{copy_cursor_y} #{scroll_position}");
        assert!(before.starts_with("copy-mode ") && server.pane(&pane).mode);
        server.tmux.paste(&pane, "a notice").unwrap();
        server.tmux.enter(&pane).unwrap();
        // tmux puts no brackets around a paste while a mode is on.
        server.holds("out", b"a notice\r");
        assert_eq!(server.of(&pane, "#{pane_mode} #{copy_cursor_x},#{copy_cursor_y} #{scroll_position}"), before);
        server.person(&["choose-tree", "-t", pane.as_str()]).unwrap();
        server.tmux.enter(&pane).unwrap();
        server.holds("out", b"a notice\r\r");
        assert_eq!(server.of(&pane, "#{pane_mode}"), "tree-mode");
    }
}

#[test]
fn texts_that_could_do_more_than_be_read_are_refused() {
    let server = Server::new();
    let pane = server.open_reader("pf-a");
    let long = "x".repeat(4097);
    for text in ["", "a\nb", "a\r", "\u{1b}[201~", "a\tb", "\u{9b}2J", "\u{7f}", "a\u{2028}b", "\0", long.as_str()] {
        assert!(matches!(server.tmux.paste(&pane, text), Err(TmuxError::Refused { .. })), "{text:?}");
    }
    server.tmux.paste(&pane, &long[1..]).unwrap();
    server.holds("out", format!("\u{1b}[200~{}\u{1b}[201~", &long[1..]).as_bytes());
}

#[test]
fn a_pane_in_which_nobody_reads_says_so_and_the_server_lives() {
    let server = Server::new();
    let pane = server.open_reader("pf-a");
    let dead = server.split(&pane, &["sh", "-c", "exit 0"]);
    server.ended(&dead);
    assert!(matches!(server.tmux.paste(&dead, "text"), Err(TmuxError::Deaf { pane }) if pane == dead));
    assert!(matches!(server.tmux.enter(&dead), Err(TmuxError::Deaf { .. })));
    server.person(&["select-pane", "-d", "-t", pane.as_str()]).unwrap();
    assert!(matches!(server.tmux.paste(&pane, "text"), Err(TmuxError::Deaf { .. })));
    server.person(&["select-pane", "-e", "-t", pane.as_str()]).unwrap();
    server.tmux.enter(&pane).unwrap();
    server.holds("out", b"\r");
    assert_eq!(server.person(&["list-buffers"]).as_deref(), Some(""));
}

#[test]
fn programs_that_end_while_they_are_written_to_do_not_take_the_server_along() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sleep", "60"]);
    let pid = server.of(&pane, "#{pid}");
    for _ in 0..20 {
        let short = server.split(&pane, &["sh", "-c", "read x"]);
        for _ in 0..3 {
            match server.tmux.enter(&short) {
                Ok(()) | Err(TmuxError::Deaf { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        server.tmux.close(&short).unwrap();
    }
    assert_eq!(server.of(&pane, "#{pid}"), pid);
}

#[test]
fn many_texts_at_once_are_not_mixed() {
    let server = Server::new();
    let pane = server.open_reader("pf-a");
    std::thread::scope(|scope| {
        for writer in ["a", "b", "c"] {
            let (tmux, pane) = (&server.tmux, &pane);
            scope.spawn(move || {
                (0..20).for_each(|n| tmux.paste(pane, &format!("{writer}{n} {}", writer.repeat(500))).unwrap())
            });
        }
    });
    let complete = |text: &str| text.matches("\u{1b}[201~").count() == 60;
    wait_until("all is read", || complete(&fs::read_to_string(server.path("out")).unwrap()));
    let out = fs::read_to_string(server.path("out")).unwrap();
    let mut seen: Vec<&str> =
        out.split("\u{1b}[200~").skip(1).map(|one| one.strip_suffix("\u{1b}[201~").unwrap()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 60);
    assert!(seen.iter().all(|one| one.split_once(' ').unwrap().1 == one[..1].repeat(500)));
}

#[test]
fn a_screen_is_read_as_text_with_wrapped_lines_joined() {
    let server = Server::new();
    let line = r#"printf '\033[31mred\033[0m %0300d\n\nlast\n' 7; exec cat"#;
    let pane = server.open("pf-a", &["sh", "-c", line]);
    server.shows(&pane, "last");
    assert_eq!(server.tmux.capture(&pane).unwrap(), format!("red {:0300}\n\nlast", 7));
}

#[test]
fn a_pane_shows_the_cursor_unless_its_program_hides_it() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sh", "-c", r"printf 'shown\n'; read _; printf '\033[?25lhidden\n'; exec cat"]);
    server.shows(&pane, "shown");
    assert!(server.tmux.shows_cursor(&pane).unwrap());
    server.tmux.enter(&pane).unwrap();
    server.shows(&pane, "hidden");
    assert!(!server.tmux.shows_cursor(&pane).unwrap());
}

#[test]
fn of_a_megabyte_only_what_is_visible_is_read() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo end; exec cat"]);
    server.shows(&pane, "end");
    let seen = server.tmux.capture(&pane).unwrap();
    assert!((5_000..=200 * 50).contains(&seen.len()), "{}", seen.len());
    assert!(seen.ends_with("x\nend"));
    let lines = server.split(&pane, &["sh", "-c", "seq 100000; echo end; exec cat"]);
    server.shows(&lines, "end");
    let seen = server.tmux.capture(&lines).unwrap();
    assert!(seen.ends_with("\n99999\n100000\nend"), "{seen}");
    assert!((10..50).contains(&seen.lines().count()), "what has scrolled away is not there any more: {seen}");
}

#[test]
fn output_is_copied_into_a_file_until_told_otherwise() {
    let server = Server::new();
    let pane = server.open("pf-a", &["cat"]);
    let file = server.path("#{pane_id} #(touch hacked) %d 'q' \"$(touch hacked)\" ünï\n");
    fs::write(&file, "earlier").unwrap();
    server.tmux.pipe(&pane, Some(&file)).unwrap();
    server.tmux.paste(&pane, "copied").unwrap();
    server.tmux.enter(&pane).unwrap();
    wait_until("it is copied", || fs::read_to_string(&file).is_ok_and(|text| text == "copied\r\ncopied\r\n"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    server.tmux.pipe(&pane, None).unwrap();
    server.tmux.paste(&pane, "not copied").unwrap();
    server.tmux.enter(&pane).unwrap();
    server.shows(&pane, "not copied\nnot copied");
    assert_eq!(fs::read_to_string(&file).unwrap(), "copied\r\ncopied\r\n");
    assert!(!server.path("hacked").exists());
}

#[test]
fn a_copy_of_endless_output_has_an_end() {
    let server = Server::new();
    let pane = server.open("pf-a", &["sh", "-c", "read x; exec head -c 12000000 /dev/zero | tr '\\0' x"]);
    let file = server.path("copy");
    server.tmux.pipe(&pane, Some(&file)).unwrap();
    server.tmux.enter(&pane).unwrap();
    assert_eq!(server.ended(&pane).status, Some(0));
    wait_until("the copy is full", || fs::metadata(&file).unwrap().len() == 8 * 1024 * 1024);
    server.tmux.respawn(&pane, &words(&["sh", "-c", "echo alive; exec cat"]), server.dir()).unwrap();
    server.shows(&pane, "alive");
    assert_eq!(fs::metadata(&file).unwrap().len(), 8 * 1024 * 1024);
}
