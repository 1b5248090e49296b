//! What is left when the power goes.
//!
//! Anything that was not synced may survive or not, whole or in part, in any order: a write up to any byte, or any of
//! its 512-byte sectors with zeros in the place of the others; a rename without the data of the file; a file without
//! its name.

use super::rng::Rng;
use super::sim::{DataChange, NameChange, SimDisk, State};

const SECTOR: usize = 512;

impl SimDisk {
    /// Cuts the power: what was not synced survives in part, as `seed` decides, and every process is dead.
    pub fn crash(&self, seed: u64) {
        self.kill();
        fail(&mut self.state(), seed);
    }
}

/// Decides what survives, and makes it all there is.
fn fail(state: &mut State, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut names = std::mem::take(&mut state.safe_names);
    for change in surviving_names(std::mem::take(&mut state.loose_names), &mut rng) {
        change.apply(&mut names);
    }
    // A name beneath a directory that was lost cannot be reached any more.
    let whole = names.clone();
    names.retain(|path, _| path.ancestors().skip(1).all(|above| whole.contains_key(above)));
    for node in state.nodes.values_mut().filter(|node| !node.loose.is_empty()) {
        node.data = survive(std::mem::take(&mut node.safe), std::mem::take(&mut node.loose), &mut rng);
        // The times on disk may be older than the content, or newer.
        node.changed_at -= rng.below(3) as i64;
    }
    state.nodes.retain(|ino, _| names.values().any(|named| named == ino));
    state.names = names;
    state.make_safe();
}

fn surviving_names(mut loose: Vec<NameChange>, rng: &mut Rng) -> Vec<NameChange> {
    match rng.below(4) {
        0 => return Vec::new(),
        1 => return loose,
        2 => loose.truncate(rng.below(loose.len() + 1)),
        _ => {
            loose.retain(|_| rng.once_in(2));
            rng.shuffle(&mut loose);
        }
    }
    loose
}

/// Applies a part of the loose changes to the safe content.
fn survive(mut data: Vec<u8>, mut loose: Vec<DataChange>, rng: &mut Rng) -> Vec<u8> {
    match rng.below(5) {
        0 => return data,
        1 => {}
        2 => {
            loose.truncate(rng.below(loose.len()) + 1);
            if let Some(DataChange::Write { bytes, .. }) = loose.last_mut() {
                bytes.truncate(rng.below(bytes.len() + 1));
            }
        }
        3 => loose = scattered(loose, rng),
        _ => loose.retain(|_| rng.once_in(2)),
    }
    loose.iter().for_each(|change| change.apply(&mut data));
    data
}

/// Splits writes into sectors, loses some of them, and mixes the rest.
fn scattered(loose: Vec<DataChange>, rng: &mut Rng) -> Vec<DataChange> {
    let mut pieces = Vec::new();
    for change in loose {
        match change {
            DataChange::Cut { .. } => pieces.push(change),
            DataChange::Write { offset, bytes } => pieces.extend(sectors(offset, &bytes)),
        }
    }
    pieces.retain(|_| rng.once_in(2));
    rng.shuffle(&mut pieces);
    pieces
}

fn sectors(mut offset: usize, mut bytes: &[u8]) -> Vec<DataChange> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let room = SECTOR - offset % SECTOR;
        let (piece, rest) = bytes.split_at(room.min(bytes.len()));
        pieces.push(DataChange::Write { offset, bytes: piece.to_owned() });
        (offset, bytes) = (offset + piece.len(), rest);
    }
    pieces
}
