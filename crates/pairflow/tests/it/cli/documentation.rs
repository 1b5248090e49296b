//! What pairflow says of itself: scripts, pages, keys, lines that are read to their end, and a way on from every refusal.

use std::path::Path;

use pairflow_testkit::script::compare_document;

use crate::support::bubbles::{created, done, handed_over, home, ready, started};
use crate::support::terminal::on_terminal;

#[test]
fn the_script_in_the_documentation_plays_to_the_end() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/script.md");
    let text = std::fs::read_to_string(docs).unwrap();
    let script = text.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let home = home();
    let path = home.root().join("agents.yaml");
    std::fs::write(&path, script).unwrap();
    let path = path.display().to_string();
    home.pairflow(&["new", "say hello", "--test", "true", "--driver", "script", "--script", &path]).ok();
    home.wait_for_state("say-hello", "READY_FOR_APPROVAL");
    home.pairflow(&["start", "--help"]).ok().says("docs/script.md").says("- pass: {summary: wrote hello.txt}");
    home.pairflow(&["create", "--help"]).ok().says("docs/script.md");
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    assert!(readme.contains("(docs/script.md)") && readme.contains("bin/orchestra"), "{readme}");
}

#[test]
fn the_command_line_reference_is_generated_from_the_parsers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let reference = pairflow::docs::cli_reference();
    compare_document(&path, &reference);
    assert_eq!(home().pairflow(&["docs", "cli"]).ok().stdout, reference);
    for entry in pairflow::TABLE {
        let name = if entry.name == "home" { "pairflow".to_owned() } else { format!("pairflow {}", entry.name) };
        assert!(reference.contains(&format!("\n### {name}\n")), "{name} is missing");
    }
    assert!(reference.contains("\n#### pairflow config set\n"), "subcommands are missing");
}

/// The words of a printed command line, with something for everything that an agent fills in.
fn filled_in(line: &str) -> Vec<String> {
    let mut quoted = false;
    let mut words = vec![String::new()];
    for c in line.replace('…', "said so").chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// Every command line that a brief prints, and every option that it explains as part of the hand-over.
fn printed(brief: &str) -> Vec<String> {
    let (text, end) = brief.rsplit_once("```text\n").unwrap();
    let lines = end.trim_end_matches("```\n").lines().map(str::to_owned);
    let ours = text.lines().filter(|line| !line.starts_with('>'));
    let spans = ours.flat_map(|line| line.split('`').skip(1).step_by(2));
    let whole = spans.filter(|span| span.starts_with("--") && (span.contains(' ') || span.starts_with("--no-")));
    let options = whole.filter(|span| !span.contains("ID")).map(|span| format!("pairflow pass --summary '…' {span}"));
    lines.chain(options).collect()
}

#[test]
fn every_command_line_of_every_brief_is_understood() {
    let briefs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pairflow-core/tests/it/views/briefs");
    let mut verbs = std::collections::BTreeSet::new();
    for brief in std::fs::read_dir(&briefs).unwrap() {
        let path = brief.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for line in printed(&text) {
            let words = filled_in(&line);
            let entry = pairflow::find(&words[1]).unwrap_or_else(|| panic!("{}: {line}", path.display()));
            let parsed = entry.build().try_get_matches_from(&words[2..]);
            assert!(parsed.is_ok(), "{}: {line}\n{}", path.display(), parsed.unwrap_err());
            verbs.insert(words[1].clone());
        }
    }
    assert_eq!(verbs.iter().map(String::as_str).collect::<Vec<_>>(), ["ask-human", "converged", "judge", "pass"]);
}

#[test]
fn a_link_called_orchestra_has_the_verbs_of_agents() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    let link = home.root().join("orchestra");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pairflow"), &link).unwrap();
    let call = |args: &[&str]| {
        let mut command = std::process::Command::new(&link);
        command.args(args).env_clear().current_dir(&codex.worktree);
        command.envs(
            claude.command(&[]).get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))),
        );
        home.finish(command)
    };
    call(&["--help"]).ok().says("orchestra COMMAND");
    call(&["status"]).ends(2);
    call(&["pass", "--summary", "fine", "--no-findings"]).ok();
}

#[test]
fn status_wraps_what_has_to_be_read_to_its_end() {
    let home = home();
    let (_, claude) = handed_over(&home, "b1");
    let question = "Should the new field be called the way that the old one was called, or the way that the other service calls it today?";
    claude.pairflow(&["ask-human", "--question", question]).ok();
    let status = home.pairflow(&["status", "b1"]).ok().stdout;
    assert!(!status.contains('…') || !status.contains("asks: …"), "{status}");
    let told: String = status.lines().map(|line| line.get(13..).unwrap_or_default()).collect::<Vec<_>>().join(" ");
    assert!(told.contains(question), "{status}");
    assert!(status.lines().all(|line| line.starts_with("Worktree") || line.chars().count() <= 80), "{status}");
}

