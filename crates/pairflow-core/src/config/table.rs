//! What an entry of the key table holds, and what is made of the entries.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use serde::Serialize;
use toml::Spanned;
use toml::de::DeValue;

use super::check;
use super::check::Webhook;
use super::origin::{
    Complaint, ConfigError, ConfigErrors, ConfigSource, Explained, FilePlace, Origin, QualityMode, Set, json,
    toml_value,
};

/// Makes a layer out of its part of the key table. Everything that depends on which keys there are follows from here, so
/// an entry that lacks a column does not compile.
macro_rules! keys {
    (
        $(#[$doc:meta])* $layer:ident, $(#[$list_doc:meta])* $list:ident, recorded in $recorded:ident
        $(, $more:ident: $inner:ident = $table:literal)?;
        $($field:ident: $kind:ty = $name:literal {
            help: $help:literal,
            who: $who:ident,
            until: $until:ident,
            form: $form:expr,
            default: $default:expr,
            $(rules: $($place:ident).+,)?
            $(flag: $flag:literal,)?
            $(sample: $sample:literal,)?
            $(note: $note:literal,)?
            $(written: $written:ident,)?
            effect: $effect:literal,
        })*
    ) => {
        $(#[$list_doc])*
        pub const $list: &[ConfigKey] = &[$(ConfigKey {
            name: $name,
            help: $help,
            who: Who::$who,
            until: Until::$until,
            shape: || ValueForm::<$kind>::shape(&$form),
            default: || { let default: Option<$kind> = $default; json(&default) },
            flag: [$(Some($flag),)? None][0],
            sample: [$(Some($sample),)? None][0],
            note: [$(Some($note),)? None][0],
            written: [$(Written::$written,)? Written::Always][0],
            effect: $effect,
        }),*];

        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct $layer {
            $(#[doc = concat!("`", $name, "`: ", $help)] pub $field: Option<Set<$kind>>,)*
            $(#[doc = concat!("`[", $table, ".NAME]`")] pub $more: BTreeMap<AgentId, $inner>,)?
        }

        impl Keyed for $layer {
            type Recorded = $recorded;

            fn defaults() -> Self {
                $(let $field: Option<$kind> = $default;)*
                Self { $($field: $field.map(Set::default),)* $($more: BTreeMap::new())? }
            }

            fn or(self, weaker: &Self) -> Self {
                $(let mut $more = self.$more;
                for (name, below) in &weaker.$more {
                    let above = $more.remove(name).unwrap_or_default();
                    $more.insert(name.clone(), above.or(below));
                })?
                Self { $($field: self.$field.or_else(|| weaker.$field.clone()),)* $($more)? }
            }

            fn read(&mut self, name: &str, given: &GivenValue<'_, '_>, reading: &mut FileReading<'_>) {
                match name {
                    $($name => self.$field = reading.keep(given, $form.read(given)),)*
                    _ => {}
                }
            }

            fn accept(self, checking: &mut Checking) -> Self {
                Self { $($field: checking.keep([$($flag,)? $name][0], &$form, self.$field),)* $($more: self.$more)? }
            }

            fn retain(&mut self, keep: impl Fn(&str) -> bool) {
                $(if !keep($name) { self.$field = None; })*
            }

            fn explain(&self, table: &str) -> Vec<Explained> {
                let rows = vec![$(Explained::of(format!("{table}{}", $name), self.$field.as_ref())),*];
                $(let inner = self.$more.iter().flat_map(|(name, one)| one.explain(&format!("{}.{name}.", $table)));
                let rows = rows.into_iter().chain(inner.filter(|row| !row.value.is_null())).collect();)?
                rows
            }

            fn recorded(rules: &$recorded) -> Self {
                let mut layer = Self::default();
                $($(layer.$field = Option::<$kind>::from(rules.$($place).+.clone()).map(Set::recorded);)?)*
                layer
            }

            fn record(&self, rules: &mut $recorded) {
                $($(if let Some(set) = &self.$field {
                    rules.$($place).+ = set.value.clone().into();
                })?)*
            }
        }
    };
}
pub(super) use keys;

/// The values of one place, for a part of the key table.
pub(super) trait Keyed: Default {
    /// What the log records of them.
    type Recorded;

    /// Returns the values that hold where nobody sets any.
    fn defaults() -> Self;

    /// Fills what this layer leaves out with what `weaker` sets.
    fn or(self, weaker: &Self) -> Self;

    /// Reads the value of the key `name` out of a file.
    fn read(&mut self, name: &str, given: &GivenValue<'_, '_>, reading: &mut FileReading<'_>);

    /// Checks every value as one of a flag.
    fn accept(self, checking: &mut Checking) -> Self;

    /// Takes back the values of all other keys.
    fn retain(&mut self, keep: impl Fn(&str) -> bool);

    /// Says for every key what is set and where; `table` stands before its name.
    fn explain(&self, table: &str) -> Vec<Explained>;

    /// Returns what is recorded under a name of its own; what follows from several values is left out.
    fn recorded(rules: &Self::Recorded) -> Self;

    /// Puts every value where it is recorded, as far as it has a place of its own.
    fn record(&self, rules: &mut Self::Recorded);
}

/// A key of the configuration: all there is to know about it but its value.
#[derive(Debug, Clone, Copy)]
pub struct ConfigKey {
    /// Its name, with its table.
    pub name: &'static str,
    /// What its value means.
    pub help: &'static str,
    /// Who may set it.
    pub who: Who,
    /// How long it can change.
    pub until: Until,
    /// What its values look like.
    pub shape: fn() -> Shape,
    /// The value that holds where nobody sets one; null for none.
    pub default: fn() -> serde_json::Value,
    /// The flag that sets it for one bubble.
    pub flag: Option<&'static str>,
    /// An example, as TOML, where the default would be none.
    pub sample: Option<&'static str>,
    /// What a `bubble.toml` says beside its value.
    pub note: Option<&'static str>,
    /// Whether a `bubble.toml` has it.
    pub written: Written,
    /// The test that shows its effect: the crate and the path of the test.
    pub effect: &'static str,
}

/// Who may set a key. A repository may set only what is marked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// It belongs to one bubble, so no shared file may set it.
    Bubble,
    /// The person, in their own file or in a `bubble.toml`.
    Person,
    /// The person's own file alone: it is a secret, or decides where one goes.
    PersonsFile,
    /// The person, and a repository's `pairflow.toml`.
    Repository,
}

/// How long a key can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Until {
    /// It is fixed when the bubble is made.
    Creation,
    /// It is fixed when the bubble is started.
    Start,
    /// It can change while the bubble is under way, but not while work is up for approval that was judged by it.
    Approval,
    /// It has no say in what is accepted, so it can change at any time.
    End,
}

/// When a `bubble.toml` has a key. What has no value is never written, and neither is an empty list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Always, so that it stays what it was.
    Always,
    /// If it differs from the default.
    IfChanged,
}

impl ConfigKey {
    /// Returns the table that the key belongs to, and its name there.
    pub fn place(&self) -> (Option<&'static str>, &'static str) {
        self.name.split_once('.').map_or((None, self.name), |(table, name)| (Some(table), name))
    }

    /// Returns a good value, as TOML: the example, or else the default.
    pub fn example(&self) -> String {
        self.sample.map_or_else(|| toml_value(&(self.default)()), str::to_owned)
    }
}

/// How many mistakes of one file are reported.
const MOST_ERRORS: usize = 50;

/// What is wrong with a value, and with which part of it.
pub(super) type WrongValue = Vec<(Complaint, Range<usize>)>;

/// What makes a text good; the first argument is the name of the key.
type TextCheck = fn(&str, &str) -> Result<String, Complaint>;

/// How the values of a key are written.
pub(super) trait ValueForm<T> {
    /// Reads a value of a file.
    fn read(&self, given: &GivenValue<'_, '_>) -> Result<T, WrongValue>;

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

impl ValueForm<String> for Text {
    fn read(&self, given: &GivenValue<'_, '_>) -> Result<String, WrongValue> {
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

impl ValueForm<Webhook> for Address {
    fn read(&self, given: &GivenValue<'_, '_>) -> Result<Webhook, WrongValue> {
        given.text(Webhook::read)
    }

    fn shape(&self) -> Shape {
        Shape::Text
    }
}

/// The name of an agent or a bubble.
pub(super) struct Name;

impl<T: FromStr<Err: Display>> ValueForm<T> for Name {
    fn read(&self, given: &GivenValue<'_, '_>) -> Result<T, WrongValue> {
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

impl<T: Serialize + Copy> ValueForm<T> for OneOf<T> {
    fn read(&self, given: &GivenValue<'_, '_>) -> Result<T, WrongValue> {
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
pub(super) struct OnlyStrict;

impl ValueForm<QualityMode> for OnlyStrict {
    fn read(&self, given: &GivenValue<'_, '_>) -> Result<QualityMode, WrongValue> {
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

impl<T: TryFrom<u64> + Into<u64> + Copy> ValueForm<T> for Number {
    fn read(&self, given: &GivenValue<'_, '_>) -> Result<T, WrongValue> {
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

impl ValueForm<bool> for Truth {
    fn read(&self, given: &GivenValue<'_, '_>) -> Result<bool, WrongValue> {
        given.value.get_ref().as_bool().ok_or_else(|| given.mistyped("true or false"))
    }

    fn shape(&self) -> Shape {
        Shape::Truth
    }
}

/// True; false is refused.
pub(super) struct OnlyTrue;

impl ValueForm<bool> for OnlyTrue {
    fn read(&self, given: &GivenValue<'_, '_>) -> Result<bool, WrongValue> {
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
pub(super) struct TextList(pub(super) TextCheck);

impl ValueForm<Vec<String>> for TextList {
    fn read(&self, given: &GivenValue<'_, '_>) -> Result<Vec<String>, WrongValue> {
        let list = given.value.get_ref().as_array().ok_or_else(|| given.mistyped("a list of texts in brackets"))?;
        all(list.iter().map(|value| GivenValue { key: given.key, value }.text(self.0)))
    }

    fn accept(&self, name: &str, value: Vec<String>) -> Result<Vec<String>, Vec<Complaint>> {
        all(value.iter().map(|text| (self.0)(name, text).map_err(|complaint| vec![complaint])))
    }

    fn shape(&self) -> Shape {
        Shape::List
    }
}

/// The words of a command line: a program that has a name, and its arguments.
pub(super) struct CommandLineForm;

impl ValueForm<Vec<String>> for CommandLineForm {
    fn read(&self, given: &GivenValue<'_, '_>) -> Result<Vec<String>, WrongValue> {
        let (key, words) = (given.key, TextList(check::argument).read(given)?);
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
pub(super) struct GivenValue<'a, 'i> {
    pub(super) key: &'a str,
    pub(super) value: &'a Spanned<DeValue<'i>>,
}

impl GivenValue<'_, '_> {
    fn text<T>(&self, check: impl Fn(&str, &str) -> Result<T, Complaint>) -> Result<T, WrongValue> {
        let text = self.value.get_ref().as_str().ok_or_else(|| self.mistyped("a text in quotes"))?;
        check(self.key, text).map_err(|complaint| self.wrong(complaint))
    }

    fn mistyped(&self, wanted: &str) -> WrongValue {
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

    fn wrong(&self, complaint: Complaint) -> WrongValue {
        vec![(complaint, self.value.span())]
    }
}

/// A file that is being read.
pub(super) struct FileReading<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) source: ConfigSource,
    pub(super) errors: Vec<ConfigError>,
}

impl FileReading<'_> {
    /// Keeps a good value with its place, and complains about a bad one.
    pub(super) fn keep<T>(&mut self, given: &GivenValue<'_, '_>, read: Result<T, WrongValue>) -> Option<Set<T>> {
        match read {
            Ok(value) => {
                let origin = match self.source {
                    ConfigSource::Setting => Origin::Flag,
                    source => Origin::File(source, FilePlace::of(self.file, self.text, given.value.span())),
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
        let place = (self.source != ConfigSource::Setting).then(|| FilePlace::of(self.file, self.text, span));
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
    pub(super) fn keep<T>(&mut self, flag: &str, form: &impl ValueForm<T>, given: Option<Set<T>>) -> Option<Set<T>> {
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
