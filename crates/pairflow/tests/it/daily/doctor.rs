//! `pairflow doctor`: what it finds, what it says to do, how it ends, and what a repair does.

use pairflow_testkit::home::{Home, write_program};
use serde_json::Value;

use crate::support::bubbles::home;
use crate::support::log::damage;
use crate::support::terminal::bin_with;

fn create(home: &Home, id: &str) {
    home.pairflow(&["create", "--id", id, "--task", "do it", "--test", "true"]).ok();
}

fn transcript(home: &Home, id: &str) -> std::path::PathBuf {
    home.repo.join(format!(".pairflow/bubbles/{id}/transcript.ndjson"))
}

/// The row about `what` of a report.
#[track_caller]
fn row<'a>(report: &'a Value, what: &str) -> &'a Value {
    let rows = report["rows"].as_array().unwrap();
    rows.iter().find(|row| row["what"] == what).unwrap_or_else(|| panic!("no row about {what} in {report:#}"))
}

#[test]
fn a_healthy_home_has_no_problems() {
    let home = home();
    create(&home, "one");
    create(&home, "two");
    let ran = home.pairflow(&["doctor"]).ok().says("2, all logs are valid").says("nothing needs it");
    assert!(!ran.stdout.contains("problem "), "{}", ran.stdout);
    assert!(!ran.stdout.contains("log of one"), "sound logs are only counted: {}", ran.stdout);
    let report = home.pairflow(&["doctor", "--json"]).ok().json();
    assert_eq!((&report["schema"], &report["problems"]), (&"pairflow.doctor/1".into(), &0.into()));
    for what in ["git", "repository", "config", "disk", "supervisor", "log of one", "config of two"] {
        assert_eq!(row(&report, what)["level"], "ok", "{what}");
    }
}

#[test]
fn missing_agents_and_tmux_are_warnings_with_the_next_step() {
    let home = home();
    let bin = bin_with(&home, &["git"]);
    let mut command = home.command(&["doctor", "--json"]);
    command.env("PATH", &bin);
    let report = home.finish(command).ok().json();
    for program in ["tmux", "claude", "codex"] {
        let found = |row: &&Value| row["found"].as_str().unwrap().starts_with(&format!("{program} is not on PATH"));
        let row =
            report["rows"].as_array().unwrap().iter().find(found).unwrap_or_else(|| panic!("{program}: {report:#}"));
        assert_eq!(row["level"], "warning");
        assert!(row["next"].as_str().unwrap().contains("install"), "{row}");
    }
    let text = report.to_string();
    assert!(!text.contains("bwrap") && !text.contains("sandbox"), "nothing uses it: {report:#}");
}

/// A directory with programs that write down every start but one that asks for the version, and say this to that.
fn programs(home: &Home, versions: [(&str, &str); 4]) -> std::path::PathBuf {
    let bin = home.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    for (name, says) in versions {
        let started = home.root().join("started");
        let only = format!("[ \"$*\" = --version ] || touch {}", started.display());
        write_program(&bin.join(name), &format!("#!/bin/sh\n{only}\n{says}\n"));
    }
    bin
}

#[test]
fn agents_are_looked_for_and_only_asked_for_their_version() {
    let home = home();
    let started = home.root().join("started");
    let says =
        [("claude", "echo '2.1.400 (Claude Code)'"), ("codex", "echo codex-cli 0.166.0"), ("tmux", ""), ("bwrap", "")];
    let bin = programs(&home, says);
    let mut command = home.command(&["doctor"]);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    command.env("PATH", path);
    home.finish(command)
        .ok()
        .says(&format!("claude 2.1.400 is {}", bin.join("claude").display()))
        .says(&format!("codex 0.166.0 is {}", bin.join("codex").display()))
        .says("Everything is in order.");
    assert!(!started.exists());
}

