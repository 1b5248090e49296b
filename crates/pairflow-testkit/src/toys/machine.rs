//! The machine: a home, the toy, and the repositories.

use std::path::PathBuf;
use std::time::Duration;

use crate::home::{Home, write_program};

/// The script that stands in for both agent CLIs.
const TOY: &str = include_str!("toy.sh");

/// A play with one finding: four turns and the second review.
pub const PLAY_FINDING: &str = r#"
act() {
  case $seat-$round in
    implementer-1) briefed; echo one >work.txt; pairflow pass --summary 'first cut' ;;
    reviewer-1) pairflow pass --summary 'read it' --finding 'P1:no rollback' ;;
    implementer-2) echo two >work.txt; pairflow pass --summary 'rolled back' --fixed F1 ;;
    *) explain | pairflow pass --summary 'all is well' --no-findings --explain - ;;
  esac
}
"#;

/// How often pairflow looks at a pane here. Toys draw at once; the real programs have four times as long.
pub const LOOK: Duration = Duration::from_millis(500);

/// A home whose agents `codex` and `claude` are toys.
pub struct Machine {
    /// The home of pairflow and its first repository.
    pub home: Home,
    /// Every repository with bubbles.
    repos: std::sync::Mutex<Vec<PathBuf>>,
}

impl Machine {
    /// Makes a machine for the program at `program`. `play` is bash and changes what the toys do; `config` is added to
    /// the person's configuration.
    ///
    /// # Panics
    /// If its files cannot be written.
    pub fn new(program: impl Into<PathBuf>, play: &str, config: &str) -> Self {
        let mut home = Home::new(program);
        home.set_limits(&limits(""));
        let dir = home.root().join("toy");
        for name in ["notes", "given"] {
            std::fs::create_dir_all(dir.join(name)).unwrap();
        }
        write_program(&dir.join("toy"), TOY);
        std::fs::write(dir.join("play"), play).unwrap();
        let toy = dir.join("toy").display().to_string();
        let agents = ["codex", "claude"].map(|agent| format!("[agent.{agent}]\ncommand = [\"{toy}\"]\n")).concat();
        let config = format!("driver = \"tmux\"\n{config}\n{agents}[notifications]\nenabled = false\n");
        std::fs::write(home.root().join("config/pairflow/config.toml"), config).unwrap();
        Self { repos: std::sync::Mutex::new(vec![home.repo.clone()]), home }
    }

    /// Has everything from here on run with these time limits as well, such as `notice_pasted=2000`.
    pub fn limit(&mut self, more: &str) {
        self.home.set_limits(&limits(more));
    }

    /// Returns a file beside the toy.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.home.root().canonicalize().unwrap().join("toy").join(name)
    }

    /// Makes a file beside the toy, for which toys wait.
    pub fn open(&self, gate: &str) {
        std::fs::write(self.beside(gate), "").unwrap();
    }

    /// Makes a further repository.
    pub fn repo(&self, name: &str) -> PathBuf {
        let repo = self.home.repo.with_file_name(name);
        std::fs::create_dir_all(&repo).unwrap();
        self.home.git_in(&repo, &["init", "--quiet", "--initial-branch=main"]);
        self.home.git_in(&repo, &["commit", "--quiet", "--allow-empty", "-m", "first commit"]);
        self.repos.lock().unwrap().push(repo.clone());
        repo
    }
}

fn limits(more: &str) -> String {
    let look = format!("screen_look={}", LOOK.as_millis());
    if more.is_empty() { look } else { format!("{look},{more}") }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Panes outlive a supervisor on purpose, but not the machine that they belong to.
        for repo in self.repos.lock().unwrap().iter() {
            let bubbles = std::fs::read_dir(repo.join(".pairflow/bubbles")).into_iter().flatten().flatten();
            for bubble in bubbles {
                let id = bubble.file_name().to_string_lossy().into_owned();
                let _ = self.home.command(&["stop", &id, "--yes"]).current_dir(repo).output();
            }
        }
    }
}
