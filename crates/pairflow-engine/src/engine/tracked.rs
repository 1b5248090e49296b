//! Whether a repository has pairflow's own directory among its tracked files: then logs come and go with commits.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use pairflow_core::hash::sha256;

use crate::engine::{Control, Engine};
use crate::git::{Call, Repo};
use crate::regular;

impl Engine {
    /// Whether git tracks anything below `.pairflow/`. git is asked only when its index has changed since the last call.
    pub fn tracks_control(&self, repo: &Repo) -> bool {
        if !Control::of(&repo.root).dir().exists() {
            return false;
        }
        let Ok(index) = std::fs::metadata(repo.common_dir.join("index")) else { return false };
        let now = format!("{} {} {} {}", index.ino(), index.len(), index.mtime(), index.mtime_nsec());
        let memo = self.tracked_memo(repo);
        let known = regular::read_text(&memo).unwrap_or_default();
        if let Some(answer) = known.strip_prefix(&now) {
            return answer == " yes";
        }
        let Ok(listed) = repo.git().run(Call::new(["ls-files", "--cached", "-z", "--", ".pairflow"])) else {
            return false;
        };
        let tracked = !listed.stdout.is_empty();
        // A memo that cannot be written costs time only; without a state directory there is nothing to remember for.
        let _ = regular::write(&memo, format!("{now} {}", if tracked { "yes" } else { "no" }));
        tracked
    }

    fn tracked_memo(&self, repo: &Repo) -> PathBuf {
        let place = sha256(repo.root.as_os_str().as_encoded_bytes());
        self.dirs.state.join(format!("tracked-{}", &place[..16]))
    }
}
