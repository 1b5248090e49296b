//! Directories that are not this user's alone, those of a bubble and the state directory; and bad files in them.

use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use pairflow_testkit::home::Home;

use super::support::{insist_on_root, log_of};
use crate::support::bubbles::{created, home, quiet, started};

/// A user that no test runs as.
const NOBODY: u32 = 65_534;

fn state(home: &Home) -> PathBuf {
    home.root().join("state/pairflow")
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn a_directory_of_another_user_makes_the_bubble_foreign_and_is_named() {
    insist_on_root();
    let home = home();
    created(&home, "b1");
    let clone = format!("git clone {} YOUR-CLONE", home.repo.display());
    for dir in
        [".pairflow", ".pairflow/bubbles", ".pairflow/locks", ".pairflow/bubbles/b1"].map(|dir| home.repo.join(dir))
    {
        chown(&dir, Some(NOBODY), None).unwrap();
        let why = format!("{} belongs to another user", dir.display());
        home.pairflow(&["start", "b1"]).ends(1).says(&why).says(&clone);
        home.pairflow(&["adopt", "b1", "--yes"]).ends(1).says(&why).says(&clone);
        home.pairflow(&["list"]).ok().says(&why).says(&clone);
        chown(&dir, Some(0), None).unwrap();
    }
    chown(home.repo.join(".pairflow"), Some(NOBODY), None).unwrap();
    home.pairflow(&["create", "--id", "b2", "--task", "x", "--test", "true"]).ends(1).says("belongs to another user");
    assert!(!home.repo.join(".pairflow/bubbles/b2").exists(), "nothing was made there");
    chown(home.repo.join(".pairflow"), Some(0), None).unwrap();
    home.pairflow(&["start", "b1"]).ok();
}

#[test]
fn a_state_directory_that_others_can_write_to_is_refused_with_the_command_that_closes_it() {
    let home = home();
    created(&home, "b1");
    for (dir, mode) in [("", 0o775), ("", 0o1777), ("bubbles", 0o702)] {
        let dir = if dir.is_empty() { state(&home) } else { state(&home).join(dir) };
        set_mode(&dir, mode);
        let (why, next) =
            (format!("other users can write to {}", dir.display()), format!("chmod go-w {}", dir.display()));
        home.pairflow(&["start", "b1"]).ends(1).says(&why).says(&next);
        home.pairflow(&["create", "--id", "b2", "--task", "x", "--test", "true"]).ends(1).says(&why).says(&next);
        home.pairflow(&["supervise", "--once"]).says(&why);
        home.pairflow(&["doctor"]).ends(3).says(&why).says(&next);
        set_mode(&dir, 0o755);
    }
    home.pairflow(&["start", "b1"]).ok();
}

#[test]
fn a_state_directory_that_is_anothers_or_none_is_refused_and_one_behind_a_link_is_used() {
    insist_on_root();
    let home = home();
    created(&home, "b1");
    let (state, aside) = (state(&home), home.root().join("aside"));
    chown(&state, Some(NOBODY), None).unwrap();
    home.pairflow(&["start", "b1"]).ends(1).says("belongs to another user").says("XDG_STATE_HOME");
    chown(&state, Some(0), None).unwrap();
    std::fs::rename(&state, &aside).unwrap();
    std::fs::write(&state, "").unwrap();
    home.pairflow(&["start", "b1"]).ends(3).says("is not a directory").says("move that file away");
    std::fs::remove_file(&state).unwrap();
    symlink(&aside, &state).unwrap();
    home.pairflow(&["start", "b1"]).ok();
}

#[test]
fn what_is_advised_for_a_linked_control_directory_is_not_to_adopt_it() {
    let home = home();
    created(&home, "b1");
    let (control, aside) = (home.repo.join(".pairflow"), home.root().join("aside"));
    std::fs::rename(&control, &aside).unwrap();
    symlink(&aside, &control).unwrap();
    let next = format!("mv {0} {0}.old", control.display());
    for args in [&["list"][..], &["status", "b1"], &["inbox"], &["doctor"], &["start", "b1"], &["adopt", "b1"], &[]] {
        let said = home.pairflow(args).says(&next);
        assert!(!format!("{}{}", said.stdout, said.stderr).contains("pairflow adopt"), "{args:?}:\n{}", said.stderr);
    }
}

/// Returns the directory with the records of the only repository.
fn records(home: &Home) -> PathBuf {
    let mut found = std::fs::read_dir(state(home).join("bubbles")).unwrap();
    found.next().unwrap().unwrap().path()
}

#[test]
fn a_key_or_a_note_that_is_no_regular_file_is_named_with_what_to_do() {
    let home = home();
    started(&home, "b1");
    quiet(&home);
    let aside = home.root().join("aside");
    for file in [records(&home).join("b1.head"), state(&home).join("key")] {
        std::fs::rename(&file, &aside).unwrap();
        for kind in ["mkfifo", "mkdir", "ln -s /dev/zero"] {
            let made = Command::new("sh").args(["-c", &format!("{kind} \"$0\"")]).arg(&file).status().unwrap();
            assert!(made.success());
            let refused = home.pairflow(&["pause", "b1"]).ends(3).says(&file.display().to_string());
            refused.says("is not a regular file of yours; move it away");
            std::fs::rename(&file, home.root().join("moved")).unwrap();
            let _ = std::fs::remove_file(home.root().join("moved"));
            let _ = std::fs::remove_dir(home.root().join("moved"));
        }
        std::fs::rename(&aside, &file).unwrap();
    }
    // Without the note the record counts.
    std::fs::remove_file(records(&home).join("b1.head")).unwrap();
    home.pairflow(&["pause", "b1"]).ok();
}

#[test]
fn a_log_with_a_hole_of_a_terabyte_is_damaged_and_exhausts_nothing() {
    let home = home();
    started(&home, "b1");
    quiet(&home);
    let log = log_of(&home.repo, "b1");
    std::fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(1 << 40).unwrap();
    for args in [&["status", "b1"][..], &["pause", "b1"], &["verify", "b1"]] {
        home.pairflow(args).ends(5).says("is damaged");
    }
    home.pairflow(&["doctor"]).says("is damaged").says("pairflow doctor --repair");
    home.pairflow(&["list"]).says("is damaged");
}

#[test]
fn a_record_that_cannot_be_read_is_named_and_written_again_from_its_note() {
    let home = home();
    started(&home, "b1");
    quiet(&home);
    let record = records(&home).join("b1.json");
    std::fs::write(&record, "{\"repo\":").unwrap();
    home.pairflow(&["doctor"]).ends(3).says(&record.display().to_string()).says("pairflow doctor --repair");
    home.pairflow(&["doctor", "--repair", "--yes"]).says("b1: rewrote").says(&record.display().to_string());
    let said = home.pairflow(&["doctor"]);
    assert!(!said.stdout.contains("cannot be read"), "{}", said.stdout);
    home.pairflow(&["pause", "b1"]).ok();
    // Without a note nobody knows what it said.
    std::fs::write(&record, "{\"repo\":").unwrap();
    std::fs::remove_file(record.with_extension("head")).unwrap();
    home.pairflow(&["doctor", "--repair", "--yes"]).says("pairflow adopt --all");
}

#[test]
fn a_command_that_is_recorded_says_so_when_no_supervisor_can_be_started() {
    let home = home();
    started(&home, "b1");
    quiet(&home);
    let log = state(&home).join("supervisor.log");
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    let failed = home.pairflow(&["pause", "b1"]).ends(3).says("recorded in bubble b1, but not carried out");
    failed.says(&log.display().to_string()).says("pairflow supervise --once");
    assert_eq!(home.status("b1")["paused"], true);
}

#[test]
fn a_repair_writes_nothing_through_a_link_in_the_bubbles_directory() {
    let home = home();
    let other = crate::support::bubbles::home();
    started(&other, "b1");
    quiet(&other);
    let (dir, target) = (home.repo.join(".pairflow/bubbles/b1"), home.root().join("target"));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::create_dir_all(&target).unwrap();
    let text = std::fs::read_to_string(log_of(&other.repo, "b1")).unwrap();
    std::fs::write(log_of(&home.repo, "b1"), text.replacen("\"seq\":2", "\"seq\":7", 1)).unwrap();
    for name in ["quarantine", "artifacts"] {
        symlink(&target, dir.join(name)).unwrap();
        let next = format!("mv {0} {0}.old", dir.join(name).display());
        home.pairflow(&["doctor", "--repair", "--yes"]);
        home.pairflow(&["adopt", "b1", "--yes"]).ends(1).says(&next);
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0, "{name} was followed");
        std::fs::remove_file(dir.join(name)).unwrap();
    }
    home.pairflow(&["doctor", "--repair", "--yes"]).says("the damaged log is in");
    home.pairflow(&["adopt", "b1", "--yes"]).ok();
}
