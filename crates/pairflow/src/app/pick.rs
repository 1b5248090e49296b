//! Which bubble is meant: by its id, by the beginning of its id, by the directory, or because there is only one.

use std::fmt::Write;

use pairflow_core::ids::BubbleId;

use crate::exit::CommandError;
use crate::suggest;

/// What is known about the bubble that is meant.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// What the person typed.
    pub typed: Option<&'a str>,
    /// The bubble whose worktree the current directory lies in.
    pub inside: Option<&'a BubbleId>,
    /// The verb, for the command that a refusal proposes.
    pub verb: &'a str,
    /// What else was given to the verb, with a space before each; a proposed command keeps it.
    pub rest: &'a str,
}

impl Wanted<'_> {
    /// Returns the command that means `id`; a guess is never offered for a verb that ends something.
    fn line(&self, id: &str) -> String {
        if ENDING.contains(&self.verb) {
            return "pairflow list".to_owned();
        }
        format!("pairflow {} {id}{}", self.verb, self.rest)
    }
}

/// The verbs that end something for good.
const ENDING: [&str; 2] = ["stop", "delete"];

/// How many candidates a refusal lists.
const LISTED: usize = 8;

/// Picks the bubble that is meant out of `candidates`.
///
/// What was typed always wins over the directory; a whole id always wins over a longer one that begins with it.
pub fn pick(wanted: Wanted<'_>, candidates: &[BubbleId]) -> Result<BubbleId, CommandError> {
    match (wanted.typed, wanted.inside) {
        (Some(typed), _) => by_name(typed, wanted, candidates),
        (None, Some(inside)) => Ok(inside.clone()),
        (None, None) => only_one(wanted, candidates),
    }
}

fn by_name(typed: &str, wanted: Wanted<'_>, candidates: &[BubbleId]) -> Result<BubbleId, CommandError> {
    if let Some(exact) = candidates.iter().find(|id| id.as_str() == typed) {
        return Ok(exact.clone());
    }
    typed.parse::<BubbleId>().map_err(|why| CommandError::usage(format_args!("'{typed}' names no bubble: {why}.")))?;
    let matching: Vec<_> = candidates.iter().filter(|id| id.as_str().starts_with(typed)).collect();
    match matching[..] {
        [only] => Ok(only.clone()),
        [] => Err(unknown(typed, wanted, candidates)),
        [first, ..] => {
            let message = format!("'{typed}' fits {} bubbles: {}", matching.len(), listed(&matching));
            Err(CommandError::refused(message).next(wanted.line(first.as_str())))
        }
    }
}

fn unknown(typed: &str, wanted: Wanted<'_>, candidates: &[BubbleId]) -> CommandError {
    let error = CommandError::refused(format_args!("there is no bubble '{typed}' in this repository."));
    match suggest::nearest(typed, candidates.iter().map(BubbleId::as_str)) {
        Some(near) => error.next(wanted.line(near)),
        None => error.next("pairflow list"),
    }
}

fn only_one(wanted: Wanted<'_>, candidates: &[BubbleId]) -> Result<BubbleId, CommandError> {
    match candidates {
        [only] => Ok(only.clone()),
        [] => {
            Err(CommandError::refused("there is no bubble in this repository yet.").next("pairflow new \"what to do\""))
        }
        [first, ..] => {
            let all: Vec<_> = candidates.iter().collect();
            let message = format!("which bubble? There are {}: {}", all.len(), listed(&all));
            Err(CommandError::refused(message).next(wanted.line(first.as_str())))
        }
    }
}

fn listed(ids: &[&BubbleId]) -> String {
    let mut text = String::new();
    for (index, id) in ids.iter().take(LISTED).enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let _ = write!(text, "{comma}{id}");
    }
    if ids.len() > LISTED {
        let _ = write!(text, ", and {} more", ids.len() - LISTED);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    fn ids(names: &[&str]) -> Vec<BubbleId> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    fn typed<'a>(name: &'a str) -> Wanted<'a> {
        Wanted { typed: Some(name), verb: "status", ..Wanted::default() }
    }

    #[test]
    fn a_whole_id_wins_over_a_longer_one() {
        assert_eq!(pick(typed("login"), &ids(&["login-form", "login"])).unwrap().as_str(), "login");
    }

    #[test]
    fn a_unique_beginning_is_enough() {
        assert_eq!(pick(typed("log"), &ids(&["login", "cart"])).unwrap().as_str(), "login");
    }

    #[test]
    fn an_ambiguous_beginning_is_refused_with_the_choices() {
        let error = pick(typed("log"), &ids(&["login", "logout", "cart"])).unwrap_err();
        assert_eq!(error.exit, Exit::Refused);
        assert_eq!(error.message, "'log' fits 2 bubbles: login, logout");
        assert_eq!(error.hint.unwrap(), "pairflow status login");
    }

    #[test]
    fn an_unknown_id_is_refused_and_a_near_one_suggested() {
        let error = pick(typed("lgoin"), &ids(&["login", "cart"])).unwrap_err();
        assert_eq!((error.exit, error.hint.as_deref()), (Exit::Refused, Some("pairflow status login")));
        let error = pick(typed("zebra"), &ids(&["login"])).unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("pairflow list"));
    }

    #[test]
    fn what_can_be_no_id_is_a_usage_error() {
        for name in ["../../etc", "a b", "$(x)", "Login", "", "-x", "a;b"] {
            assert_eq!(pick(typed(name), &ids(&["login"])).unwrap_err().exit, Exit::Usage, "{name:?}");
        }
    }

    #[test]
    fn inside_a_worktree_its_bubble_is_meant_unless_another_is_named() {
        let all = ids(&["login", "cart"]);
        let inside = Wanted { inside: Some(&all[1]), ..Wanted::default() };
        assert_eq!(pick(inside, &all).unwrap().as_str(), "cart");
        let named = Wanted { typed: Some("login"), ..inside };
        assert_eq!(pick(named, &all).unwrap().as_str(), "login");
    }

    #[test]
    fn the_only_bubble_needs_no_name() {
        let nothing = Wanted { verb: "start", ..Wanted::default() };
        assert_eq!(pick(nothing, &ids(&["login"])).unwrap().as_str(), "login");
        assert_eq!(pick(nothing, &[]).unwrap_err().message, "there is no bubble in this repository yet.");
        let many: Vec<String> = (0..12).map(|n| format!("b{n}")).collect();
        let many = ids(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let error = pick(nothing, &many).unwrap_err();
        assert_eq!(error.message, "which bubble? There are 12: b0, b1, b2, b3, b4, b5, b6, b7, and 4 more");
    }

    #[test]
    fn nobody_is_handed_a_line_that_ends_a_bubble_that_was_guessed() {
        let all = ids(&["login", "logout"]);
        for verb in ["stop", "delete"] {
            for typed in [None, Some("log"), Some("lgoin")] {
                let error = pick(Wanted { typed, verb, rest: " --yes", ..Wanted::default() }, &all).unwrap_err();
                assert_eq!(error.hint.as_deref(), Some("pairflow list"), "{verb} {typed:?}");
            }
        }
    }
}
