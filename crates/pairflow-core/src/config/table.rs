//! What an entry of the key table holds, and what is made of the entries.

use super::form::{Checking, Given, Reading, Shape};
use super::origin::{Explained, toml_value};

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
        pub const $list: &[Key] = &[$(Key {
            name: $name,
            help: $help,
            who: Who::$who,
            until: Until::$until,
            shape: || Form::<$kind>::shape(&$form),
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

            fn read(&mut self, name: &str, given: &Given<'_, '_>, reading: &mut Reading<'_>) {
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
    fn read(&mut self, name: &str, given: &Given<'_, '_>, reading: &mut Reading<'_>);

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
pub struct Key {
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

impl Key {
    /// Returns the table that the key belongs to, and its name there.
    pub fn place(&self) -> (Option<&'static str>, &'static str) {
        self.name.split_once('.').map_or((None, self.name), |(table, name)| (Some(table), name))
    }

    /// Returns a good value, as TOML: the example, or else the default.
    pub fn example(&self) -> String {
        self.sample.map_or_else(|| toml_value(&(self.default)()), str::to_owned)
    }
}