#[test]
fn a_key_stands_for_what_was_said_with_it_and_nothing_else() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    let ask = |question: &str| claude.pairflow(&["ask-human", "--key", "k1", "--question", question]);
    ask("tabs?").ok().says("Asked as");
    ask("tabs?").ok().says("Already asked as");
    ask("spaces?").ends(1).says("the key 'k1' was already used for").says("next:");
    codex
        .pairflow(&["ask-human", "--key", "k1", "--question", "tabs?"])
        .ends(1)
        .says("the key 'k1' was already used for");
    let reply = |message: &str| home.pairflow(&["reply", "b1", "--key", "r1", "--message", message]);
    reply("no").ok();
    reply("no").ok();
    reply("yes").ends(1).says("the key 'r1' was already used for");
    let pass = |finding: &str| claude.pairflow(&["pass", "--key", "p1", "--summary", "read", "--finding", finding]);
    pass("P1:wrong").ok();
    pass("P1:wrong").ok().says("Already recorded");
    pass("P1:also wrong").ends(1).says("the key 'p1' was already used for");
    home.wait_for_turn("b1", "codex");
    codex.pairflow(&["pass", "--summary", "mended"]).ok();
    home.wait_for_turn("b1", "claude");
    let file = home.root().join("tmp/review.json");
    let review = |suggestion: &str| {
        let finding = format!(r#"{{"severity": "P1", "title": "still wrong", "suggestion": "{suggestion}"}}"#);
        std::fs::write(&file, format!(r#"{{"findings": [{finding}]}}"#)).unwrap();
        claude.pairflow(&["pass", "--key", "p2", "--summary", "read", "--findings", &file.display().to_string()])
    };
    review("a lock").ok();
    review("a lock").ok().says("Already recorded");
    review("a queue").ends(1).says("the key 'p2' was already used for");
}

#[test]
fn next_has_json_and_asks_nobody() {
    let home = home();
    let nothing = home.pairflow(&["next", "--json"]).ok().json();
    assert_eq!(
        (&nothing["schema"], &nothing["item"], &nothing["waiting"]),
        (&"pairflow.next/1".into(), &serde_json::Value::Null, &0.into())
    );
    let (_, claude) = handed_over(&home, "b1");
    claude.pairflow(&["ask-human", "--question", "tabs?"]).ok();
    let next = home.pairflow(&["next", "--json"]).ok().json();
    assert_eq!((&next["item"]["question"], &next["waiting"]), (&"tabs?".into(), &1.into()));
    assert!(next["item"]["answer"][0].as_str().unwrap().starts_with("pairflow reply b1"), "{next}");
}

#[test]
fn the_manual_pages_have_exit_codes_and_examples() {
    let home = home();
    let dir = home.root().join("man");
    home.pairflow(&["man", &dir.display().to_string()]).ok();
    for page in std::fs::read_dir(&dir).unwrap() {
        let path = page.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(".SH \"EXIT STATUS\"") && text.contains("the log is damaged"), "{}", path.display());
        assert!(!text.contains(".SH EXTRA"), "{}", path.display());
        let own = path.file_stem().unwrap() != "pairflow";
        assert!(!own || text.contains(".SH \"EXAMPLES\""), "{}", path.display());
    }
}

#[test]
fn nobody_who_is_refused_is_left_without_a_way_on() {
    let home = home();
    created(&home, "a");
    let (codex, _) = ready(&home, "b");
    done(&home, "c");
    started(&home, "d");
    let refused: &[&[&str]] = &[
        &["stop", "d"],
        &["delete", "c"],
        &["diff", "a"],
        &["diff", "d", "--round", "9"],
        &["reply", "d", "--message", "x"],
        &["request-rework", "b", "--finding", "F9"],
        &["merge", "b"],
        &["pause", "a"],
        &["env", "d", "--agent", "nobody"],
        &["create", "--id", "a", "--task", "again", "--test", "true"],
    ];
    for args in refused {
        let ran = home.pairflow(args).ends(1);
        assert!(ran.stderr.contains("next: pairflow "), "{args:?}: {ran:?}");
    }
    home.pairflow(&["stop", "d"]).ends(1).says("next: pairflow stop d --yes");
    let stranger = codex.command(&["pass", "--summary", "x"]).env("PAIRFLOW_TOKEN", "no").output().unwrap();
    assert!(String::from_utf8_lossy(&stranger.stderr).contains("next: "), "{stranger:?}");
}

#[test]
fn a_task_written_below_the_notes_of_the_editor_is_the_task() {
    let home = home();
    let mut create = home.command(&["create", "--id", "x", "--test", "true"]);
    create.env("EDITOR", "sh -c 'printf \"Say hello\\n\\n# Not the form\\n\" >> \"$0\"'");
    let (code, shown) = on_terminal(create, &[]);
    assert_eq!(code, 0, "{shown}");
    home.pairflow(&["log", "x"]).ok().says("bubble created: Say hello");
    let log = std::fs::read_to_string(home.repo.join(".pairflow/bubbles/x/transcript.ndjson")).unwrap();
    assert!(log.contains("# Not the form") && !log.contains("are left out"), "{log}");
}
