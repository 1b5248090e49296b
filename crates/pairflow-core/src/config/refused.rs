//! Why a key is refused: a file of this kind may not set it, or there is none of that name; and what was probably meant.

use super::error::Complaint;
use super::keys::{CUSTOM_KEYS, KEYS};
use super::layer::Source;
use super::table::{Key, Until, Who};
use crate::similar::distance;

/// Where the person's own configuration usually lies.
const PERSONS_FILE: &str = "your own ~/.config/pairflow/config.toml";
/// The other place for what is the person's own.
pub(super) const OR_ONE_BUBBLE: &str = ", or for one bubble to its bubble.toml";

/// The table that holds one table for each agent.
pub(super) const AGENT: &str = "agent";

/// Returns the tables that keys live in.
pub(super) fn tables() -> impl Iterator<Item = &'static str> {
    std::iter::once(AGENT).chain(KEYS.iter().filter_map(|key| key.place().0))
}

/// Says why a file of this kind may not set `key`, if it may not.
pub(super) fn misplaced(key: &Key, source: Source) -> Option<Complaint> {
    let Key { name: key, who, until, .. } = *key;
    match (source, who) {
        (Source::User | Source::Repository, Who::Bubble) => {
            let complaint =
                Complaint::new(format!("{key} belongs to one bubble, and this file is shared by all of them"));
            Some(complaint.hint("remove it; each bubble.toml has its own"))
        }
        (Source::Bubble, Who::PersonsFile) => {
            let complaint = Complaint::new(format!("{key} is taken from your own configuration only"));
            Some(complaint.hint(format!("move it to {PERSONS_FILE}")))
        }
        (Source::Setting, Who::PersonsFile) => {
            let complaint = Complaint::new(format!("{key} is taken from your own configuration only"));
            Some(complaint.hint(format!("set it in {PERSONS_FILE}")))
        }
        (Source::Setting, _) if until <= Until::Start => Some(fixed(key)),
        (Source::Repository, Who::PersonsFile) => Some(persons_own(key, "")),
        (Source::Repository, Who::Person) => Some(persons_own(key, OR_ONE_BUBBLE)),
        _ => None,
    }
}

/// Says that `key` cannot change any more.
pub(super) fn fixed(key: &str) -> Complaint {
    let complaint = Complaint::new(format!("{key} was fixed when the bubble was started and cannot be changed"));
    complaint.hint("make a new bubble; one that is not started yet takes it from its bubble.toml")
}

/// Says that a repository may not set `key`.
pub(super) fn persons_own(key: &str, or: &str) -> Complaint {
    let complaint = Complaint::new(format!("{key} is yours to set; a repository's file must not set it"));
    complaint.hint(format!("if you want it, move it to {PERSONS_FILE}{or}"))
}

/// Says that `key` does not exist, and which one may have been meant.
pub(super) fn unknown(key: &str) -> Complaint {
    let complaint = Complaint::new(format!("unknown key `{key}`"));
    match elsewhere(key).or_else(|| nearest(key)) {
        Some(hint) => complaint.hint(hint),
        None => complaint,
    }
}

/// Says that `key`, the `field` of an `[agent.NAME]`, does not exist, and which one may have been meant.
pub(super) fn unknown_of_agent(key: &str, field: &str) -> Complaint {
    let complaint = Complaint::new(format!("unknown key `{key}`"));
    let near = || close(field, CUSTOM_KEYS.iter().map(|key| key.name)).map(|best| format!("did you mean `{best}`?"));
    match elsewhere(field).or_else(|| if field.len() > 64 { None } else { near() }) {
        Some(hint) => complaint.hint(hint),
        None => complaint,
    }
}

/// Says that the table `agents.NAME` is meant to be `agent.NAME`.
pub(super) fn belongs_to_agent(key: &str) -> Complaint {
    let name = key.split_once('.').map_or(key, |(_, name)| name);
    Complaint::new(format!("unknown key `{key}`")).hint(format!("how {name} is started belongs into [agent.{name}]"))
}

/// Finds a key that is spelt right but stands in the wrong table.
fn elsewhere(key: &str) -> Option<String> {
    let (_, own) = split(key);
    let right = KEYS.iter().find(|known| known.place().1 == own)?;
    Some(match right.place() {
        (Some(table), name) => format!("`{name}` belongs into [{table}]"),
        (None, name) => format!("`{name}` belongs above the first [table] of the file"),
    })
}

fn nearest(key: &str) -> Option<String> {
    // Comparing costs the product of both lengths; nothing that long is a misspelling.
    if key.len() > 64 {
        return None;
    }
    let (table, name) = split(key);
    let places = || KEYS.iter().map(Key::place);
    let beside = places().filter(|known| known.0 == table).map(|known| known.1);
    let tables = tables().filter(|_| table.is_none());
    let all_names = places().map(|known| known.1);
    let best = close(name, beside.chain(tables)).or_else(|| close(name, all_names))?;
    Some(format!("did you mean `{best}`?"))
}

fn close<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    known.map(|known| (distance(name, known), known)).filter(|(far, _)| *far <= allowed).min().map(|(_, known)| known)
}

fn split(key: &str) -> (Option<&str>, &str) {
    key.split_once('.').map_or((None, key), |(table, name)| (Some(table), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(key: &str) -> Option<String> {
        unknown(key).hint
    }

    #[test]
    fn a_misspelt_key_is_guessed() {
        assert_eq!(hint("max_round").as_deref(), Some("did you mean `max_rounds`?"));
        assert_eq!(hint("max-rounds").as_deref(), Some("did you mean `max_rounds`?"));
        assert_eq!(hint("agents.implementor").as_deref(), Some("did you mean `implementer`?"));
        assert_eq!(hint("aggents").as_deref(), Some("did you mean `agents`?"));
        assert_eq!(hint("comands").as_deref(), Some("did you mean `commands`?"));
        assert_eq!(hint("commands.tset").as_deref(), Some("did you mean `test`?"));
    }

    #[test]
    fn a_key_in_the_wrong_table_is_sent_to_the_right_one() {
        assert_eq!(hint("implementer").as_deref(), Some("`implementer` belongs into [agents]"));
        assert_eq!(
            hint("agents.max_rounds").as_deref(),
            Some("`max_rounds` belongs above the first [table] of the file")
        );
        assert_eq!(hint("scope.test").as_deref(), Some("`test` belongs into [commands]"));
    }

    #[test]
    fn a_key_that_resembles_nothing_gets_no_guess() {
        assert_eq!(hint("colour_of_the_sky"), None);
        assert_eq!(hint(&"x".repeat(10_000)), None);
    }
}
