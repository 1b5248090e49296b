//! Where the sockets of seats lie.

use std::path::PathBuf;

use pairflow_core::ids::{AgentId, BubbleId};

use crate::engine::Control;
use crate::local_socket::fitting;

/// Returns the path of the socket of one seat. The agent finds it in `PAIRFLOW_SOCKET`.
pub fn seat_path(control: &Control, bubble: &BubbleId, agent: &AgentId) -> PathBuf {
    // With a word in front, no agent's name can be that of another socket of the bubble.
    fitting(&control.runtime(bubble).join(format!("seat-{agent}.sock")))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The longest path that fits a socket address on every system.
    const LONGEST: usize = 100;

    #[test]
    fn a_seat_has_a_path_of_its_own_that_fits_however_long_the_names_are() {
        let long = |length: usize| "x".repeat(length);
        let mut seen = std::collections::BTreeSet::new();
        for repo in ["/r".to_owned(), format!("/{}/{}", long(200), long(200))] {
            for bubble in ["a".to_owned(), "a-b".to_owned(), long(63)] {
                for agent in ["tmux".to_owned(), "a".to_owned(), long(32)] {
                    let control = Control::of(Path::new(&repo));
                    let path = seat_path(&control, &bubble.parse().unwrap(), &agent.parse().unwrap());
                    assert!(path.as_os_str().len() <= LONGEST, "{}", path.display());
                    assert_ne!(path.file_name().unwrap(), "tmux.sock");
                    assert!(seen.insert(path));
                }
            }
        }
    }
}
