//! How far a soak has come: a file beside the build that belongs to one commit.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::rows::{Counts, ROWS, Row};
use crate::programs::target;
use crate::say;

/// How `git describe` marks a tree with changes.
const DIRTY: &str = "-dirty";

/// What was done of one row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Done {
    /// How many.
    pub(super) count: u64,
    /// How long that took.
    pub(super) secs: f64,
    /// What came of it.
    pub(super) counts: Counts,
}

/// What was done of all rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The commit that it was done with.
    pub(super) commit: String,
    /// By the name of the row.
    pub(super) rows: BTreeMap<String, Done>,
    /// What failed. It is not forgotten by doing the same share again.
    #[serde(default)]
    pub(super) failed: Vec<String>,
    #[serde(skip)]
    file: PathBuf,
}

impl Progress {
    /// Reads what was done at the present commit, or starts from nothing. A tree with changes has no commit, so what was
    /// done with it is never continued.
    pub(super) fn read(fresh: bool) -> anyhow::Result<Self> {
        let kept = target()?.join("soak.json");
        Self::at(kept, present_commit()?, fresh)
    }

    fn at(file: PathBuf, commit: String, fresh: bool) -> anyhow::Result<Self> {
        let again = || "`cargo xtask soak --fresh` starts again from nothing";
        let kept = match std::fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            _ if fresh => None,
            read => {
                let text = read.with_context(|| format!("cannot read {}; {}", file.display(), again()))?;
                let kept: Self = serde_json::from_str(&text)
                    .with_context(|| format!("{} is not the progress of a soak; {}", file.display(), again()))?;
                Some(kept)
            }
        };
        let other = kept.as_ref().filter(|kept| kept.commit != commit || commit.ends_with(DIRTY));
        if let Some(kept) = other {
            say::progress(format_args!("{} was done at {}: starting from nothing", file.display(), kept.commit));
        }
        Ok(match kept.filter(|kept| kept.commit == commit && !commit.ends_with(DIRTY)) {
            Some(kept) => Self { file, ..kept },
            None => Self { file, commit, ..Self::default() },
        })
    }

    /// Returns what was done of a row.
    pub(super) fn of(&self, row: &Row) -> Done {
        self.rows.get(row.name).cloned().unwrap_or_default()
    }

    /// Adds a share, and writes it down.
    pub(super) fn add(&mut self, row: &Row, count: u64, secs: f64, counts: Counts) -> anyhow::Result<()> {
        let done = self.rows.entry(row.name.to_owned()).or_default();
        done.count += count;
        done.secs += secs;
        for (name, more) in counts {
            *done.counts.entry(name).or_default() += more;
        }
        self.write()
    }

    /// Keeps a failure.
    pub(super) fn fail(&mut self, what: String) -> anyhow::Result<()> {
        self.failed.push(what);
        self.write()
    }

    fn write(&self) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self).context("progress is plain data")?;
        replace(&self.file, &text).with_context(|| format!("cannot write {}", self.file.display()))
    }

    /// Returns the row that has had the least time, among those that are not done.
    pub(super) fn next(&self) -> Option<&'static Row> {
        let open = ROWS.iter().filter(|row| self.of(row).count < row.full);
        open.min_by(|one, other| self.of(one).secs.total_cmp(&self.of(other).secs))
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | done | of | time | result |\n|---|---|---|---|---|")?;
        for row in ROWS {
            let Done { count, secs, counts } = self.of(row);
            let result: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
            writeln!(f, "| {} | {count} | {} | {secs:.0} s | {} |", row.name, row.full, result.join(", "))?;
        }
        self.failed.iter().try_for_each(|what| writeln!(f, "FAILED: {what}"))
    }
}

fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let beside = file.with_extension("new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, file)
}

/// The commit that is checked out, with a mark if files differ from it.
fn present_commit() -> anyhow::Result<String> {
    let words = ["describe", "--always", "--abbrev=40", "--dirty"];
    let output = Command::new("git").args(words).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let output = output.context("cannot start git")?;
    anyhow::ensure!(output.status.success(), "git {} failed", words.join(" "));
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_with_the_least_time_is_next_and_a_row_that_is_done_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let mut progress = Progress { file: dir.path().join("soak.json"), ..Progress::default() };
        assert_eq!(progress.next().map(|row| row.name), Some(ROWS[0].name));
        progress.add(&ROWS[0], 1, 9.0, Counts::new()).unwrap();
        assert_eq!(progress.next().map(|row| row.name), Some(ROWS[1].name));
        for row in &ROWS[1..] {
            progress.add(row, row.full, 1.0, Counts::new()).unwrap();
        }
        assert_eq!(progress.next().map(|row| row.name), Some(ROWS[0].name));
        progress.add(&ROWS[0], ROWS[0].full, 1.0, Counts::new()).unwrap();
        assert!(progress.next().is_none());
    }

    #[test]
    fn progress_is_continued_at_its_own_commit_only_and_never_lost_in_silence() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("soak.json");
        let read = |commit: &str, fresh| Progress::at(file.clone(), commit.to_owned(), fresh);
        read("one", false).unwrap().add(&ROWS[0], 7, 1.0, Counts::new()).unwrap();
        let done = |commit: &str, fresh| read(commit, fresh).unwrap().of(&ROWS[0]).count;
        assert_eq!([done("one", false), done("one", true), done("two", false)], [7, 0, 0]);
        read("one", false).unwrap().fail("a race had two winners".to_owned()).unwrap();
        assert_eq!(read("one", false).unwrap().failed, ["a race had two winners"]);
        read("one-dirty", false).unwrap().add(&ROWS[0], 7, 1.0, Counts::new()).unwrap();
        assert_eq!(done("one-dirty", false), 0, "another change may have been there");
        std::fs::write(&file, "{").unwrap();
        assert!(read("one", false).unwrap_err().to_string().contains("--fresh"));
        assert_eq!(done("one", true), 0);
    }

    #[test]
    fn shares_are_added_up_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut progress = Progress { file: dir.path().join("soak.json"), ..Progress::default() };
        let won = |count| Counts::from([("won".to_owned(), count)]);
        progress.add(&ROWS[0], 2, 0.5, won(3)).unwrap();
        progress.add(&ROWS[0], 1, 0.5, won(4)).unwrap();
        let kept: Progress = serde_json::from_slice(&std::fs::read(&progress.file).unwrap()).unwrap();
        assert_eq!(kept.of(&ROWS[0]), Done { count: 3, secs: 1.0, counts: won(7) });
        assert!(progress.to_string().contains("| simulated lives | 3 | 10000000 | 1 s | 7 won |"), "{progress}");
    }
}
