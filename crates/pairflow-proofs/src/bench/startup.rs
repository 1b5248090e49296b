//! P1 and P1b: what it costs that the product is started at all, beside an empty program and beside Node.
//!
//! Node is given nothing to do, so it is compared with the product that has nothing to do but start.

use std::path::Path;

use super::ask::Asked;
use super::sample::in_turns;
use super::setting::{Setting, lifetime};
use super::table::{Outcome, Row};

const NODE: &str = "node -e 0";
/// A fortieth of what Node needs to start.
const NODE_SHARE: f64 = 1.0 / 40.0;

/// Starts the product, an empty program and Node in turns.
pub(super) fn measure(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let fixture = setting.fixture("startup", 10)?;
    let dir = fixture.repo.as_path();
    let mut version = || lifetime(&mut setting.pairflow(dir, &["--version"]));
    let mut status = || lifetime(&mut setting.pairflow(dir, &["status", "fixture"]));
    let mut empty = || lifetime(&mut setting.nothing(dir));
    let [version_took, status_took, empty_took] = in_turns(asked.rounds, [&mut version, &mut status, &mut empty])?;
    let main = "empty main";
    let mut rows = vec![
        Row::ratio("P1", "--version", main, (&version_took, &empty_took), 1.5),
        Row::ratio("P1", "status", main, (&status_took, &empty_took), 2.0),
    ];
    if asked.wants("P1b") {
        rows.push(beside_node(setting, asked, dir)?);
    }
    Ok(rows)
}

fn beside_node(setting: &Setting, asked: &Asked, dir: &Path) -> anyhow::Result<Row> {
    let what = "--version";
    let node = || setting.start(Path::new("node"), dir, &["-e", "0"]);
    if lifetime(&mut node()).is_err() {
        let result = Outcome::NotMeasured("node is not installed".to_owned());
        return Ok(Row { id: "P1b", what: what.to_owned(), against: NODE, result, goal: NODE_SHARE });
    }
    let mut version = || lifetime(&mut setting.pairflow(dir, &[what]));
    let mut node = || lifetime(&mut node());
    let [version_took, node_took] = in_turns(asked.fewer(10), [&mut version, &mut node])?;
    Ok(Row::ratio("P1b", what, NODE, (&version_took, &node_took), NODE_SHARE))
}
