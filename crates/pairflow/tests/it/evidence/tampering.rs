//! Whatever is changed after acceptance, `verify` fails and names it.

use std::path::{Path, PathBuf};

use pairflow_testkit::home::Home;

use crate::support::bubbles::{done, home};

fn bubble(home: &Home) -> PathBuf {
    home.repo.join(".pairflow/bubbles/b1")
}

fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    let mut permissions = std::fs::metadata(path).unwrap().permissions();
    #[allow(clippy::permissions_set_readonly_false, reason = "git keeps its objects read-only")]
    permissions.set_readonly(false);
    std::fs::set_permissions(path, permissions).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_changed_byte_anywhere_in_the_transcript_is_found() {
    let home = home();
    done(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    home.pairflow(&["verify", "b1"]).ok();
    let path = bubble(&home).join("transcript.ndjson");
    let whole = std::fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 40 + 1) {
        flip(&path, at);
        home.pairflow(&["verify", "b1"]).ends(5).says("transcript.ndjson");
        std::fs::write(&path, &whole).unwrap();
    }
    home.pairflow(&["verify", "b1"]).ok();
}

#[test]
fn a_changed_artifact_is_named() {
    let home = home();
    done(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    let checks = bubble(&home).join("artifacts/checks");
    let file = std::fs::read_dir(&checks).unwrap().next().unwrap().unwrap().path();
    let before = std::fs::read(&file).unwrap();
    std::fs::write(&file, "all green, believe me\n").unwrap();
    home.pairflow(&["verify", "b1"]).ends(5).says(&file.file_name().unwrap().to_string_lossy());
    std::fs::write(&file, before).unwrap();
    let package = bubble(&home).join("artifacts/done-package.md");
    flip(&package, 10);
    home.pairflow(&["verify", "b1"]).ends(5).says("done-package.md");
}

#[test]
fn a_moved_ref_and_a_damaged_object_of_a_snapshot_are_named() {
    let home = home();
    done(&home, "b1");
    home.pairflow(&["supervisor", "stop"]).ok();
    let refs = home.git(&["for-each-ref", "--format=%(refname)", "refs/pairflow/b1/"]);
    let name = refs.lines().next().unwrap();
    let old = home.git(&["rev-parse", name]);
    home.git(&["update-ref", name, "main"]);
    home.pairflow(&["verify", "b1"]).ends(5).says(name);
    home.git(&["update-ref", name, &old]);
    home.pairflow(&["verify", "b1"]).ok();
    let blob = home.git(&["rev-parse", &format!("{name}:done.txt")]);
    let object = home.repo.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    let kept = std::fs::read(&object).unwrap();
    flip(&object, kept.len() - 1);
    home.pairflow(&["verify", "b1"]).ends(5).says("refs/pairflow/b1/");
}
