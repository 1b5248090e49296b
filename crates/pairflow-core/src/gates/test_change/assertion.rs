//! One assertion, in a form that reformatting and another assertion library do not change, and how much it pins down.
//!
//! `assert_eq!(a, 1)`, `assert a == 1` and `expect(a).toBe(1)` become the same: the kind `eq`, the word `a`, the literal `1`.

use super::source::{TokenKind, Tokens, group, listed, matches, split};

/// How much of a value an assertion pins down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// It holds whatever the code does.
    Nothing,
    /// There is a value, or no error.
    Vague,
    /// A part, a bound or a property of the value.
    Partial,
    /// How many elements there are.
    Size,
    /// Which value it is.
    Exact,
}

/// What one assertion says.
#[derive(Debug, Clone)]
pub(super) struct Assertion<'a> {
    /// The line of the hunk's side that it starts on.
    pub(super) line: usize,
    pub(super) strength: Strength,
    /// How it compares: `eq`, `ne`, `is`, `is not`, or the name of the function that it calls.
    pub(super) kind: String,
    /// The names in it, in order of the alphabet.
    pub(super) words: Vec<&'a str>,
    /// The literals and constants in it, in order of the alphabet.
    pub(super) literals: Vec<String>,
    /// Whether it may stand for any number of assertions: a snapshot, or a function of the project.
    pub(super) covers_many: bool,
}

// Names of functions and matchers, in lower case and without underscores.
const TRUE: &str = "assert ok istrue asserttrue true tobetrue tobetruthy";
const FALSE: &str = "notok isfalse assertfalse false tobefalse tobefalsy";
const EQUAL: &str = "asserteq assertequal assertequals assertis tobe toequal tostrictequal equal eql eq deepequal \
    strictequal deepstrictequal equalvalues exactly";
const VAGUE: &str = "tobedefined tobetruthy notnil notnull assertisnotnone isdefined noerror error notempty called \
    tohavebeencalled calledonce assertcalled assertcalledonce tobevisible tobeattached exist exists tobeinthedocument \
    notpanics notzero doesnotthrow doesnotreject isok issome iserr";
const PARTIAL: &str = "assertne assertnotequal notequal notstrictequal notdeepequal contains containskey assertin \
    assertnotin tocontain tocontainequal contain include includes has startswith endswith hasprefix hassuffix tomatch \
    tomatchobject match regexp matchstring assertregex property tohaveproperty isinstance assertisinstance \
    tobeinstanceof instanceof istype greater greaterorequal less lessorequal assertgreater assertless above below \
    tobegreaterthan tobegreaterthanorequal tobelessthan tobelessthanorequal erroris erroras errorcontains panics \
    subset any anything hasattr hasownproperty";
const SIZE: &str = "len length count size tohavelength tohavecount";
/// Whose opposite says little.
const EMPTY: &str = "isnone isempty isnan tobenull tobeundefined tobeempty null undefined empty";
/// What expects an error: the first ones are about code beside them, the others about their first argument.
const RAISES: &str = "raises warns assertraises assertraisesregex assertwarns shouldpanic";
const THROWS: &str = "tothrow tothrowerror throw throws rejects";
/// Words that name nothing that is asserted.
const NOISE: &str = "self this await not async t tb expect assert require is in and or true false True False None nil null \
    undefined";
const OWN_FUNCTIONS: [&str; 6] = ["assert", "expect", "verify", "check", "require", "must"];

fn plain(name: &str) -> String {
    let plain: String = name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect();
    plain.trim_start_matches("prop").trim_start_matches("debug").to_owned()
}