#[test]
fn an_agent_that_is_too_old_is_named_with_the_oldest_version_that_works_and_the_next_step() {
    let home = home();
    let says =
        [("claude", "echo 2.1.197; echo x"), ("codex", "echo no such option; exit 2"), ("tmux", ""), ("bwrap", "")];
    let bin = programs(&home, says);
    let mut command = home.command(&["doctor", "--json"]);
    command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    let report = home.finish(command).ok().json();
    let rows = report["rows"].as_array().unwrap().iter().filter(|row| row["what"] == "agent");
    let told: Vec<_> =
        rows.map(|row| ["level", "found", "next"].map(|key| row[key].as_str().unwrap_or_default())).collect();
    let claude =
        format!("claude 2.1.197 is {}; the oldest version known to work is 2.1.325", bin.join("claude").display());
    let codex = format!(
        "codex is {}, but does not report its version (no such option); the oldest version known to work is 0.166.0",
        bin.join("codex").display()
    );
    let wanted = [
        ["warning", &claude, "npm install -g @anthropic-ai/claude-code@2.1.325"],
        ["warning", &codex, "npm install -g @openai/codex@0.166.0"],
    ];
    assert_eq!(told, wanted, "{report:#}");
}

#[test]
fn the_configured_programs_of_agents_are_looked_for() {
    let home = home();
    let bin = bin_with(&home, &["git", "sh"]);
    let config = "[agents]\nimplementer = \"codex\"\nreviewer = \"helper\"\n\
        [agent.codex]\ncommand = [\"/nowhere/codex-next\", \"--quiet\"]\n\
        [agent.helper]\ncommand = [\"sh\"]\n[agent.spare]\ncommand = [\"spare-agent\"]\n";
    home.configure(config);
    let mut command = home.command(&["doctor", "--json"]);
    command.env("PATH", &bin);
    let report = home.finish(command).ok().json();
    let rows = report["rows"].as_array().unwrap().iter().filter(|row| row["what"] == "agent");
    let told: Vec<_> = rows.map(|row| (row["level"].as_str().unwrap(), row["found"].as_str().unwrap())).collect();
    let there = format!("helper: sh is {}", bin.join("sh").display());
    let otherwise = "only bubbles with this agent need it";
    let gone = format!("codex: /nowhere/codex-next is not an executable program; {otherwise}");
    let spare = format!("spare: spare-agent is not on PATH; {otherwise}");
    assert_eq!(told, [("warning", &gone[..]), ("ok", &there), ("warning", &spare)], "{report:#}");
    assert!(report.to_string().contains("fix `command` of [agent.codex]: pairflow config explain"), "{report:#}");
}

#[test]
fn without_git_nothing_works() {
    let home = home();
    let mut command = home.command(&["doctor"]);
    command.env("PATH", home.root().join("nowhere"));
    home.finish(command).ends(3).says("problem git").says("install git 2.40 or newer");
}

#[test]
fn a_damaged_log_ends_with_5_and_names_the_repair_and_the_others_stay_visible() {
    let home = home();
    create(&home, "sound");
    create(&home, "bad");
    damage(&home, "bad");
    home.pairflow(&["doctor"])
        .ends(5)
        .says("log of bad")
        .says("is damaged in line 1")
        .says("next: pairflow doctor --repair");
    let report = home.pairflow(&["doctor", "--json"]).ends(5).json();
    assert_eq!(row(&report, "log of bad")["level"], "problem");
    assert_eq!(row(&report, "log of sound")["level"], "ok");
}

#[test]
fn a_repair_asks_first_and_says_what_it_moved_where() {
    let home = home();
    create(&home, "bad");
    home.pairflow(&["start", "bad"]).ok();
    home.wait_for_turn("bad", "codex");
    home.pairflow(&["supervisor", "stop"]).ok();
    let before = std::fs::read(transcript(&home, "bad")).unwrap();
    damage(&home, "bad");
    let damaged = std::fs::read(transcript(&home, "bad")).unwrap();
    home.pairflow(&["doctor", "--repair"]).ends(1).says("move the damaged log to quarantine?").says("add --yes");
    assert_eq!(std::fs::read(transcript(&home, "bad")).unwrap(), damaged, "nothing without a yes");
    let ran = home.pairflow(&["doctor", "--repair", "--yes"]).ok().says("bad: kept ").says("all logs are valid");
    let moved = ran.stderr.split("the damaged log is in ").nth(1).unwrap().lines().next().unwrap();
    assert_eq!(std::fs::read(moved).unwrap(), damaged, "the damaged log is kept as it was");
    let after = std::fs::read_to_string(transcript(&home, "bad")).unwrap();
    // The lines after them take the bubble over.
    let kept =
        after.lines().take_while(|line| !line.contains("\"event\":\"adopted\"")).map(|line| line.len() + 1).sum();
    assert!(kept > 0 && before.starts_with(&after.as_bytes()[..kept]) && kept < before.len());
    home.pairflow(&["status", "bad"]).ok();
}

