//! What goes into a pane and what is seen of it: the fixed bytes and no others, also while a person reads back.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pairflow_engine::tmux::TmuxError;
use pairflow_testkit::wait::wait_until;

use crate::support::tmux::{Server, words};

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
