//! Where programs are. Nothing is started.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::app::App;

/// What to do when tmux is missing.
pub(crate) const INSTALL_TMUX: &str = "install tmux with your package manager";

impl App {
    /// Finds a program as a shell would: by its name on PATH, or by its path.
    pub(crate) fn on_path(&self, program: &str) -> Option<PathBuf> {
        if program.contains('/') {
            return self.resolve(Path::new(program)).ok().filter(|file| runs(file));
        }
        let path = self.env.get("PATH")?;
        let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
        dirs.map(|dir| dir.join(program)).find(|file| runs(file))
    }
}

fn runs(file: &Path) -> bool {
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}
