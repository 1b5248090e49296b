//! Processes of this machine, found by their environment: a child keeps it whatever becomes of its parent.

use std::path::{Path, PathBuf};

/// Returns the processes that work for a bubble: those that name both it and its repository.
pub fn processes_of(repo: &Path, bubble: &str) -> Vec<String> {
    let (repo, id) = (format!("PAIRFLOW_REPO={}", repo.display()), format!("PAIRFLOW_BUBBLE={bubble}"));
    processes(|environ| {
        let has = |wanted: &str| environ.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes());
        has(&repo) && has(&id)
    })
}

/// Returns the processes whose environment names `dir`: everything that was started with it as its place.
pub fn processes_in(dir: &Path) -> Vec<String> {
    let wanted = dir.display().to_string();
    processes(|environ| String::from_utf8_lossy(environ).contains(&wanted))
}

/// Returns number and command line of each process whose environment `ours` says yes to.
fn processes(ours: impl Fn(&[u8]) -> bool) -> Vec<String> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let line = |process: PathBuf| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        format!("{}: {}", process.display(), String::from_utf8_lossy(&line).replace('\0', " "))
    };
    all.filter(|process| std::fs::read(process.join("environ")).is_ok_and(|bytes| ours(&bytes))).map(line).collect()
}
