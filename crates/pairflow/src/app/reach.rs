//! How far a command looks that is about many bubbles: one repository, or all of them.

use std::path::{Path, PathBuf};

use pairflow_engine::engine::{EngineError, Listed};
use pairflow_engine::git::GitError;
use pairflow_engine::workspace::{Location, locate};

use crate::app::App;
use crate::exit::CommandError;
use crate::out::{TakesRepo, line_for};

/// The repositories that a command looks at.
#[derive(Debug, Clone)]
pub struct Reach {
    /// Their roots.
    pub roots: Vec<PathBuf>,
    /// The one that is meant, if it is only one.
    pub place: Option<Location>,
    /// The one around the current directory: commands about it need no `--repo`.
    around: Option<PathBuf>,
    takes_repo: TakesRepo,
}

/// The bubbles of one repository, or why they cannot be listed.
pub(crate) struct Found {
    pub(crate) root: PathBuf,
    pub(crate) bubbles: Result<Vec<Listed>, EngineError>,
}

impl App {
    /// Finds out how far to look: the named repository, else the one around the current directory, else every known
    /// one.
    pub fn reach(&self, named: Option<&Path>) -> Result<Reach, CommandError> {
        let around = match self.cwd().ok().map(locate) {
            Some(Ok(place)) => Some(place),
            Some(Err(GitError::NotARepository { .. })) | None => None,
            Some(Err(_)) if named.is_some() => None,
            Some(Err(error)) => return Err(EngineError::from(error).into()),
        };
        let around_root = around.as_ref().map(|place| place.repo.root.clone());
        let place = named.map(|path| self.place(Some(path))).transpose()?.or(around);
        let roots = match &place {
            Some(place) => vec![place.repo.root.clone()],
            None => self.engine()?.repositories(),
        };
        Ok(Reach { roots, place, around: around_root, takes_repo: self.grammar.takes_repo })
    }

    /// Returns a reach without any repository.
    pub(crate) fn reach_of_none(&self) -> Reach {
        Reach { roots: Vec::new(), place: None, around: None, takes_repo: self.grammar.takes_repo }
    }

    /// Lists the bubbles of every repository in reach. One bad repository does not hide the others.
    pub(crate) fn found(&self, reach: &Reach) -> Result<Vec<Found>, CommandError> {
        let engine = self.engine()?;
        let found = |root: &PathBuf| Found { root: root.clone(), bubbles: engine.list(root) };
        Ok(reach.roots.iter().map(found).collect())
    }
}

impl Reach {
    /// Returns a command line as it has to be typed from the place of the call.
    pub(crate) fn line(&self, line: &str, root: &Path) -> String {
        if self.around.as_deref() == Some(root) {
            return line.to_owned();
        }
        line_for(line, root, self.takes_repo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_another_place_names_the_repository() {
        let reach =
            Reach { roots: Vec::new(), place: None, around: Some("/here".into()), takes_repo: |verb| verb == "ok" };
        assert_eq!(reach.line("pairflow ok x", Path::new("/here")), "pairflow ok x");
        assert_eq!(reach.line("pairflow ok x", Path::new("/a/b")), "pairflow ok x --repo /a/b");
        assert_eq!(reach.line("pairflow ok x", Path::new("/a b/it's")), "pairflow ok x --repo '/a b/it'\\''s'");
    }
}
