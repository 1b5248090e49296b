//! Many bubbles of toys at once.

use std::path::Path;

use super::bubble::Own;
use super::machine::Machine;

/// How many bubbles of a crowd are started, or stopped, at the same time.
const WORKERS: usize = 4;

/// Has `count` bubbles get to their approval side by side, each with its own notices.
///
/// # Panics
/// If one of them does not.
pub fn live_together(program: &Path, count: u64) {
    let machine = Machine::new(program, "", "");
    let ids: Vec<String> = (0..count).map(|number| format!("b{number}")).collect();
    let bubbles = side_by_side(&ids, |id| machine.start(id));
    for bubble in &bubbles {
        bubble.wait_for_state("READY_FOR_APPROVAL");
        is_told_its_own(bubble);
    }
    side_by_side(&bubbles, Own::stop);
}

/// Insists that every prompt of both toys names their own bubble, and that no notice came twice.
///
/// # Panics
/// If it is not so.
#[track_caller]
pub fn is_told_its_own(bubble: &Own<'_>) {
    for (agent, least) in [("codex", 2), ("claude", 2)] {
        let notes = bubble.notes(agent);
        assert!(notes.len() >= least, "{agent} of {}: {notes:?}", bubble.id);
        assert!(notes.iter().all(|note| note.whose == bubble.id), "{agent} of {}: {notes:?}", bubble.id);
        let mut numbers: Vec<_> = notes.iter().map(|note| note.number).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), notes.len(), "a notice came twice to {agent} of {}: {notes:?}", bubble.id);
    }
}

/// Does the same with all of `items`, a few at a time.
fn side_by_side<'a, T: Sync, R: Send>(items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let work = &work;
    std::thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(WORKERS));
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<_>>())).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}
