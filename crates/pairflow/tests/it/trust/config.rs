//! A repository's files cause nothing that the person has not agreed to, and a bubble under way is bound by its log.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use pairflow_testkit::home::{Home, Ran};
use pairflow_testkit::wait::wait_until;
use serde_json::{Value, json};

use crate::support::bubbles::{CHECK, home};
use crate::support::terminal::on_terminal;

/// The file that foreign commands would make.
fn canary(home: &Home) -> PathBuf {
    home.root().join("canary")
}

/// Commits a `pairflow.toml` whose setup command would leave a trace.
fn commands_in_the_repository(home: &Home) {
    let text = format!("[commands]\nsetup = \"touch {}\"\ntest = \"true\"\n", canary(home).display());
    home.commit("pairflow.toml", &text, "configuration");
}

/// The hash that a refusal prints.
#[track_caller]
fn hash_in(ran: &Ran) -> String {
    let next = ran.stderr.lines().find_map(|line| line.strip_prefix("next: ")).expect("the refusal names what goes on");
    let (_, after) = next.split_once("--trust=").unwrap_or_else(|| panic!("no hash in {next:?}"));
    after.split(' ').next().unwrap_or_default().to_owned()
}

fn bubbles(home: &Home) -> usize {
    home.pairflow(&["list", "--json"]).ok().json()["bubbles"].as_array().map_or(0, Vec::len)
}

