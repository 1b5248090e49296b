//! How much an assertion pins down, by the name of what it calls.

/// How much of a value an assertion pins down, from nothing to all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// It holds whatever the code does.
    Nothing,
    /// It says that there is a value, or no error.
    Vague,
    /// It says something about the value: a part, a bound, a property.
    Partial,
    /// It says which value.
    Exact,
}

const VAGUE: &[&str] = &[
    "truthy",
    "defined",
    "notnil",
    "notnull",
    "notnone",
    "noerror",
    "notempty",
    "called",
    "calledonce",
    "visible",
    "attached",
    "exist",
    "exists",
    "pass",
    "nopanic",
    "notpanics",
    "notzero",
    "ok",
];

const PARTIAL: &[&str] = &[
    "contain",
    "match",
    "regex",
    "assertin",
    "assertnotin",
    "property",
    "greater",
    "less",
    "above",
    "below",
    "start",
    "notequal",
    "assertne",
    "raise",
    "throw",
    "reject",
    "warn",
    "subset",
    "panic",
    "error",
    "instance",
    "type",
    "positive",
    "negative",
    "within",
    "include",
    "any",
];

const SURELY_EXACT: &[&str] =
    &["snapshot", "calledwith", "calledoncewith", "calledtimes", "elementsmatch", "allclose", "undefined"];

/// Returns what an assertion of this name pins down; names that say nothing are taken for exact ones.
pub(super) fn of_name(name: &str) -> Level {
    let plain: String = name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect();
    let ends = |words: &[&str]| words.iter().any(|word| plain.ends_with(word));
    let holds = |words: &[&str]| words.iter().any(|word| plain.contains(word));
    if holds(SURELY_EXACT) {
        Level::Exact
    } else if ends(VAGUE) {
        Level::Vague
    } else if holds(PARTIAL) {
        Level::Partial
    } else {
        Level::Exact
    }
}

/// Returns what is left of `level` when the assertion is turned into its opposite.
pub(super) fn negated(name: &str, level: Level) -> Level {
    let plain = name.to_ascii_lowercase();
    let emptiness = ["null", "undefined", "nil", "none", "empty", "length", "throw"];
    match level {
        _ if emptiness.iter().any(|word| plain.ends_with(word)) => Level::Vague,
        Level::Vague => Level::Exact,
        Level::Exact => Level::Partial,
        other => other,
    }
}

/// What a call at the end of a condition says about its subject, when the condition holds and when it does not.
pub(super) fn of_predicate(name: &str) -> Option<(Level, Level)> {
    match name {
        "is_ok" | "is_some" | "is_err" | "isOk" | "isErr" => Some((Level::Vague, Level::Vague)),
        "is_none" | "is_empty" | "isEmpty" | "isnan" | "isNaN" => Some((Level::Exact, Level::Vague)),
        "DeepEqual" | "Equal" | "equals" | "deepEqual" | "isEqual" | "array_equal" | "allclose" => {
            Some((Level::Exact, Level::Partial))
        }
        "contains" | "contains_key" | "starts_with" | "ends_with" | "includes" | "startsWith" | "endsWith"
        | "startswith" | "endswith" | "has" | "any" | "all" | "some" | "every" | "is_match" | "isinstance"
        | "Contains" | "HasPrefix" | "HasSuffix" | "hasOwnProperty" | "MatchString" | "hasattr" | "Is" | "As" => {
            Some((Level::Partial, Level::Partial))
        }
        _ => None,
    }
}