/// Reads an assertion that starts at `at`, a call such as `expect(a).not.toBe(b)`; returns where it ends.
pub(super) fn read_call<'a>(tokens: Tokens<'_, 'a>, at: usize) -> Option<(Assertion<'a>, usize)> {
    if tokens[at].kind != TokenKind::Word {
        return None;
    }
    let name = tokens[at].text;
    let before = at.checked_sub(1).map_or("", |before| tokens[before].text);
    let bare = name.trim_start_matches("prop_").trim_start_matches("debug_");
    let named = OWN_FUNCTIONS.iter().filter_map(|start| bare.strip_prefix(start));
    let own = named.into_iter().any(|rest| rest.starts_with(|c: char| c == '_' || c.is_uppercase()));
    let starts = own || listed("assert expect require raises warns fail", bare) || name.contains("snapshot");
    let defined = listed("fn def func function class", before) || (name == "expect" && listed(". [", before));
    if !starts || defined {
        return None;
    }
    let (mut verbs, mut sides, mut end, mut called) = (vec![plain(name)], Vec::new(), at + 1, false);
    if before == "." && name.starts_with("assert_") && at > 1 {
        // A mock is asserted about itself: `send.assert_called_once()`.
        sides.push(&tokens[at - 2..at - 1]);
    }
    while let Some(next) = tokens.get(end) {
        if next.is("(") || (tokens[end - 1].is("!") && next.is_any(&["[", "{"])) {
            let (inside, behind) = group(tokens, end);
            sides.extend(compared(inside, verbs.last().is_some_and(|verb| listed(TRUE, verb) || listed(FALSE, verb))));
            (called, end) = (true, behind);
        } else if matches(tokens, end, ". *") && tokens[end + 1].kind == TokenKind::Word {
            verbs.push(plain(tokens[end + 1].text));
            end += 2;
        } else if next.is("!") && end == at + 1 {
            end += 1;
        } else {
            break;
        }
    }
    let mut assertion = Assertion::new(tokens[at].line, &verbs, &sides, true);
    let known = [TRUE, FALSE, EQUAL, VAGUE, PARTIAL, SIZE, RAISES].iter().any(|list| listed(list, &verbs[0]));
    let of_project = own && !known && verbs.len() == 1 && before != ".";
    if of_project || verbs.iter().any(|verb| verb.contains("snapshot")) {
        (assertion.covers_many, assertion.strength) = (true, Strength::Exact);
    }
    if verbs.iter().any(|verb| listed("resolves rejects", verb)) && !listed("await return", before) && name == "expect"
    {
        // The test does not wait for the promise, so the assertion cannot fail.
        (assertion.strength, assertion.kind) = (Strength::Nothing, "unawaited".to_owned());
    }
    called.then_some((assertion, end))
}

/// Returns the arguments of an assertion without its message: a text behind what is compared.
fn compared<'t, 'a>(inside: Tokens<'t, 'a>, truth: bool) -> Vec<Tokens<'t, 'a>> {
    let parts = split(inside, &[","]).into_iter().filter(|part| !part.is_empty() && !matches!(part, [t] if t.is("t")));
    let fewest = if truth { 1 } else { 2 };
    let told = |(nth, part): &(usize, Tokens<'_, '_>)| *nth >= fewest && part[0].kind == TokenKind::Text;
    parts.enumerate().take_while(|part| !told(part)).map(|(_, part)| part).collect()
}

impl<'a> Assertion<'a> {
    /// Makes the assertion that `sides` are as the functions `verbs` say, or are not.
    pub(super) fn new(line: usize, verbs: &[String], sides: &[Tokens<'_, 'a>], holds: bool) -> Self {
        let tokens = sides.concat();
        let has = |pattern: &str| (0..tokens.len()).any(|at| matches(&tokens, at, pattern));
        let verb_in = |list: &str| verbs.iter().any(|verb| listed(list, verb));
        let alone = |values: &str| sides.iter().any(|side| side.len() == 1 && matches(side, 0, values));
        let is_false = alone("false|False") || has("==|===|is false|False");
        let boolean = is_false || alone("true|True") || has("==|===|is true|True");
        let negations =
            tokens.iter().take_while(|token| token.is_any(&["!", "not", "("])).filter(|token| !token.is("("));
        let either = has("||") || has("or");
        let joined = either || has("&&|and");
        // In `!a && b` only a part is turned.
        let turned = [verb_in(FALSE), verb_in("not"), negations.count() % 2 == 1 && !joined, is_false && !joined];
        let holds = turned.into_iter().fold(holds, |holds, turned| holds != turned);
        let differs = has("!=|!==") || has("is not");
        let equals = !differs && (has("==|===|is") || verb_in(EQUAL));
        let same = equals == holds;
        let nothing = has("None|nil|null|undefined");
        let (words, literals) = names(&tokens);
        let calls = calls(verbs, sides);
        let (kind, strength) = match (equals || differs) && !boolean {
            _ if (words.is_empty() && !verb_in(RAISES)) || (either && has("true|True")) => {
                ("always", Strength::Nothing)
            }
            true if nothing && words == ["err"] => (if same { "noerror" } else { "error" }, Strength::Vague),
            true if same => ("eq", Strength::Exact),
            true => ("ne", if nothing { Strength::Vague } else { Strength::Partial }),
            false if !(boolean || verb_in(TRUE) || verb_in(FALSE)) => {
                (verbs[verbs.len() - 1].as_str(), Strength::Exact)
            }
            false if !holds => ("is not", Strength::Exact),
            // `a && b` says two things.
            false if joined || calls.iter().any(|call| listed(EMPTY, call) || listed(EQUAL, call)) => {
                ("is", Strength::Exact)
            }
            false => ("is", Strength::Partial),
        };
        let bounds = |side: &Tokens<'_, '_>| split(side, &["<", ">", "<=", ">=", "in"]).len() > 1;
        let loose =
            if holds { either } else { joined && !either } || (kind.starts_with("is") && sides.iter().any(bounds));
        let most = if loose { Strength::Partial } else { limit(&calls, sides, &tokens, holds) };
        Self { line, strength: strength.min(most), kind: kind.to_owned(), words, literals, covers_many: false }
    }

