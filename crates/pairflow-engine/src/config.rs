//! Finds and reads the files that configure a bubble. What they mean is decided in the core.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pairflow_core::config::{ConfigError, ConfigErrors, ConfigSource, Layer, Layers};
use pairflow_core::ids::BubbleId;

use crate::regular::{Symlinks, open_at};

/// No configuration that a person wrote is larger.
const MOST_BYTES: u64 = 256 * 1024;

/// Where configuration is looked for.
#[derive(Debug, Clone, Copy)]
pub struct ConfigFiles<'a> {
    /// The root of the repository.
    pub repo: &'a Path,
    /// The person's own file, if there is a place for one.
    pub user: Option<&'a Path>,
    /// The bubble whose own file is read.
    pub bubble: Option<&'a BubbleId>,
}

/// Why the configuration of a bubble cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file is there and cannot be read.
    #[error("cannot read {}: {source}; make it readable or remove it", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is there and is no configuration.
    #[error("{} is larger than {MOST_BYTES} bytes, so it is not a configuration file; remove it", .0.display())]
    TooLarge(PathBuf),
    /// A repository's file is a link, which could lead to any file of the user.
    #[error("{} is a symbolic link; the configuration of a repository must be a regular file, so replace the link with its target", .0.display())]
    Link(PathBuf),
    /// The files have mistakes.
    #[error(transparent)]
    Invalid(#[from] ConfigErrors),
}

impl ConfigFiles<'_> {
    /// Reads every file and puts the flags above them. A missing file sets nothing.
    ///
    /// # Errors
    ///
    /// The first file that cannot be read, or every mistake of all files.
    pub fn load(&self, flags: Layer) -> Result<Layers, LoadError> {
        let mut errors = Vec::new();
        let bubble = self.own(&mut errors)?;
        let repo = layer(Some(&self.repo.join("pairflow.toml")), ConfigSource::Repository, &mut errors)?;
        let user = layer(self.user, ConfigSource::User, &mut errors)?;
        Ok(ConfigErrors::unless_any(errors, Layers { flags, bubble, repo, user })?)
    }

    /// Reads the bubble's own file and no other.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or every mistake in it.
    pub fn load_bubble(&self) -> Result<Layer, LoadError> {
        let mut errors = Vec::new();
        let bubble = self.own(&mut errors)?;
        Ok(ConfigErrors::unless_any(errors, bubble)?)
    }

    fn own(&self, errors: &mut Vec<ConfigError>) -> Result<Layer, LoadError> {
        let own = self.bubble.map(|id| bubble_file(self.repo, id));
        let bubble = layer(own.as_deref(), ConfigSource::Bubble, errors)?;
        errors.extend(self.foreign_id(&bubble));
        errors.extend(self.moved(&bubble));
        Ok(bubble)
    }

    /// Complains about a bubble's file that lies in the directory of another bubble.
    fn foreign_id(&self, bubble: &Layer) -> Option<ConfigError> {
        let (set, id) = (bubble.id.as_ref()?, self.bubble?);
        let place = set.origin.place().filter(|_| set.value != *id)?;
        let message = format!("id = \"{}\" is not the bubble of this directory, {id}", set.value);
        Some(ConfigError::new(place.clone(), &message).with_hint(&format!("write id = \"{id}\"")))
    }

    /// Complains about a bubble's file that was written for a repository elsewhere.
    fn moved(&self, bubble: &Layer) -> Option<ConfigError> {
        let set = bubble.repo_path.as_ref()?;
        let place = set.origin.place().filter(|_| !is_same(Path::new(&set.value), self.repo))?;
        let here = self.repo.display();
        let message = format!("repo_path = {:?} is not this repository, {here}; it was moved or copied", set.value);
        let hint = format!("write repo_path = \"{here}\", and run `git worktree repair` if its worktrees moved too");
        Some(ConfigError::new(place.clone(), &message).with_hint(&hint))
    }
}

