//! How the values of a key are written, and which of them are good. A form is what the key table says about a key's
//! values; it reads them out of a file, and holds what came through another door to the same rule.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use serde::Serialize;
use toml::Spanned;
use toml::de::DeValue;

use super::check;
use super::check::Webhook;
use super::origin::{Complaint, ConfigError, ConfigErrors, Place};
use super::origin::{Origin, QualityMode, Set, Source, json};

/// How many mistakes of one file are reported.
const MOST_ERRORS: usize = 50;

/// What is wrong with a value, and with which part of it.
pub(super) type Wrong = Vec<(Complaint, Range<usize>)>;

/// What makes a text good; the first argument is the name of the key.
type TextCheck = fn(&str, &str) -> Result<String, Complaint>;

/// How the values of a key are written.
pub(super) trait Form<T> {
    /// Reads a value of a file.
    fn read(&self, given: &Given<'_, '_>) -> Result<T, Wrong>;

    /// Checks a value that a flag called `name` gave.
    fn accept(&self, _name: &str, value: T) -> Result<T, Vec<Complaint>> {
        Ok(value)
    }

    /// Returns what a value looks like, for people.
    fn shape(&self) -> Shape;
}

/// What the values of a key look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A text in quotes.
    Text,
    /// One of these words, in quotes.
    Words(Vec<String>),
    /// A whole number within this range.
    Number(RangeInclusive<u64>),
    /// True or false.
    Truth,
    /// A list of texts.
    List,
}

/// A text that the check accepts.
pub(super) struct Text(pub(super) TextCheck);

impl Form<String> for Text {
    fn read(&self, given: &Given<'_, '_>) -> Result<String, Wrong> {
        given.text(self.0)
    }

    fn accept(&self, name: &str, value: String) -> Result<String, Vec<Complaint>> {
        (self.0)(name, &value).map_err(|complaint| vec![complaint])
    }

    fn shape(&self) -> Shape {
        Shape::Text
    }
}

/// The address of a webhook.
pub(super) struct Address;

impl Form<Webhook> for Address {
    fn read(&self, given: &Given<'_, '_>) -> Result<Webhook, Wrong> {
        given.text(Webhook::read)
    }

    fn shape(&self) -> Shape {
        Shape::Text
    }
}

/// The name of an agent or a bubble.
pub(super) struct Name;

impl<T: FromStr<Err: Display>> Form<T> for Name {
    fn read(&self, given: &Given<'_, '_>) -> Result<T, Wrong> {
        given.text(|key, text| text.parse().map_err(|why| Complaint::new(format!("{key} = {text:?}: {why}"))))
    }

    fn shape(&self) -> Shape {
        Shape::Text
    }
}

/// One of these values, each by the word that the log has for it.
pub(super) struct OneOf<T: 'static>(pub(super) &'static [T]);

impl<T: Serialize> OneOf<T> {
    fn words(&self) -> Vec<String> {
        self.0.iter().filter_map(|value| json(value).as_str().map(str::to_owned)).collect()
    }
}

impl<T: Serialize + Copy> Form<T> for OneOf<T> {
    fn read(&self, given: &Given<'_, '_>) -> Result<T, Wrong> {
        given.text(|key, text| {
            let words = self.words();
            let found = words.iter().position(|word| word == text).map(|at| self.0[at]);
            let all = || words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" or ");
            found.ok_or_else(|| Complaint::new(format!("{key} = {text:?} is unknown; it is {}", all())))
        })
    }

    fn shape(&self) -> Shape {
        Shape::Words(self.words())
    }
}

/// The only mode that there is.
pub(super) struct Strict;

impl Form<QualityMode> for Strict {
    fn read(&self, given: &Given<'_, '_>) -> Result<QualityMode, Wrong> {
        given.text(|key, text| match text {
            "strict" => Ok(QualityMode::Strict),
            _ => Err(Complaint::new(format!("{key} = {text:?} is out of scope; only \"strict\" exists"))),
        })
    }

    fn shape(&self) -> Shape {
        Shape::Words(vec!["strict".to_owned()])
    }
}

/// A whole number within this range.
pub(super) struct Number(pub(super) RangeInclusive<u64>);

impl<T: TryFrom<u64> + Into<u64> + Copy> Form<T> for Number {
    fn read(&self, given: &Given<'_, '_>) -> Result<T, Wrong> {
        let text = given.value.get_ref().as_integer().ok_or_else(|| given.mistyped("a whole number"))?;
        // Nothing that exceeds 128 bits is in any range, whatever its exact value.
        let number = i128::from_str_radix(text.as_str(), text.radix()).unwrap_or(i128::MAX);
        let number = check::number(given.key, number, &self.0).map_err(|complaint| given.wrong(complaint))?;
        Ok(T::try_from(number).ok().expect("the range of a key fits into its type"))
    }

    fn accept(&self, name: &str, value: T) -> Result<T, Vec<Complaint>> {
        check::number(name, i128::from(value.into()), &self.0).map_err(|complaint| vec![complaint])?;
        Ok(value)
    }

    fn shape(&self) -> Shape {
        Shape::Number(self.0.clone())
    }
}

/// True or false.
pub(super) struct Truth;

impl Form<bool> for Truth {
    fn read(&self, given: &Given<'_, '_>) -> Result<bool, Wrong> {
        given.value.get_ref().as_bool().ok_or_else(|| given.mistyped("true or false"))
    }

    fn shape(&self) -> Shape {
        Shape::Truth
    }
}

