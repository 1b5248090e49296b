//! What `cargo xtask bench` can be asked.

use anyhow::{Context, bail};

const USAGE: &str = "cargo xtask bench [--rows P1,P4] [--rounds N]";
/// How often a process is started for one row.
const ROUNDS: usize = 300;
/// How many envelopes 100 MB of log have.
const ENVELOPES: u64 = 192_000;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    rows: Vec<String>,
    /// How often a short thing is timed.
    pub(super) rounds: usize,
    /// How long the long log is.
    pub(super) envelopes: u64,
}

impl Asked {
    /// Reads the command line.
    pub(super) fn parse(args: &[String]) -> anyhow::Result<Self> {
        let mut asked = Self { rows: Vec::new(), rounds: ROUNDS, envelopes: ENVELOPES };
        let mut rest = args.iter();
        while let Some(flag) = rest.next() {
            let mut value = || rest.next().with_context(|| format!("{flag} needs a value: {USAGE}"));
            match flag.as_str() {
                "--rows" => asked.rows = value()?.split(',').map(|row| row.trim().to_owned()).collect(),
                "--rounds" => asked.rounds = value()?.parse().with_context(|| format!("--rounds: {USAGE}"))?,
                "--envelopes" => asked.envelopes = value()?.parse().with_context(|| format!("--envelopes: {USAGE}"))?,
                other => bail!("there is no option {other}: {USAGE}"),
            }
        }
        Ok(asked)
    }

    /// Whether the row called `id` is wanted.
    pub(super) fn wants(&self, id: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| row.eq_ignore_ascii_case(id))
    }

    /// Refuses rows that nobody knows.
    pub(super) fn check(&self, known: &[&str]) -> anyhow::Result<()> {
        let stranger = self.rows.iter().find(|row| !known.iter().any(|id| row.eq_ignore_ascii_case(id)));
        match stranger {
            Some(row) => bail!("there is no row {row}; there are {}", known.join(", ")),
            None => Ok(()),
        }
    }

    /// How often something is timed that takes some milliseconds longer.
    pub(super) fn fewer(&self, by: usize) -> usize {
        (self.rounds / by).max(5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Asked {
        Asked::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn all_rows_are_wanted_unless_some_are_named() {
        assert!(parsed("").wants("P1") && parsed("").wants("P12"));
        let some = parsed("--rows p1,P4 --rounds 20");
        assert!(some.wants("P1") && some.wants("P4") && !some.wants("P12"));
        assert_eq!((some.rounds, some.fewer(10)), (20, 5));
    }

    #[test]
    fn an_unknown_row_is_named() {
        let error = parsed("--rows P1,P99").check(&["P1", "P2"]).unwrap_err();
        assert_eq!(error.to_string(), "there is no row P99; there are P1, P2");
    }
}