/// Reads the person's own file, which is at `path`.
///
/// # Errors
///
/// A file that cannot be read, or every mistake in it.
pub fn person_layer(path: &Path) -> Result<Layer, LoadError> {
    let mut errors = Vec::new();
    let user = layer(Some(path), ConfigSource::User, &mut errors)?;
    Ok(ConfigErrors::unless_any(errors, user)?)
}

/// Returns the file of a bubble.
pub fn bubble_file(repo: &Path, id: &BubbleId) -> PathBuf {
    repo.join(".pairflow").join("bubbles").join(id.as_str()).join("bubble.toml")
}

fn layer(path: Option<&Path>, source: ConfigSource, errors: &mut Vec<ConfigError>) -> Result<Layer, LoadError> {
    let Some(path) = path else { return Ok(Layer::default()) };
    let links = if source == ConfigSource::Repository { Symlinks::Refuse } else { Symlinks::Follow };
    let Some(bytes) = read(path, links)? else { return Ok(Layer::default()) };
    Ok(Layer::parse_bytes(&path.display().to_string(), &bytes, source).unwrap_or_else(|more| {
        errors.extend(more.0);
        Layer::default()
    }))
}

fn read(path: &Path, links: Symlinks) -> Result<Option<Vec<u8>>, LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
    let file = match open_at(path, links) {
        Ok(file) => file,
        Err(_) if links == Symlinks::Refuse && path.is_symlink() => {
            return Err(LoadError::Link(path.to_owned()));
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error)),
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES { Err(LoadError::TooLarge(path.to_owned())) } else { Ok(Some(bytes)) }
}