/// The lines of a bubble's log.
fn lines(home: &Home, id: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(home.repo.join(format!(".pairflow/bubbles/{id}/transcript.ndjson"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn bubble_toml(home: &Home, id: &str) -> PathBuf {
    home.repo.join(format!(".pairflow/bubbles/{id}/bubble.toml"))
}

#[test]
fn commands_of_a_repository_do_not_run_before_they_are_trusted() {
    let home = home();
    commands_in_the_repository(&home);
    for call in [
        &["new", "do it"][..],
        &["new", "do it", "--yes"],
        &["new", "do it", "--test", "true"],
        &["create", "--id", "b1", "--task", "do it"],
        &["create", "--id", "b1", "--task", "do it", "--start", "--yes"],
        &["create", "--id", "b1", "--task", "do it", "--no-tests", "--manual-check", "look"],
    ] {
        let refused = home.pairflow(call).ends(1).says("pairflow.toml:2").says("touch").says("not trusted");
        assert_eq!(hash_in(&refused).len(), 32, "{refused:?}");
    }
    assert_eq!(bubbles(&home), 0, "nothing is made for what may not run");
    // What the person says takes the place of everything that the repository says.
    home.pairflow(&["new", "do it", "--test", "true", "--setup", "true"]).ok();
    assert!(!canary(&home).exists());
}

#[test]
fn a_hash_stands_for_exactly_the_commands_that_it_was_printed_for() {
    let home = home();
    commands_in_the_repository(&home);
    let hash = hash_in(&home.pairflow(&["new", "do it"]).ends(1));
    let wrong = format!("--trust={}", hash.replace(|c: char| c.is_ascii_digit(), "a"));
    let refused = home.pairflow(&["new", "do it", &wrong]).ends(1).says("have another hash than");
    assert_eq!(hash_in(&refused), hash);
    assert!(!canary(&home).exists());
    home.pairflow(&["new", "do it", "--id", "b1", &format!("--trust={hash}")]).ok();
    assert!(canary(&home).exists(), "what is trusted runs");
    assert_eq!(lines(&home, "b1")[0]["payload"]["confirmed"], "trusted");
    // It is asked once, for all bubbles of this repository.
    home.pairflow(&["new", "do it again", "--id", "b2"]).ok();
    // A changed command is another one, and the old hash does not stand for it.
    home.commit("pairflow.toml", "[commands]\ntest = \"true; true\"\n", "another command");
    home.pairflow(&["new", "once more"]).ends(1).says("- test     true").says("+ test     true; true").says("- setup");
    home.pairflow(&["new", "once more", &format!("--trust={hash}")]).ends(1).says("have another hash than");
}

#[test]
fn a_repository_does_not_say_what_is_the_persons() {
    let home = home();
    let canary = canary(&home);
    let own = [
        format!("[agent.codex]\ncommand = [\"/bin/sh\", \"-c\", \"touch {}\"]\n", canary.display()),
        "[agent.codex]\nenv = [\"AWS_SECRET_ACCESS_KEY\"]\n".to_owned(),
        "\n[notifications]\nwebhook = \"http://127.0.0.1:9/s3cret\"\n".to_owned(),
        "\n[notifications]\nwaiting_human_sound = \"/dev/zero\"\n".to_owned(),
        format!("open_command = \"touch {}\"\n", canary.display()),
        "permissions = \"all\"\n".to_owned(),
        "driver = \"script\"\nscript = \"agents.yaml\"\n".to_owned(),
        "no_tests = true\nmanual_checks = [\"look\"]\n".to_owned(),
        "check_env = [\"AWS_SECRET_ACCESS_KEY\"]\n".to_owned(),
    ];
    for text in own {
        std::fs::write(home.repo.join("pairflow.toml"), &text).unwrap();
        for call in
            [&["new", "do it", "--test", "true"][..], &["create", "--id", "b1", "--task", "x", "--test", "true"]]
        {
            let refused = home.pairflow(call).ends(2).says("pairflow.toml:").says("yours to set");
            assert!(refused.stderr.contains(".config/pairflow/config.toml"), "{refused:?}");
            assert!(!refused.stderr.contains("s3cret"), "{refused:?}");
        }
    }
    std::fs::remove_file(home.repo.join("pairflow.toml")).unwrap();
    assert_eq!(bubbles(&home), 0);
    assert!(!canary.exists());
}

#[test]
fn a_pairflow_toml_that_is_a_link_is_neither_read_nor_written_through() {
    let home = home();
    let outside = home.root().join("outside.toml");
    std::fs::write(&outside, "base_branch = \"s3cret\"\n").unwrap();
    let link = home.repo.join("pairflow.toml");
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    for call in [&["new", "do it", "--test", "true"][..], &["init", "--yes"], &["trust"], &["config", "explain"]] {
        let refused = home.pairflow(call).ends(3).says("pairflow.toml is a symbolic link");
        assert!(!refused.stderr.contains("s3cret"), "{refused:?}");
    }
    home.pairflow(&["init", "--yes", "--force"]).ok();
    assert!(!link.is_symlink());
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "base_branch = \"s3cret\"\n");
}

#[test]
fn a_command_that_arrives_between_create_and_start_is_asked_about() {
    let home = home();
    home.pairflow(&["create", "--id", "b1", "--task", "do it", "--test", "true"]).ok();
    commands_in_the_repository(&home);
    let refused = home.pairflow(&["start", "b1"]).ends(1).says("not trusted").says("touch");
    assert_eq!(home.status("b1")["state"], "CREATED");
    assert!(!canary(&home).exists());
    home.pairflow(&["start", "b1", &format!("--trust={}", hash_in(&refused))]).ok();
    assert!(canary(&home).exists());
}

#[test]
fn a_person_is_asked_once_and_again_when_a_command_changes() {
    let home = home();
    home.commit("Makefile", "lint:\n\ttrue\n", "checks");
    commands_in_the_repository(&home);
    let question = "Trust these commands in";
    let (code, shown) = on_terminal(home.command(&["new", "one", "--id", "b1"]), &[(question, "n\n")]);
    assert_eq!(code, 1, "{shown}");
    assert!(!canary(&home).exists());
    let (code, shown) = on_terminal(home.command(&["new", "one", "--id", "b1"]), &[(question, "y\n")]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("pairflow.toml:2, once in each new worktree"), "{shown}");
    assert!(canary(&home).exists());
    let (code, shown) = on_terminal(home.command(&["new", "two", "--id", "b2"]), &[]);
    assert_eq!((code, shown.contains("[y/N]")), (0, false), "{shown}");
    home.commit(
        "pairflow.toml",
        "[commands]\ntest = \"true && \u{1b}[2Jcurl x\"\n".replace('\u{1b}', "\\u001b").as_str(),
        "x",
    );
    let (code, shown) = on_terminal(home.command(&["trust"]), &[(question, "y\n")]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("Changed since you trusted") && shown.contains("^[[2Jcurl x"), "{shown}");
}

#[test]
fn only_commands_that_would_run_are_asked_about_and_trusted() {
    let home = home();
    home.commit("pairflow.toml", "[commands]\nsetup = \"true\"\ntest = \"false # theirs\"\n", "configuration");
    let mine = ["new", "do it", "--id", "b1", "--test", "true # mine"];
    let refused = home.pairflow(&mine).ends(1).says("true # mine").says("your --test");
    assert!(!refused.stderr.contains("# theirs"), "{refused:?}");
    let hash = hash_in(&refused);
    home.pairflow(&[&mine[..], &[&format!("--trust={hash}")]].concat()).ok();
    // What was not shown is not trusted.
    assert_eq!(home.pairflow(&["trust", "--json"]).ok().json()["trusted"], false);
    let refused = home.pairflow(&["new", "do it", "--id", "b2"]).ends(1).says("+ test     false # theirs");
    assert_ne!(hash_in(&refused), hash);
    home.pairflow(&["new", "do it", "--id", "b2", "--test", "true"]).ok();
    home.pairflow(&["new", "do it", "--id", "b3", &format!("--trust={}", hash_in(&refused))]).ok();
    home.pairflow(&["new", "do it", "--id", "b4", "--test", "true"]).ok();
    assert_eq!(home.pairflow(&["trust", "--json"]).ok().json()["trusted"], true);
}

#[test]
fn a_no_names_what_was_not_done_and_the_next_step() {
    let home = home();
    commands_in_the_repository(&home);
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", "true", "--setup", "true"]).ok();
    home.pairflow(&["config", "set", "b1", "commands.setup="]).ok();
    for (call, undone, next) in [
        (&["new", "do it"][..], "no bubble was created", "pairflow new 'do it' --setup 'COMMAND' --test 'COMMAND'"),
        (&["start", "b1"], "bubble b1 was not started", "pairflow config set b1 commands.setup='COMMAND'"),
        (&["trust"], "the commands are not trusted", "pairflow trust"),
        (&["init"], "the commands are not trusted", "pairflow init"),
    ] {
        let (code, shown) = on_terminal(home.command(call), &[("Trust these commands in", "n\n")]);
        assert_eq!(code, 1, "{shown}");
        assert!(shown.contains(undone) && shown.contains(&format!("next: {next}")), "{call:?}: {shown}");
    }
    assert!(!canary(&home).exists());
}

#[test]
fn init_shows_the_same_screen_and_its_answer_is_the_only_one() {
    let home = home();
    home.commit("Makefile", "test:\n\ttrue\n", "checks");
    let screen = "pairflow would run them on this machine, as you:";
    let (code, shown) = on_terminal(home.command(&["init"]), &[("and trust them? [y/N]", "n\n")]);
    assert_eq!((code, shown.contains(screen)), (1, true), "{shown}");
    assert!(!home.repo.join("pairflow.toml").exists());
    let (code, shown) = on_terminal(home.command(&["init"]), &[("and trust them? [y/N]", "y\n")]);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("make test") && shown.contains("detected: Makefile target"), "{shown}");
    let (code, shown) = on_terminal(home.command(&["new", "do it"]), &[]);
    assert_eq!((code, shown.contains("[y/N]")), (0, false), "{shown}");
}

#[test]
fn a_moved_repository_is_asked_about_with_the_place_where_it_was_trusted() {
    let home = home();
    commands_in_the_repository(&home);
    let hash = hash_in(&home.pairflow(&["trust"]).ends(1));
    home.pairflow(&["trust", &format!("--trust={hash}")]).ok();
    let moved = home.repo.with_file_name("moved");
    std::fs::rename(&home.repo, &moved).unwrap();
    home.pairflow_in(&moved, &["new", "do it"])
        .ends(1)
        .says(&format!("You trusted the same commands in {}", home.repo.display()))
        .says("was the repository moved?")
        .says("not trusted");
    assert!(!canary(&home).exists());
}

#[test]
fn trust_is_given_listed_and_withdrawn() {
    let home = home();
    home.pairflow(&["trust"]).ok().says("there is nothing to trust");
    commands_in_the_repository(&home);
    let before = home.pairflow(&["trust", "--json"]).ok().json();
    assert_eq!((&before["trusted"], &before["commands"][1]["command"]), (&json!(false), &json!("true")));
    let hash = before["hash"].as_str().unwrap().to_owned();
    home.pairflow(&["trust"]).ends(1).says(&format!("--trust={hash}"));
    home.pairflow(&["trust", &format!("--trust={hash}")]).ok().says("trusted");
    assert_eq!(home.pairflow(&["trust", "--json"]).ok().json()["trusted"], true);
    home.pairflow(&["trust", "--list"]).ok().says(&hash).says("work/repo");
    home.pairflow(&["init"]).ends(1).says("already exists");
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--setup", "true", "--test", "true"]).ok();
    let forgotten = home.pairflow(&["trust", "--forget", "--json"]).ok().json();
    assert_eq!((&forgotten["schema"], &forgotten["forgotten"]), (&json!("pairflow.forgotten/1"), &json!(true)));
    assert_eq!(home.pairflow(&["trust", "--forget", "--json"]).ok().json()["forgotten"], false);
    assert_eq!(home.pairflow(&["trust", "--list", "--json"]).ok().json()["repositories"], json!({}));
    home.pairflow(&["new", "do it"]).ends(1).says("not trusted");
    home.pairflow(&["init"]).ends(1).says("not trusted");
    home.pairflow(&["init", &format!("--trust={hash}")]).ok();
    home.pairflow(&["new", "do it"]).ok();
}

#[test]
fn what_is_wrong_with_the_record_of_trust_only_asks_again() {
    let home = home();
    commands_in_the_repository(&home);
    let hash = hash_in(&home.pairflow(&["trust"]).ends(1));
    let trust = format!("--trust={hash}");
    home.pairflow(&["trust", &trust]).ok();
    let file = home.root().join("state/pairflow/trust.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let good = std::fs::read_to_string(&file).unwrap();
    let damaged = [
        &good[..good.len() / 2],
        "",
        "[]",
        "{\"version\": 9}",
        &good.replace("\"test\": \"true\"", "\"test\": \"evil\""),
    ];
    for text in damaged {
        std::fs::write(&file, text).unwrap();
        home.pairflow(&["new", "do it"]).ends(1).says("not trusted");
    }
    std::fs::remove_file(&file).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    home.pairflow(&["new", "do it"]).ends(1).says("not trusted");
    home.pairflow(&["trust", &trust]).ok();
    home.pairflow(&["new", "do it"]).ok();
}

#[test]
fn detected_commands_that_were_confirmed_are_listed() {
    let home = home();
    home.commit("Makefile", "test:\n\ttrue\n", "checks");
    let (code, shown) = on_terminal(home.command(&["new", "do it"]), &[("Use these commands to check", "y\n")]);
    assert_eq!(code, 0, "{shown}");
    home.pairflow(&["trust", "--list"]).ok().says("detected, and confirmed by you").says("make test");
    let listed = home.pairflow(&["trust", "--list", "--json"]).ok().json();
    let entry = listed["repositories"].as_object().unwrap().values().next().unwrap();
    assert_eq!((&entry["hash"], &entry["detected"]), (&Value::Null, &json!({"test": "make test"})));
}

/// A place that takes calls and says which ones came.
struct Hook {
    listener: TcpListener,
}

impl Hook {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self { listener }
    }

    fn address(&self) -> String {
        format!("http://{}/s3cret", self.listener.local_addr().unwrap())
    }

    /// Takes a call, if there is one.
    fn called(&self) -> bool {
        let Ok((mut stream, _)) = self.listener.accept() else { return false };
        stream.set_nonblocking(false).unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        true
    }
}

#[test]
fn an_edited_bubble_toml_does_not_redirect_the_webhook() {
    let home = home();
    let (own, foreign) = (Hook::open(), Hook::open());
    home.configure(&format!("[notifications]\nwebhook = \"{}\"\n", own.address()));
    home.pairflow(&["new", "do it", "--id", "b1", "--test", "true"]).ok();
    home.wait_for_turn("b1", "codex");
    let codex = home.agent("b1", "codex");
    let file = bubble_toml(&home, "b1");
    let text = std::fs::read_to_string(&file).unwrap();
    let edited = text.replace("[notifications]\n", &format!("[notifications]\nwebhook = \"{}\"\n", foreign.address()));
    assert_ne!(text, edited);
    std::fs::write(&file, edited).unwrap();
    codex.pairflow(&["ask-human", "--question", "Which port?"]).ok();
    let mut redirected = false;
    wait_until("a call", || {
        redirected |= foreign.called();
        redirected || own.called()
    });
    assert!(!redirected, "the question went to the address that the agent wrote down");
}

#[test]
fn an_edited_bubble_toml_changes_nothing_before_the_person_applies_it() {
    let home = home();
    home.pairflow(&["new", "do it", "--id", "b1", "--test", CHECK]).ok();
    home.wait_for_turn("b1", "codex");
    let codex = home.agent("b1", "codex");
    assert_eq!(home.status("b1")["config_differs"], Value::Null);
    let file = bubble_toml(&home, "b1");
    let text = std::fs::read_to_string(&file).unwrap();
    let mark = format!("touch {}", canary(&home).display());
    std::fs::write(&file, text.replace(CHECK, &mark).replace("max_rounds = 8", "max_rounds = 3")).unwrap();
    let differs = home.status("b1")["config_differs"].as_str().unwrap_or_default().to_owned();
    assert!(differs.contains("max_rounds, commands.test"), "{differs}");
    home.pairflow(&["status", "b1"]).ok().says("bubble.toml differs").says("next: pairflow config apply b1");
    let explained = home.pairflow(&["config", "explain", "b1", "--json"]).ok().json();
    let row = explained["values"].as_array().unwrap().iter().find(|row| row["key"] == "commands.test").unwrap();
    assert_eq!((&row["value"], &row["source"]), (&json!(CHECK), &json!("log #1 (create)")));
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    assert!(!canary(&home).exists(), "the edited command ran");
    codex.pairflow(&["config", "apply", "b1", "--yes"]).ends(77);
    home.pairflow(&["config", "apply", "b1"]).ends(1).says("max_rounds: 8 -> 3").says("add --yes");
    home.pairflow(&["config", "apply", "b1", "--yes"]).ok().says("max_rounds: 8 -> 3");
    home.wait_for("b1", |status| status["checks"][0]["command"] == mark.as_str());
    assert_eq!(home.status("b1")["config_differs"], Value::Null);
    wait_until("the applied command", || canary(&home).exists());
    // What was fixed at the start is not changed by a file, either.
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("base_branch = \"main\"", "base_branch = \"other\"")).unwrap();
    home.pairflow(&["config", "apply", "b1", "--yes"]).ends(1).says("base_branch can no longer be changed");
    let (code, shown) = on_terminal(home.command(&["config", "apply", "b1"]), &[]);
    assert_eq!((code, shown.contains("[y/N]")), (1, false), "checked before it is asked: {shown}");
    std::fs::write(&file, text.replace("max_rounds = 3", "max_rounds = 4")).unwrap();
    let (code, shown) = on_terminal(home.command(&["config", "apply", "b1", "--json"]), &[]);
    assert_eq!((code, shown.contains("[y/N]"), shown.contains("add --yes")), (1, false, true), "{shown}");
    std::fs::write(&file, "not = [toml").unwrap();
    home.pairflow(&["status", "b1"]).ok().says("bubble.toml cannot be read");
    std::fs::remove_file(&file).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    home.pairflow(&["status", "b1"]).ok().says("bubble.toml cannot be read");
}

/// Makes a bubble, and has its file name another test command before it is started.
fn edited_before_start(home: &Home) {
    home.pairflow(&["create", "--id", "b1", "--task", "do it", "--test", CHECK]).ok();
    let file = bubble_toml(home, "b1");
    let text = std::fs::read_to_string(&file).unwrap();
    let edited = text.replace(&format!("test = \"{CHECK}\""), &format!("setup = \"touch {}\"", canary(home).display()));
    assert_ne!(text, edited);
    std::fs::write(&file, edited + "[agent.codex]\ncommand = [\"evil\"]\n").unwrap();
}

#[test]
fn a_bubble_toml_that_was_edited_before_the_start_is_not_used_unseen() {
    let home = home();
    edited_before_start(&home);
    // A file that leaves nothing to check is refused before anybody is asked.
    home.pairflow(&["start", "b1"]).ends(1).says("nothing would be checked");
    home.pairflow(&["config", "apply", "b1", "--yes"]).ends(1).says("nothing would be checked");
    let file = bubble_toml(&home, "b1");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("[commands]", "[commands]\ntest = \"true\"")).unwrap();
    for call in [&["start", "b1"][..], &["start", "b1", "--json"], &["start", "b1", "--driver", "external"]] {
        home.pairflow(call)
            .ends(1)
            .says(&format!("commands.test: {CHECK} -> true"))
            .says("commands.setup: nothing -> touch")
            .says("agent.codex.command: nothing -> [\"evil\"]")
            .says("was not started")
            .says("pairflow config apply b1 --yes");
    }
    home.pairflow(&["status", "b1"]).ok().says("bubble.toml differs from what is recorded: ");
    home.pairflow(&["config", "explain", "b1"]).ok().says("test -f done.txt").says("bubble.toml differs");
    assert_eq!(lines(&home, "b1").len(), 1, "nothing is recorded");
    let asked = [("Start bubble b1 with these changes? [y/N]", "n\n")];
    let (code, shown) = on_terminal(home.command(&["start", "b1"]), &asked);
    assert_eq!((code, shown.contains("bubble b1 was not started")), (1, true), "{shown}");
    let (code, shown) = on_terminal(home.command(&["start", "b1", "--json"]), &[]);
    assert_eq!((code, shown.contains("[y/N]")), (1, false), "{shown}");
    assert!(!canary(&home).exists());
    // Without the file, what was recorded counts.
    std::fs::remove_file(&file).unwrap();
    home.pairflow(&["start", "b1"]).ok();
    assert_eq!(home.status("b1")["checks"][0]["command"], CHECK);
    assert!(!canary(&home).exists());
}

