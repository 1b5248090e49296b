//! Words of which one shuts out the other: who complains about reading does not complain about writing.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::rounds::identity::words::stem;

/// Pairs that reviewers use for sister faults. What only tells a fault from its repair (open and close) is left out.
const PAIRS: &str = "read write, update delete, import export, \
    above below, minimum maximum, encode decode, send recv, send receive, start stop, year month, copy move, \
    login logout, upload download, lower raise, upper lower, source target, source destination, input output, head tail, \
    begin end, start end, early late, left right, width height, increase decrease, push pop, encrypt decrypt, \
    serialize deserialize, gross net, select update, short long, positive negative, backup restore, parent child, \
    local remote, staging production, compress decompress, hour minute";

static STEMS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let pairs = PAIRS.split(',').filter_map(|pair| pair.trim().split_once(' '));
    pairs.map(|(one, other)| (stem(one), stem(other))).collect()
});

/// Whether `a` has one word of a pair and `b` the other, and neither has both.
pub(super) fn opposed(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let only = |words: &BTreeSet<String>, has: &String, lacks: &String| words.contains(has) && !words.contains(lacks);
    STEMS.iter().any(|(x, y)| only(a, x, y) && only(b, y, x) || only(a, y, x) && only(b, x, y))
}
