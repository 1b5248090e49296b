//! Command lines for a repository that is not the one around the current directory.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use pairflow_engine::verbs::locate;

use crate::app::{App, quoted};
use crate::table::find;

impl App {
    /// Returns the repository that the command line names, unless it is the one around the current directory anyway.
    pub(crate) fn elsewhere(&self, matches: &ArgMatches) -> Option<PathBuf> {
        let named = matches.try_get_one::<PathBuf>("repo").ok().flatten()?;
        let root = |path: &Path| locate(path).ok().map(|place| place.repo.root);
        let cwd = self.cwd().ok()?;
        let named = root(&cwd.join(named))?;
        Some(named).filter(|named| root(cwd).as_ref() != Some(named))
    }

    /// Returns a command line as it has to be typed here.
    pub(crate) fn line_here(&self, line: String) -> String {
        self.there.get().map_or_else(|| line.clone(), |root| line_for(&line, root))
    }
}

/// Returns a command line as it has to be typed to mean the repository at `root`. A line that names a repository, or
/// whose verb is about none, is left as it is.
pub(crate) fn line_for(line: &str, root: &Path) -> String {
    let repo = format!(" --repo {}", quoted(&root.display().to_string()));
    let verb = line.strip_prefix("pairflow ").and_then(|rest| rest.split(' ').next());
    let takes =
        |verb: &str| find(verb).is_some_and(|entry| entry.build().get_arguments().any(|arg| arg.get_id() == "repo"));
    if verb.is_some_and(takes) && !line.contains(" --repo ") && !line.ends_with(" --help") {
        format!("{line}{repo}")
    } else {
        line.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_repository_where_its_verb_takes_one() {
        let there = Path::new("/a b");
        for (line, full) in [
            ("pairflow ok x", "pairflow ok x --repo '/a b'"),
            ("pairflow reply x --message '…'", "pairflow reply x --message '…' --repo '/a b'"),
            ("pairflow list --repo /c", "pairflow list --repo /c"),
            ("pairflow supervisor status", "pairflow supervisor status"),
            ("git switch main", "git switch main"),
        ] {
            assert_eq!(line_for(line, there), full);
        }
    }
}