#[test]
fn a_person_agrees_to_an_edited_bubble_toml_before_the_start() {
    for by_apply in [true, false] {
        let home = home();
        home.pairflow(&["create", "--id", "b1", "--task", "do it", "--test", "true"]).ok();
        let file = bubble_toml(&home, "b1");
        let edit = |from: &str, to: &str| {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.contains(from), "{text}");
            std::fs::write(&file, text.replace(from, to)).unwrap();
        };
        edit("test = \"true\"", &format!("test = \"true\"\nsetup = \"touch {}\"", canary(&home).display()));
        edit("\"bubble/b1\"", "\"mine/b1\"");
        if by_apply {
            home.pairflow(&["config", "apply", "b1"]).ends(1).says("bubble/b1 -> mine/b1").says("add --yes");
            home.pairflow(&["config", "apply", "b1", "--yes"]).ok().says("Changed the configuration");
            assert_eq!(home.status("b1")["config_differs"], Value::Null);
            home.pairflow(&["start", "b1"]).ok();
        } else {
            let asked = [("Start bubble b1 with these changes? [y/N]", "y\n")];
            let (code, shown) = on_terminal(home.command(&["start", "b1"]), &asked);
            assert_eq!(code, 0, "{shown}");
            assert!(shown.contains("bubble_branch: bubble/b1 -> mine/b1"), "{shown}");
        }
        assert!(canary(&home).exists());
        assert_eq!(home.status("b1")["branch"], "mine/b1");
        home.pairflow(&["log", "b1"]).ok().says("changes the configuration: bubble_branch: bubble/b1 -> mine/b1");
        home.pairflow(&["verify", "b1"]).ok();
    }
}

