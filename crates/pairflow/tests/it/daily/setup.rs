//! The first five minutes: `init` and `config explain`.

use serde_json::Value;

use crate::support::bubbles::home;

fn value<'a>(explained: &'a Value, key: &str) -> (&'a Value, &'a str) {
    let rows = explained["values"].as_array().unwrap();
    let row = rows.iter().find(|row| row["key"] == key).unwrap();
    (&row["value"], row["source"].as_str().unwrap())
}

#[test]
fn init_writes_what_it_detects_and_keeps_its_own_files_out_of_the_history() {
    let home = home();
    home.commit("Makefile", "test:\n\ttrue\nlint:\n\ttrue\n", "checks");
    home.pairflow(&["init"]).ends(1).says("make test").says("add --yes");
    assert!(!home.repo.join("pairflow.toml").exists());
    home.pairflow(&["init", "--yes"]).ok().says("pairflow.toml").says("next: pairflow new");
    let exclude = std::fs::read_to_string(home.repo.join(".git/info/exclude")).unwrap();
    assert!(exclude.lines().any(|line| line == ".pairflow/"), "{exclude}");
    let explained = home.pairflow(&["config", "explain", "--json"]).ok().json();
    let (test, source) = value(&explained, "commands.test");
    assert_eq!(test, "make test");
    assert!(source.contains("pairflow.toml:"), "{source}");
    assert_eq!(value(&explained, "commands.lint").0, "make lint");
    // Writing the file is one thing, trusting what it says another.
    home.pairflow(&["new", "do it"]).ends(1).says("not trusted");
    let hash = home.pairflow(&["trust", "--json"]).ok().json()["hash"].as_str().unwrap().to_owned();
    home.pairflow(&["new", "do it", &format!("--trust={hash}")]).ok();
}

#[test]
fn init_does_not_replace_a_file_unless_forced() {
    let home = home();
    std::fs::write(home.repo.join("pairflow.toml"), "max_rounds = 3\n").unwrap();
    home.pairflow(&["init", "--yes"]).ends(1).says("already exists").says("--force");
    assert_eq!(std::fs::read_to_string(home.repo.join("pairflow.toml")).unwrap(), "max_rounds = 3\n");
    home.pairflow(&["init", "--yes", "--force"]).ok().says("no command to check the work was found");
    let text = std::fs::read_to_string(home.repo.join("pairflow.toml")).unwrap();
    assert!(text.contains("# test = ") && !text.contains("max_rounds = 3"), "{text}");
    home.pairflow(&["config", "explain"]).ok();
}

#[test]
fn init_outside_of_a_repository_says_so() {
    let home = home();
    home.pairflow_in(home.root(), &["init", "--yes"]).ends(1).says("is not inside a git repository");
    assert!(!home.root().join("pairflow.toml").exists());
}

#[test]
fn every_value_is_explained_with_its_source() {
    let home = home();
    std::fs::create_dir_all(home.root().join("config/pairflow")).unwrap();
    std::fs::write(home.root().join("config/pairflow/config.toml"), "max_rounds = 3\nwork_mode = \"clone\"\n").unwrap();
    std::fs::write(home.repo.join("pairflow.toml"), "\nmax_rounds = 4\n").unwrap();
    let explained = home.pairflow(&["config", "explain", "--json"]).ok().json();
    assert_eq!(explained["schema"], "pairflow.config/1");
    assert_eq!(value(&explained, "max_rounds").0, 4);
    assert!(value(&explained, "max_rounds").1.ends_with("/repo/pairflow.toml:2"));
    assert!(value(&explained, "work_mode").1.ends_with("/config.toml:2"));
    assert_eq!(value(&explained, "base_branch"), (&"main".into(), "default"));
    home.pairflow(&["config", "explain"]).ok().says("KEY").says("pairflow.toml:2");
}

#[test]
fn a_bubble_is_explained_by_its_own_file() {
    let home = home();
    home.pairflow(&["create", "--id", "one", "--task", "x", "--test", "true", "--max-rounds", "2"]).ok();
    for args in [&["config", "explain", "--id", "one", "--json"][..], &["config", "explain", "one", "--json"]] {
        let explained = home.pairflow(args).ok().json();
        assert_eq!(explained["bubble_id"], "one");
        assert_eq!(value(&explained, "max_rounds").0, 2);
        assert!(value(&explained, "max_rounds").1.contains("bubbles/one/bubble.toml:"));
    }
    home.pairflow(&["config", "explain", "nobody"]).ends(1).says("there is no bubble 'nobody'");
}

#[test]
fn commands_that_nobody_set_are_shown_as_a_new_bubble_would_get_them() {
    let home = home();
    home.commit("Makefile", "test:\n\ttrue\n", "checks");
    home.pairflow(&["config", "explain"]).ok().says("a new bubble would use: make test (found in Makefile target");
}

#[test]
fn mistakes_are_shown_all_at_once_with_their_lines() {
    let home = home();
    std::fs::write(home.repo.join("pairflow.toml"), "max_round = 3\n\n[commands]\ntset = \"x\"\n").unwrap();
    let ran = home.pairflow(&["config", "explain"]).ends(2);
    let expected = "error: unknown key `max_round`\n --> FILE:1:1\n  |\n1 | max_round = 3\n  | ^^^^^^^^^\n  = help: did you mean `max_rounds`?\n";
    let shown =
        ran.stderr.replace(&home.repo.join("pairflow.toml").canonicalize().unwrap().display().to_string(), "FILE");
    assert!(shown.starts_with(expected), "{shown}");
    assert!(shown.contains("error: unknown key `commands.tset`\n --> FILE:4:1\n"), "{shown}");
    let json = home.pairflow(&["config", "explain", "--json"]).ends(2).json();
    assert_eq!(json["error"]["kind"], "usage");
}