    /// Returns a text that is equal for two assertions that say the same.
    pub(super) fn key(&self) -> String {
        format!("{} {} {}", self.kind, self.words.join(" "), self.literals.join(" "))
    }

    /// Returns how many names the two share.
    pub(super) fn shared_words(&self, other: &Self) -> usize {
        self.words.iter().take(12).filter(|word| other.words.iter().take(12).any(|known| known == *word)).count()
    }

    /// Returns whether `new` is this assertion with another expected value.
    pub(super) fn expects_other(&self, new: &Self) -> bool {
        let missing = self.literals.iter().any(|literal| !new.literals.contains(literal));
        let other = missing || new.literals.len() < self.literals.len();
        let turned = matches!((&*self.kind, &*new.kind), ("is", "is not") | ("is not", "is")) && !other;
        let same_kind = self.kind == new.kind && self.strength == new.strength;
        self.words == new.words && new.strength > Strength::Nothing && (turned || (same_kind && other))
    }
}

/// Returns the functions that an assertion calls, its own ones included.
fn calls(verbs: &[String], sides: &[Tokens<'_, '_>]) -> Vec<String> {
    let pairs = sides.iter().flat_map(|side| side.windows(2));
    let called =
        pairs.filter(|pair| pair[0].kind == TokenKind::Word && pair[1].is_any(&["(", "!"])).map(|pair| &pair[0]);
    let properties = sides.iter().filter_map(|side| side.last()).filter(|last| last.is("length"));
    called.chain(properties).map(|token| plain(token.text)).chain(verbs.iter().cloned()).collect()
}

/// Returns how much the functions that an assertion calls can pin down.
fn limit(calls: &[String], sides: &[Tokens<'_, '_>], tokens: Tokens<'_, '_>, holds: bool) -> Strength {
    let any_error = tokens.iter().any(|token| token.is_any(&["Exception", "BaseException"]));
    let zero = tokens.iter().any(|token| token.is("0"));
    let open_pattern = tokens.iter().any(|token| token.is_any(&["_", ".."]));
    let vague_if = |vague| if vague { Strength::Vague } else { Strength::Exact };
    let limit = |name: &String| match sides.len() {
        _ if listed(EMPTY, name) => vague_if(!holds),
        _ if listed(VAGUE, name) => vague_if(holds),
        _ if listed(THROWS, name) && !holds => Strength::Vague,
        0 if listed(RAISES, name) => Strength::Vague,
        1 if listed(THROWS, name) || (listed(RAISES, name) && any_error) => Strength::Vague,
        1 if listed(RAISES, name) => Strength::Partial,
        _ if listed(RAISES, name) => Strength::Exact,
        _ if listed(PARTIAL, name) || listed(THROWS, name) => Strength::Partial,
        _ if listed("matches assertmatches", name) && open_pattern => Strength::Partial,
        _ if listed(SIZE, name) && !zero => Strength::Size,
        _ => Strength::Exact,
    };
    calls.iter().map(limit).min().unwrap_or(Strength::Exact)
}

/// Returns the names, and the literals and constants such as `NotFound`, each in order of the alphabet.
pub(super) fn names<'a>(tokens: Tokens<'_, 'a>) -> (Vec<&'a str>, Vec<String>) {
    let (mut words, mut literals) = (Vec::new(), Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        let opens = tokens.get(at + 1).is_some_and(|next| next.is_any(&["(", ".", "::", "{", "!"]));
        let constant = token.text.starts_with(char::is_uppercase) && !opens;
        match token.kind {
            TokenKind::Mark => {}
            TokenKind::Word if listed(NOISE, token.text) => {}
            TokenKind::Word if !constant => words.push(token.text),
            // A formatter's choice of quotes does not count.
            _ => literals.push(token.text.replace('\'', "\"")),
        }
    }
    words.sort_unstable();
    literals.sort_unstable();
    (words, literals)
}
