//! A repository out of nothing, for the demo: its files, one commit, and an identity of its own.

use std::path::Path;

use super::error::GitError;
use super::repo::Repo;
use super::run::{Call, Git};

/// Who commits in a repository that was made here.
const IDENTITY: (&str, &str) = ("Demo", "demo@example.org");

/// Makes a repository at `root`, an empty directory, with `files` committed on `main`.
///
/// Nothing of the person's own configuration takes part: no template, no hook, no signature.
pub fn seed(root: &Path, files: &[(&str, &str)], message: &str) -> Result<Repo, GitError> {
    for (name, text) in files {
        let path = root.join(name);
        crate::regular::write(&path, text).map_err(|source| GitError::io("write", &path, source))?;
    }
    Git::nowhere().run(Call::new(["init", "--quiet", "--template=", "--initial-branch=main", "--"]).arg(root))?;
    let repo = Repo::locate(root)?;
    let git = repo.git();
    let (name, email) = IDENTITY;
    for (key, value) in [("user.name", name), ("user.email", email), ("commit.gpgSign", "false")] {
        git.run(Call::new(["config", key, value]))?;
    }
    git.run(Call::new(["add", "--all"]))?;
    git.run(Call::new(["commit", "--quiet", "--message", message]))?;
    Ok(repo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seeded_repository_has_its_files_in_one_commit_on_main() {
        let dir = tempfile::tempdir().unwrap();
        let repo = seed(dir.path(), &[("a.txt", "a\n"), ("b.sh", "b\n")], "first").unwrap();
        assert_eq!(repo.current_branch().as_deref(), Some("main"));
        let git = repo.git();
        let log = git.run(Call::new(["log", "--format=%an %ae %s", "--name-only"])).unwrap();
        assert_eq!(String::from_utf8(log.stdout).unwrap(), "Demo demo@example.org first\n\na.txt\nb.sh\n");
        assert!(git.run(Call::new(["status", "--porcelain"])).unwrap().stdout.is_empty());
    }
}