#[test]
fn a_start_that_failed_is_repeated_without_a_question() {
    let home = home();
    home.commit("pairflow.toml", "[commands]\nsetup = \"test -f ready\"\n", "configuration");
    let hash = home.pairflow(&["trust", "--json"]).ok().json()["hash"].as_str().unwrap().to_owned();
    home.pairflow(&["create", "--id", "b1", "--task", "x", "--test", "true", "--setup", "true"]).ok();
    home.pairflow(&["config", "set", "b1", "commands.setup="]).ok();
    home.pairflow(&["start", "b1", &format!("--trust={hash}")]).ends(3).says("test -f ready");
    home.pairflow(&["start", "b1"]).ends(3).says("test -f ready");
    assert_eq!(home.status("b1")["config_differs"], Value::Null);
}

#[test]
fn checks_get_the_variables_that_the_persons_own_file_names() {
    let home = home();
    home.configure("check_env = [\"DATABASE_URL\", \"NOT_SET\"]\n");
    let seen = home.root().join("seen");
    let command = format!("printenv DATABASE_URL OTHER_SECRET >> {}; true", seen.display());
    let mut new = home.command(&["new", "do it", "--id", "b1", "--setup", &command, "--test", &command]);
    new.env("DATABASE_URL", "db://here").env("OTHER_SECRET", "s3cret");
    home.finish(new).ok();
    home.wait_for_turn("b1", "codex");
    assert_eq!(
        std::fs::read_to_string(&seen).unwrap(),
        "db://here\n".repeat(3),
        "the setup command in the worktree and in the checkout, and the check on the base"
    );
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), "db://here\n".repeat(4), "the check");
    home.pairflow(&["config", "explain", "b1"]).ok().says("DATABASE_URL, NOT_SET");
    let text = std::fs::read_to_string(bubble_toml(&home, "b1")).unwrap();
    assert!(!text.contains("DATABASE_URL="), "{text}");
}

