//! What a process without a caller tells: lines on stderr with the time, from any thread.

use std::io::Write;
use std::sync::Arc;

use pairflow_core::safe::safe;
use pairflow_engine::clock::Clock;

/// Returns a voice for a process that runs on its own.
pub fn herald(clock: Arc<dyn Clock>) -> Arc<dyn Fn(&str) + Send + Sync> {
    Arc::new(move |text| {
        // There is nowhere to report that stderr is closed.
        let _ = writeln!(std::io::stderr(), "{} {}", clock.now().ts, safe(text));
    })
}
