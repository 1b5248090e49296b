//! Calls about a repository that is not the one around the current directory.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use pairflow_engine::workspace::locate;

use crate::app::App;
use crate::out::line_for;

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
        self.there.get().map_or_else(|| line.clone(), |root| line_for(&line, root, self.grammar.takes_repo))
    }
}