#[test]
fn a_person_corrects_the_check_of_a_running_bubble() {
    let home = home();
    home.pairflow(&["new", "do it", "--id", "b1", "--test", "test -f never.txt"]).ok();
    home.base_fails("b1", "codex");
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for("b1", |status| status["active_agent"] == "codex" && status["checks"][0]["stand"] == "failed");
    codex.pairflow(&["config", "set", "b1", "commands.test=true"]).ends(77);
    codex.pairflow(&["trust"]).ends(77);
    home.pairflow(&["config", "set", "b1", "commands.test=test -f done.txt", "max_rounds=3"])
        .ok()
        .says("commands.test: test -f never.txt -> test -f done.txt");
    let status = home.wait_for_turn("b1", "codex");
    assert_eq!((&status["max_rounds"], &status["checks"][0]["command"]), (&json!(3), &json!("test -f done.txt")));
    // The new command may have been run by now.
    assert_ne!(status["checks"][0]["stand"], "failed", "what the old command said does not count");
    let fact = lines(&home, "b1").into_iter().find(|line| line["payload"]["event"] == "configured").unwrap();
    assert_eq!((&fact["type"], &fact["sender"]), (&json!("LIFECYCLE"), &json!("human")));
    home.pairflow(&["log", "b1"]).ok().says("changes the configuration: max_rounds: 8 -> 3; commands.test");
    let seq = fact["seq"].as_u64().unwrap();
    home.pairflow(&["config", "explain", "b1"]).ok().says(&format!("log #{seq} (config)"));
    let file = std::fs::read_to_string(bubble_toml(&home, "b1")).unwrap();
    assert!(file.contains("test = \"test -f done.txt\"") && file.contains("max_rounds = 3"), "{file}");
    codex.pairflow(&["pass", "--summary", "the same, with a check that works"]).ok();
    home.wait_for_turn("b1", "claude");
    for (setting, why) in [
        ("base_branch=other", "base_branch was fixed"),
        ("work_mode=clone", "work_mode was fixed"),
        ("id=b2", "id was fixed"),
        ("notifications.webhook=https://h/x", "your own configuration only"),
        ("max_round=3", "did you mean `max_rounds`?"),
    ] {
        home.pairflow(&["config", "set", "b1", setting]).ends(2).says(why);
    }
    home.pairflow(&["config", "set", "b1", "max_rounds=3"]).ok().says("Nothing changed");
    home.pairflow(&["config", "set", "b1", "identity=current"]).ok().says("Nothing changed");
    home.pairflow(&["verify", "b1"]).ok();
}
