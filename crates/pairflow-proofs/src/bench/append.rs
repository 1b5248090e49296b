//! P2c: one append of the engine inside of a process, beside one insert into SQLite that is as durable.

use std::time::Duration;

use pairflow_core::log::{Body, Event, Warning};
use pairflow_engine::clock::{Clock, SystemClock};

use super::ask::Asked;
use super::sample::{in_turns, timed};
use super::setting::Setting;
use super::table::{Outcome, Row};

const WARM: u64 = 100;
const WHAT: &str = "lock and append of the engine";
const AGAINST: &str = "insert into SQLite, WAL, FULL";

/// Appends and inserts in turns.
pub(super) fn measure(setting: &Setting, asked: &Asked) -> anyhow::Result<Vec<Row>> {
    let fixture = setting.fixture("append", WARM)?;
    let path = fixture.bubble.log().files().dir.join("plain.sqlite");
    let Some(insert) = sqlite::insert(&path)? else {
        let result = Outcome::NotMeasured("built without the feature bench-sqlite".to_owned());
        return Ok(vec![Row { id: "P2c", what: WHAT.to_owned(), against: AGAINST, result, goal: 1.0 }]);
    };
    let log = fixture.bubble.log();
    let mut number = 0;
    let mut append = || {
        number += 1;
        let event = [said(number)];
        timed(|| Ok(log.lock(Duration::from_secs(1))?.append(&event, SystemClock.now())?))
    };
    let mut insert = || insert(&text(1));
    let [append, insert] = in_turns(asked.rounds, [&mut append, &mut insert])?;
    Ok(vec![Row::ratio("P2c", WHAT, AGAINST, (&append, &insert), 1.0)])
}

fn said(number: u64) -> Event {
    let warning = Warning { command: "pass".to_owned(), reason: text(number), unmet: Vec::new() };
    Event::own(1, Body::ProtocolWarning(warning))
}

/// A text that makes a line as long as lines usually are.
fn text(number: u64) -> String {
    format!("attempt {number}: {}", "it is not the turn of this agent. ".repeat(7))
}

#[cfg(feature = "bench-sqlite")]
mod sqlite {
    use std::path::Path;
    use std::time::Duration;

    use super::timed;

    /// Opens a new database and returns what inserts one row durably.
    pub(super) fn insert(path: &Path) -> anyhow::Result<Option<impl Fn(&str) -> anyhow::Result<Duration>>> {
        let database = rusqlite::Connection::open(path)?;
        database.pragma_update(None, "journal_mode", "wal")?;
        database.pragma_update(None, "synchronous", "full")?;
        database.execute_batch("create table log (seq integer primary key, line text not null)")?;
        Ok(Some(move |text: &str| {
            timed(|| Ok(database.prepare_cached("insert into log (line) values (?1)")?.execute([text])?))
        }))
    }
}

#[cfg(not(feature = "bench-sqlite"))]
mod sqlite {
    use std::path::Path;
    use std::time::Duration;

    /// What inserts one row, if there were a database.
    type Insert = fn(&str) -> anyhow::Result<Duration>;

    /// There is no database in this build.
    pub(super) fn insert(_: &Path) -> anyhow::Result<Option<Insert>> {
        Ok(None)
    }
}
