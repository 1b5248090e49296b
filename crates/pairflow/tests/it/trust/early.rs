//! What would fail later is refused at creation; what agents and checks get is bounded (S14).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use pairflow_testkit::home::{Home, Ran};

use crate::support::bubbles::{CHECK, home};

const CREATE: [&str; 7] = ["create", "--id", "b1", "--task", "Write done.txt", "--test", CHECK];

/// Moves the repository to a directory of this name.
fn renamed(home: &mut Home, name: &[u8]) {
    let path = home.repo.with_file_name(OsStr::from_bytes(name));
    std::fs::rename(&home.repo, &path).expect("the parent of the repository is writable");
    home.repo = path;
}

/// Insists that nothing was made and nothing remembered.
#[track_caller]
fn refused(home: &Home, ran: Ran, why: &str) {
    ran.ends(1).says(why);
    assert!(!home.repo.join(".pairflow").exists());
    assert!(!home.root().join("state/pairflow/repositories").exists());
}

#[test]
fn a_reftable_repository_is_refused_at_creation() {
    let mut home = home();
    let path = home.repo.with_file_name("tables");
    std::fs::create_dir(&path).unwrap();
    let mut init = std::process::Command::new("git");
    init.current_dir(&path).args(["init", "--quiet", "--initial-branch=main", "--ref-format=reftable"]);
    if !init.output().unwrap().status.success() {
        // This git does not know the format, so there is no such repository here.
        return;
    }
    home.repo = path;
    home.commit("README.md", "x\n", "first");
    let base = [&CREATE[..], &["--base", "main"]].concat();
    refused(&home, home.pairflow(&base), "reftable");
    refused(&home, home.pairflow(&["new", "x", "--test", "true"]), "git refs migrate --ref-format=files");
}

#[test]
fn a_path_that_is_no_text_is_refused_at_creation() {
    let mut home = home();
    renamed(&mut home, b"re\xffpo");
    refused(&home, home.pairflow(&CREATE), "is not UTF-8");
}

#[test]
fn control_characters_in_a_path_are_refused_at_creation() {
    for name in [&b"re\x1b[31mpo"[..], b"re\npo", b"re\xe2\x80\xaepo"] {
        let mut home = home();
        renamed(&mut home, name);
        refused(&home, home.pairflow(&CREATE), "control or invisible characters");
    }
}

#[test]
fn env_never_prints_another_path_than_the_real_one() {
    let mut home = home();
    home.pairflow(&CREATE).ok();
    renamed(&mut home, b"re\x1b[31mpo");
    let ran = home.pairflow(&["env", "b1", "--agent", "codex"]);
    assert_ne!(ran.code, 0, "{}", ran.stdout);
    assert!(!ran.stdout.contains("PAIRFLOW_REPO"), "{}", ran.stdout);
}

#[test]
fn an_exclude_file_that_is_a_link_is_left_alone() {
    let home = home();
    let theirs = home.root().join("tmp/theirs");
    std::fs::write(&theirs, "*.mine\n").unwrap();
    let file = home.repo.join(".git/info/exclude");
    let _ = std::fs::remove_file(&file);
    std::fs::create_dir_all(home.repo.join(".git/info")).unwrap();
    std::os::unix::fs::symlink(&theirs, &file).unwrap();
    home.pairflow(&CREATE).ok();
    home.pairflow(&["start", "b1"]).ok();
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "*.mine\n");
    assert!(file.is_symlink());
    assert_eq!(home.git(&["status", "--porcelain"]), "", "git does not see pairflow's own files");
}

#[test]
fn the_twenty_first_question_is_refused() {
    let home = home();
    home.pairflow(&CREATE).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    let codex = home.agent("b1", "codex");
    for n in 1..=20 {
        codex.pairflow(&["ask-human", "--question", &format!("question {n}?")]).ok();
    }
    codex.pairflow(&["ask-human", "--question", "one more?"]).ends(1).says("20 questions already wait");
    assert_eq!(home.status("b1")["questions"].as_array().unwrap().len(), 20);
    home.pairflow(&["status", "b1"]).ok();
}

#[test]
fn checks_and_setup_see_only_what_they_need() {
    let mut home = home();
    let variables = [
        ("AWS_SECRET_ACCESS_KEY", "a-secret"),
        ("SSH_AUTH_SOCK", "/a-secret"),
        ("XDG_SESSION_ID", "a-secret"),
        ("XDG_CACHE_HOME", "/tmp/cache-of-ada"),
        ("https_proxy", "http://ada:a-secret@proxy.example:3128"),
        ("CARGO_HOME", "/tmp/cargo-of-ada"),
    ];
    home.set_env(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec());
    let trace = |what: &str| home.root().join("tmp").join(what);
    let record = |what: &str| format!("env >'{}'", trace(what).display());
    let test = format!("{}; {CHECK}", record("check"));
    let create = ["create", "--id", "b1", "--task", "x", "--test", &test, "--setup", &record("setup")];
    home.pairflow(&create).ok();
    home.pairflow(&["start", "b1"]).ok();
    home.wait_for_turn("b1", "codex");
    let codex = home.agent("b1", "codex");
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    home.wait_for_turn("b1", "claude");
    for what in ["check", "setup"] {
        let said = std::fs::read_to_string(trace(what)).unwrap();
        assert!(!said.contains("a-secret"), "{what}: {said}");
        assert!(!said.contains("XDG_RUNTIME_DIR") && !said.contains("XDG_STATE_HOME"), "{what}: {said}");
        for kept in ["https_proxy=http://proxy.example:3128", "XDG_CACHE_HOME=/tmp/cache", "CARGO_HOME=/tmp", "PORT="] {
            assert!(said.contains(kept), "{what} lacks {kept}: {said}");
        }
    }
}