/// Whether two paths lead to the same directory, also through a symbolic link.
fn is_same(left: &Path, right: &Path) -> bool {
    left == right || matches!((left.canonicalize(), right.canonicalize()), (Ok(left), Ok(right)) if left == right)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pairflow_core::config::{Set, resolve};

    use super::*;

    struct Place {
        root: tempfile::TempDir,
        repo: PathBuf,
        user: PathBuf,
        id: BubbleId,
    }

    impl Place {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let repo = root.path().join("repo");
            let id: BubbleId = "b1".parse().unwrap();
            fs::create_dir_all(bubble_file(&repo, &id).parent().unwrap()).unwrap();
            let user = root.path().join("config.toml");
            Self { root, repo, user, id }
        }

        fn write(&self, file: &Path, text: &str) {
            fs::write(file, text).unwrap();
        }

        fn write_bubble(&self, id: &str, repo_path: &Path, more: &str) {
            let text =
                format!("id = \"{id}\"\nrepo_path = \"{}\"\nbase_branch = \"main\"\n{more}", repo_path.display());
            self.write(&bubble_file(&self.repo, &self.id), &text);
        }

        fn load(&self) -> Result<Layers, LoadError> {
            let files = ConfigFiles { repo: &self.repo, user: Some(&self.user), bubble: Some(&self.id) };
            files.load(Layer::default())
        }

        fn rounds(&self) -> (u32, String) {
            let resolved = resolve(&self.load().unwrap()).unwrap();
            let row = resolved.explained.iter().find(|row| row.key == "max_rounds").unwrap();
            (resolved.rules.max_rounds, row.source.to_string())
        }

        fn errors(&self) -> Vec<String> {
            match self.load().unwrap_err() {
                LoadError::Invalid(errors) => errors.0.iter().map(ToString::to_string).collect(),
                other => panic!("expected mistakes in a file, not {other}"),
            }
        }
    }

    #[test]
    fn missing_files_set_nothing() {
        let place = Place::new();
        assert_eq!(place.load().unwrap(), Layers::default());
        let nowhere = place.root.path().join("nowhere");
        let files = ConfigFiles { repo: &nowhere, user: None, bubble: None };
        assert_eq!(files.load(Layer::default()).unwrap(), Layers::default());
    }

    #[test]
    fn the_nearer_file_wins_and_is_named_with_its_line() {
        let place = Place::new();
        place.write_bubble("b1", &place.repo, "");
        assert_eq!(place.rounds(), (8, "default".to_owned()));
        place.write(&place.user, "max_rounds = 5\n");
        assert_eq!(place.rounds(), (5, format!("{}:1", place.user.display())));
        let shared = place.repo.join("pairflow.toml");
        place.write(&shared, "\nmax_rounds = 6\n");
        assert_eq!(place.rounds(), (6, format!("{}:2", shared.display())));
        place.write_bubble("b1", &place.repo, "max_rounds = 7\n");
        assert_eq!(place.rounds(), (7, format!("{}:4", bubble_file(&place.repo, &place.id).display())));
        let flags = Layer::from_flags(Layer { max_rounds: Some(Set::flag(2)), ..Layer::default() }).unwrap();
        let files = ConfigFiles { repo: &place.repo, user: Some(&place.user), bubble: Some(&place.id) };
        assert_eq!(resolve(&files.load(flags).unwrap()).unwrap().rules.max_rounds, 2);
    }

    #[test]
    fn the_mistakes_of_all_files_come_together() {
        let place = Place::new();
        place.write_bubble("b1", &place.repo, "max_round = 7\n");
        place.write(&place.repo.join("pairflow.toml"), "id = \"b1\"\n");
        place.write(&place.user, "max_rounds = \n");
        let errors = place.errors();
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert!(errors[0].contains("bubble.toml:4:1: unknown key `max_round`"), "{errors:?}");
        assert!(errors[1].contains("pairflow.toml:1:1: id belongs to one bubble"), "{errors:?}");
        assert!(errors[2].contains("config.toml:1:"), "{errors:?}");
    }

    #[test]
    fn the_id_has_to_be_that_of_the_directory() {
        let place = Place::new();
        place.write_bubble("b2", &place.repo, "");
        let file = bubble_file(&place.repo, &place.id);
        let message = "id = \"b2\" is not the bubble of this directory, b1 (write id = \"b1\")";
        assert_eq!(place.errors(), [format!("{}:1:6: {message}", file.display())]);
    }

    #[test]
    fn a_moved_repository_is_told_with_the_fix() {
        let place = Place::new();
        place.write_bubble("b1", Path::new("/old/place"), "");
        let errors = place.errors();
        assert!(
            errors[0].contains("bubble.toml:2:13: repo_path = \"/old/place\" is not this repository"),
            "{errors:?}"
        );
        assert!(errors[0].contains(&format!("write repo_path = \"{}\"", place.repo.display())), "{errors:?}");
    }

    #[test]
    fn a_link_to_the_repository_is_the_repository() {
        let place = Place::new();
        let link = place.root.path().join("link");
        std::os::unix::fs::symlink(&place.repo, &link).unwrap();
        place.write_bubble("b1", &link, "");
        assert!(place.load().is_ok());
    }

    #[test]
    fn a_repositorys_file_is_not_read_through_a_link() {
        let place = Place::new();
        let (link, inside, outside) =
            (place.repo.join("pairflow.toml"), place.repo.join("other.toml"), place.root.path().join("outside"));
        for target in [&inside, &outside] {
            place.write(target, "max_rounds = 3\n");
            std::os::unix::fs::symlink(target, &link).unwrap();
            let error = place.load().unwrap_err();
            assert!(matches!(&error, LoadError::Link(path) if *path == link), "{error}");
            assert!(error.to_string().contains("is a symbolic link"), "{error}");
            fs::remove_file(&link).unwrap();
        }
        // The person's own file may well be kept elsewhere.
        std::os::unix::fs::symlink(&outside, &place.user).unwrap();
        place.write_bubble("b1", &place.repo, "");
        assert_eq!(place.rounds().0, 3);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let place = Place::new();
        fs::create_dir(&place.user).unwrap();
        let error = place.load().unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot read {}: ", place.user.display())), "{error}");
        fs::remove_dir(&place.user).unwrap();
        place.write(&place.user, &"#".repeat(MOST_BYTES as usize + 1));
        assert!(matches!(place.load(), Err(LoadError::TooLarge(path)) if path == place.user));
        fs::write(&place.user, b"x = \"\xff\"").unwrap();
        assert!(place.errors()[0].ends_with("config.toml:1:6: byte 5 is no UTF-8 text"));
    }
}