/// True; false is refused.
pub(super) struct OnlyTrue;

impl Form<bool> for OnlyTrue {
    fn read(&self, given: &Given<'_, '_>) -> Result<bool, Wrong> {
        let key = given.key;
        let no = || Complaint::new(format!("{key} = false is refused: nothing is committed without approval"));
        let hint = "leave the key out, and approve with `pairflow approve`";
        if Truth.read(given)? { Ok(true) } else { Err(given.wrong(no().hint(hint))) }
    }

    fn shape(&self) -> Shape {
        Shape::Truth
    }
}

/// A list of texts, each of which the check accepts. All bad ones are reported.
pub(super) struct List(pub(super) TextCheck);

impl Form<Vec<String>> for List {
    fn read(&self, given: &Given<'_, '_>) -> Result<Vec<String>, Wrong> {
        let list = given.value.get_ref().as_array().ok_or_else(|| given.mistyped("a list of texts in brackets"))?;
        all(list.iter().map(|value| Given { key: given.key, value }.text(self.0)))
    }

    fn accept(&self, name: &str, value: Vec<String>) -> Result<Vec<String>, Vec<Complaint>> {
        all(value.iter().map(|text| (self.0)(name, text).map_err(|complaint| vec![complaint])))
    }

    fn shape(&self) -> Shape {
        Shape::List
    }
}

/// The words of a command line: a program that has a name, and its arguments.
pub(super) struct CommandLine;

impl Form<Vec<String>> for CommandLine {
    fn read(&self, given: &Given<'_, '_>) -> Result<Vec<String>, Wrong> {
        let (key, words) = (given.key, List(check::argument).read(given)?);
        match words.first() {
            Some(program) => check::text(key, program).map_err(|complaint| given.wrong(complaint))?,
            None => {
                let hint = format!("write the program first, such as {key} = [\"my-agent\"]");
                return Err(given.wrong(Complaint::new(format!("{key} names no program")).hint(hint)));
            }
        };
        Ok(words)
    }

    fn shape(&self) -> Shape {
        Shape::List
    }
}

/// Returns every good value, or all that is wrong with the others.
fn all<T, W>(results: impl Iterator<Item = Result<T, Vec<W>>>) -> Result<Vec<T>, Vec<W>> {
    let (mut good, mut wrong) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => good.push(value),
            Err(more) => wrong.extend(more),
        }
    }
    if wrong.is_empty() { Ok(good) } else { Err(wrong) }
}

/// A value of a file, with its key.
pub(super) struct Given<'a, 'i> {
    pub(super) key: &'a str,
    pub(super) value: &'a Spanned<DeValue<'i>>,
}

impl Given<'_, '_> {
    fn text<T>(&self, check: impl Fn(&str, &str) -> Result<T, Complaint>) -> Result<T, Wrong> {
        let text = self.value.get_ref().as_str().ok_or_else(|| self.mistyped("a text in quotes"))?;
        check(self.key, text).map_err(|complaint| self.wrong(complaint))
    }

    fn mistyped(&self, wanted: &str) -> Wrong {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.wrong(Complaint::new(format!("{} must be {wanted}, not {found}", self.key)))
    }

    fn wrong(&self, complaint: Complaint) -> Wrong {
        vec![(complaint, self.value.span())]
    }
}

/// A file that is being read.
pub(super) struct Reading<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) source: Source,
    pub(super) errors: Vec<ConfigError>,
}

impl Reading<'_> {
    /// Keeps a good value with its place, and complains about a bad one.
    pub(super) fn keep<T>(&mut self, given: &Given<'_, '_>, read: Result<T, Wrong>) -> Option<Set<T>> {
        match read {
            Ok(value) => {
                let origin = match self.source {
                    Source::Setting => Origin::Flag,
                    source => Origin::File(source, Place::of(self.file, self.text, given.value.span())),
                };
                Some(Set { value, origin })
            }
            Err(wrong) => {
                wrong.into_iter().for_each(|(complaint, span)| self.complain(complaint, span));
                None
            }
        }
    }

    /// Whether nobody reads on after so many mistakes; a hostile file must not cost more than this.
    pub(super) fn is_full(&self) -> bool {
        self.errors.len() >= MOST_ERRORS
    }

    pub(super) fn complain(&mut self, complaint: Complaint, span: Range<usize>) {
        if self.is_full() {
            return;
        }
        // A command line has no lines to point to.
        let place = (self.source != Source::Setting).then(|| Place::of(self.file, self.text, span));
        self.errors.push(complaint.at(place));
    }

    /// Returns what was read, or every mistake.
    pub(super) fn finish<L>(mut self, layer: L) -> Result<L, ConfigErrors> {
        self.errors.sort_by_key(|error| error.place.as_ref().map(|place| place.span.start));
        ConfigErrors::unless_any(self.errors, layer)
    }
}

/// Flags that are being checked.
pub(super) struct Checking {
    pub(super) errors: Vec<ConfigError>,
}

impl Checking {
    /// Checks the value of `flag`, if there is one, and keeps it.
    pub(super) fn keep<T>(&mut self, flag: &str, form: &impl Form<T>, given: Option<Set<T>>) -> Option<Set<T>> {
        let Set { value, origin } = given?;
        match form.accept(flag, value) {
            Ok(value) => Some(Set { value, origin }),
            Err(complaints) => {
                self.errors.extend(complaints.into_iter().map(|complaint| complaint.at(None)));
                None
            }
        }
    }
}
