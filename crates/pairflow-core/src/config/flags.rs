//! What the command line sets, checked by the same rules as a file.

use super::error::ConfigErrors;
use super::form::Checking;
use super::keys::Layer;
use super::layer::Set;
use super::table::Keyed;
use crate::rules::DriverKind;

impl Layer {
    /// Returns the layer of a command line that sets these values.
    ///
    /// # Errors
    ///
    /// Every flag whose value no file could hold either.
    pub fn from_flags(flags: Self) -> Result<Self, ConfigErrors> {
        let mut checking = Checking { errors: Vec::new() };
        let mut layer = flags.accept(&mut checking);
        if layer.script.is_some() {
            // A script that is named is to be played.
            layer.driver.get_or_insert(Set::flag(DriverKind::Script));
        }
        ConfigErrors::unless_any(checking.errors, layer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_held_to_the_rules_of_a_file() {
        let flags = Layer {
            repo_path: Some(Set::flag("here".to_owned())),
            base_branch: Some(Set::flag("a b".to_owned())),
            max_rounds: Some(Set::flag(0)),
            test: Some(Set::flag(" ".to_owned())),
            ..Layer::default()
        };
        let errors = Layer::from_flags(flags).unwrap_err().0;
        let messages: Vec<_> = errors.iter().map(|error| error.message.split(':').next().unwrap()).collect();
        let expected = [
            "--repo = \"here\" is a relative path",
            "--base = \"a b\" is no name that git allows for a branch",
            "--max-rounds = 0 is out of range; it goes from 1 to 1000",
            "--test is empty",
        ];
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_script_is_played_unless_another_driver_is_named() {
        let driver = |driver: Option<DriverKind>, script: Option<&str>| {
            let script = script.map(|script| Set::flag(script.to_owned()));
            let flags = Layer { driver: driver.map(Set::flag), script, ..Layer::default() };
            Layer::from_flags(flags).unwrap().driver.map(|set| set.value)
        };
        assert_eq!(driver(None, Some("/a.yaml")), Some(DriverKind::Script));
        assert_eq!(driver(Some(DriverKind::External), Some("/a.yaml")), Some(DriverKind::External));
        assert_eq!(driver(None, None), None);
    }

    #[test]
    fn no_flags_are_an_empty_layer() {
        assert_eq!(Layer::from_flags(Layer::default()), Ok(Layer::default()));
    }
}
