//! A home for the program under test.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pairflow_testkit::home::Home;

/// The program under test: the one at `PAIRFLOW_BIN`, or the one that was just built.
pub(crate) fn program() -> PathBuf {
    std::env::var_os("PAIRFLOW_BIN").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_pairflow")), PathBuf::from)
}

/// Makes a home for the program under test.
pub(crate) fn home() -> Home {
    Home::new(program())
}

/// Returns the log of a bubble, a line at a time.
pub(crate) fn log(home: &Home, id: &str) -> Vec<serde_json::Value> {
    let path = home.repo.join(".pairflow/bubbles").join(id).join("transcript.ndjson");
    let text = std::fs::read_to_string(path).expect("a bubble has a log");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// Looks again and again until `found` has something; nothing comes back when `limit` has passed.
pub(crate) fn within<T>(limit: Duration, mut found: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + limit;
    loop {
        let result = found();
        if result.is_some() || Instant::now() >= until {
            return result;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