#[test]
fn a_log_of_which_nothing_is_left_takes_the_bubble_with_it() {
    let home = home();
    create(&home, "gone");
    damage(&home, "gone");
    home.pairflow(&["doctor", "--repair", "--yes"]).ok().says("nothing could be kept").says("there are none");
}

#[test]
fn a_torn_tail_is_a_warning_and_is_mended_without_a_question() {
    let home = home();
    create(&home, "torn");
    let whole = std::fs::read(transcript(&home, "torn")).unwrap();
    let tail = &whole[..whole.len() / 2];
    std::fs::write(transcript(&home, "torn"), [&whole[..], tail].concat()).unwrap();
    home.pairflow(&["doctor"]).ok().says("warning log of torn").says("bytes of an unfinished append");
    home.pairflow(&["doctor", "--repair"]).ok().says("torn: repaired the end of the log").says("all logs are valid");
    assert_eq!(std::fs::read(transcript(&home, "torn")).unwrap(), whole);
}

#[test]
fn a_bad_configuration_is_shown_with_its_line() {
    let home = home();
    std::fs::write(home.repo.join("pairflow.toml"), "max_round = 3\n").unwrap();
    home.pairflow(&["doctor"])
        .ends(3)
        .says("problem config")
        .says("1 | max_round = 3")
        .says("did you mean `max_rounds`?");
    std::fs::remove_file(home.repo.join("pairflow.toml")).unwrap();
    create(&home, "one");
    std::fs::write(home.repo.join(".pairflow/bubbles/one/bubble.toml"), "max_rounds = 0\n").unwrap();
    home.pairflow(&["doctor"]).ends(3).says("problem config of one");
}

#[test]
fn the_persons_own_configuration_is_read_everywhere() {
    let home = home();
    std::fs::create_dir_all(home.root().join("config/pairflow")).unwrap();
    std::fs::write(home.root().join("config/pairflow/config.toml"), "frob = 1\n").unwrap();
    home.pairflow_in(home.root(), &["doctor"]).ends(3).says("unknown key `frob`");
}

#[test]
fn outside_of_a_repository_every_known_one_is_looked_at() {
    let home = home();
    create(&home, "bad");
    damage(&home, "bad");
    let ran =
        home.pairflow_in(home.root(), &["doctor"]).ends(5).says("this is not a git repository").says("log of bad");
    let repair = format!("pairflow doctor --repair --repo {}", home.repo.display());
    assert!(ran.stdout.contains(&repair), "{}", ran.stdout);
    home.pairflow_in(home.root(), &["doctor", "--repo", "/nowhere/at/all"]).ends(3).says("/nowhere/at/all");
}

#[test]
fn a_running_bubble_without_a_supervisor_is_a_warning() {
    let home = home();
    create(&home, "runs");
    home.pairflow(&["start", "runs"]).ok();
    home.wait_for_turn("runs", "codex");
    home.pairflow(&["doctor"]).ok().says("1 bubble supervised");
    home.pairflow(&["supervisor", "stop"]).ok();
    home.pairflow(&["doctor"]).ok().says("warning supervisor").says("next: pairflow supervise");
}

#[test]
fn an_empty_or_bare_repository_is_a_problem() {
    let home = home();
    let empty = home.root().join("empty");
    std::fs::create_dir(&empty).unwrap();
    home.git_in(&empty, &["init", "--quiet"]);
    home.pairflow_in(&empty, &["doctor"]).ends(3).says("problem repository");
}

#[test]
fn agents_may_look_and_not_repair() {
    let home = home();
    for (args, code) in [(&["doctor"][..], 0), (&["doctor", "--repair", "--yes"], 77)] {
        let mut command = home.command(args);
        command.env("PAIRFLOW_TOKEN", "x");
        home.finish(command).ends(code);
    }
}
