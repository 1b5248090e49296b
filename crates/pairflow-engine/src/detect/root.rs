//! The files at the root of a repository, as far as a guess needs them. What cannot be read is not there.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// More than this of a build file says nothing new.
const MOST_BYTES: u64 = 1024 * 1024;
/// More names than this in one directory are not looked at.
const MOST_NAMES: usize = 10_000;

pub(super) struct Root {
    path: PathBuf,
}

impl Root {
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.path.join(name).is_file()
    }

    /// Returns the first of `names` that is a file.
    pub(super) fn first<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().copied().find(|name| self.has(name))
    }

    pub(super) fn read(&self, name: &str) -> Option<String> {
        let path = self.path.join(name);
        let file = crate::regular::open(&path).ok()?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Whether the TOML or INI file `name` has a table `table` or one beneath it.
    pub(super) fn has_table(&self, name: &str, table: &str) -> bool {
        let beneath = |rest: &str| rest.is_empty() || rest.starts_with('.');
        let header = |line: &str| Some(line.trim().strip_prefix('[')?.split(']').next()?.trim().to_owned());
        let text = self.read(name).unwrap_or_default();
        text.lines().filter_map(header).any(|found| found.strip_prefix(table).is_some_and(beneath))
    }

    /// Returns the names in a directory in alphabetical order.
    pub(super) fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path.join(directory)) else { return Vec::new() };
        let name = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
        let mut names: Vec<_> = entries.take(MOST_NAMES).filter_map(name).collect();
        names.sort();
        names
    }
}
