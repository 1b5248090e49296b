//! The figures that make up the population, by name.

/// The figures of the project, with their sources.
const DEFAULT: &str = include_str!("../../../../lab/params.toml");
/// A population in which everything that reviews rely on is worse at once.
const HARD: &str = include_str!("../../../../lab/hard.toml");

/// The figures that are no shares of one.
const MEANS: [&str; 8] = ["p0", "p1", "p2", "p3", "noise", "sharp_claude", "sharp_codex", "sharp_third"];

macro_rules! params {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What agents, tasks and people are like.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct Params {
            $($(#[$doc])* pub $name: f64,)*
        }

        impl Params {
            /// The name of every figure.
            pub const NAMES: &[&str] = &[$(stringify!($name),)*];
            const ZERO: Self = Self { $($name: 0.0,)* };

            fn named(&mut self, name: &str) -> Option<&mut f64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

params! {
    /// Mean count of critical defects in a first cut.
    p0,
    /// Mean count of major defects in a first cut.
    p1,
    /// Mean count of minor defects in a first cut.
    p2,
    /// Mean count of nitpicks in a first cut that are right.
    p3,
    /// Share of critical defects that one look finds.
    recall_p0,
    /// Share of major defects that one look finds.
    recall_p1,
    /// Share of minor defects that one look finds.
    recall_p2,
    /// Share of right nitpicks that one look finds.
    recall_p3,
    /// Share of the defects in a small change that one look finds, at least.
    recall_small,
    /// How the one model compares with these rates.
    sharp_claude,
    /// How the other model compares with these rates.
    sharp_codex,
    /// Share of the misses that are misses for ever.
    blind,
    /// How often both models have the same blind spot beyond chance.
    shared_blind,
    /// Share of its own defects that a model cannot see.
    own_blind,
    /// Mean count of claims about nothing in one review.
    noise,
    /// Share of them that is called blocking.
    noise_grave,
    /// How often a review brings up what was settled.
    repeat,
    /// How often a claim is said in other words than before.
    reworded,
    /// How often a review wants undone what an earlier one wanted.
    reversal,
    /// How often the reviewer says what it wants undone.
    owns_up,
    /// How often a review approves without looking.
    lazy,
    /// How often an answer to a finding is judged wrongly.
    misjudged,
    /// How often the dispute of a wrong claim is not taken.
    stubborn,
    /// Share of minor claims that touch a risk.
    tagged,
    /// How often an honest attempt fixes a defect.
    mended,
    /// How often "fixed" is said and nothing was done.
    lie,
    /// How often a right finding is disputed.
    disputes_true,
    /// How often a wrong finding is disputed.
    disputes_false,
    /// How often a change breaks something.
    regress,
    /// How often a minor finding is fixed although nothing requires it.
    tempted,
    /// Share of blocking defects that make a check fail.
    check_grave,
    /// Share of minor defects that make a check fail.
    check_minor,
    /// Share of right blocking claims with a command that shows the fault.
    reproducer,
    /// Share of such commands that fail whatever is done.
    wrong_reproducer,
    /// How often a check fails on work on which it would pass.
    flaky,
    /// How often a claim is called one step more or less severe than it is.
    wrong_severity,
    /// Share of claims for which a test can be written that fails while they hold.
    testable,
    /// How often a judge decides wrongly.
    judge_errs,
    /// Share of blocking defects that acceptance tests show which were written from the task alone.
    acceptance,
    /// How a third model compares with the rates of one look.
    sharp_third,
    /// How often a third model shares what the first one sees or is blind to.
    third_blind,
    /// How many times a person says "continue" before "accept".
    patience,
}

/// Why a text is no list of figures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadParams {
    /// A line has another form.
    #[error("line {line} is not `name = number`: {text}")]
    Form {
        /// The number of the line.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// There is no figure of that name.
    #[error("line {line}: there is no figure '{name}'; lab/params.toml has them all")]
    Unknown {
        /// The number of the line.
        line: usize,
        /// The name.
        name: String,
    },
}

impl Params {
    /// The population in which everything that reviews rely on is worse at once.
    pub fn hard() -> Self {
        Self::default().read(HARD).expect("the figures of the project are well-formed, which a test makes sure of")
    }

    /// Reads lines of `name = number`; what is not named stays as it is.
    pub fn read(mut self, text: &str) -> Result<Self, BadParams> {
        for (line, full) in (1..).zip(text.lines()) {
            let text = full.split('#').next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let form = || BadParams::Form { line, text: text.to_owned() };
            let (name, value) = text.split_once('=').ok_or_else(form)?;
            let value: f64 = value.trim().parse().map_err(|_| form())?;
            if !value.is_finite() || value < 0.0 {
                return Err(form());
            }
            let name = name.trim();
            *self.named(name).ok_or_else(|| BadParams::Unknown { line, name: name.to_owned() })? = value;
        }
        Ok(self)
    }

    /// Another population: every figure but the person's patience times a lognormal of the spread `sigma`.
    /// `normal` draws from the standard normal distribution.
    pub(super) fn population(mut self, sigma: f64, mut normal: impl FnMut() -> f64) -> Self {
        for name in Self::NAMES.iter().filter(|name| **name != "patience") {
            let factor = (sigma * normal()).exp();
            if let Some(value) = self.named(name) {
                // Means of counts and the models' sharpness have no upper bound, shares of one do.
                let bound = if MEANS.contains(name) { f64::MAX } else { 1.0 };
                *value = (*value * factor).min(bound);
            }
        }
        self
    }

    /// The same figures with one of them made larger or smaller.
    pub fn scaled(mut self, name: &str, factor: f64) -> Self {
        if let Some(value) = self.named(name) {
            *value *= factor;
        }
        self
    }

    /// The same figures with one of them set.
    pub fn with(mut self, name: &str, value: f64) -> Self {
        if let Some(figure) = self.named(name) {
            *figure = value;
        }
        self
    }
}

impl Default for Params {
    fn default() -> Self {
        Self::ZERO.read(DEFAULT).expect("the figures of the project are well-formed, which a test makes sure of")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_project_names_every_figure_once() {
        let named: Vec<_> = DEFAULT
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| Some(line.split_once('=')?.0.trim()))
            .collect();
        assert_eq!(named, Params::NAMES);
        assert_eq!(Params::default().recall_p0, 0.64);
    }

    #[test]
    fn a_file_may_name_a_few_figures_and_no_unknown_ones() {
        let read = Params::default().read("lazy = 1.0 # all of them\n").unwrap();
        assert_eq!(read, Params::default().with("lazy", 1.0));
        let unknown = Params::default().read("\nlazzy = 1");
        assert_eq!(unknown, Err(BadParams::Unknown { line: 2, name: "lazzy".to_owned() }));
        assert!(matches!(Params::default().read("lazy = often"), Err(BadParams::Form { line: 1, .. })));
        assert!(matches!(Params::default().read("lazy = -1"), Err(BadParams::Form { .. })));
    }
}
