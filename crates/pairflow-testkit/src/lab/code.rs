//! The work: where its defects are, which model sees them, and what a change does to it. Chance is repeatable.

use pairflow_core::facts::Severity;

use super::Params;
use crate::disk::Rng;

/// How many files the work has.
pub(super) const FILES: usize = 8;
/// How many parts each file has; a change touches one part.
pub(super) const PARTS: usize = 4;
/// The most that can be known for sure; no look is ever certain.
const CERTAIN: f64 = 0.99;

/// One of the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// Starts as reviewer.
    Claude,
    /// Starts as implementer.
    Codex,
    /// Only reviews and judges, and only where three agents are configured.
    Third,
}

impl Model {
    /// The two that every rival has.
    const BOTH: [Self; 2] = [Self::Claude, Self::Codex];

    fn sharp(self, params: &Params) -> f64 {
        match self {
            Self::Claude => params.sharp_claude,
            Self::Codex => params.sharp_codex,
            Self::Third => params.sharp_third,
        }
    }
}

/// The size of a task, by the lines that it changes: the same classes as in the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Size {
    /// At most 50 lines.
    #[default]
    Small,
    /// At most 400 lines.
    Medium,
    /// More.
    Large,
}

impl Size {
    /// Draws a size: 40 % small, 40 % medium, 20 % large.
    fn draw(dice: &mut Dice) -> Self {
        match dice.unit() {
            drawn if drawn < 0.4 => Self::Small,
            drawn if drawn < 0.8 => Self::Medium,
            _ => Self::Large,
        }
    }

    /// How many times the mean count of defects it has.
    fn defects(self) -> f64 {
        match self {
            Self::Small => 0.4,
            Self::Medium => 1.0,
            Self::Large => 2.2,
        }
    }

    /// How much better than on average a look finds them: reviews get worse as changes grow.
    fn recall(self) -> f64 {
        match self {
            Self::Small => 1.15,
            Self::Medium => 1.0,
            Self::Large => 0.8,
        }
    }

    /// How many lines each of the files changes.
    pub(super) fn lines(self) -> u64 {
        match self {
            Self::Small => 4,
            Self::Medium => 25,
            Self::Large => 100,
        }
    }
}

/// What a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// A true defect.
    Defect(usize),
    /// Something that is no fault.
    Opinion(usize),
    /// A check that failed by chance.
    Flake,
    /// What the acceptance tests show.
    Acceptance,
}

/// A true defect.
#[derive(Debug, Clone)]
pub(super) struct Defect {
    pub severity: Severity,
    pub part: usize,
    pub tagged: bool,
    /// Whether it makes a required check fail.
    pub fails_check: bool,
    /// Whether acceptance tests show it that were written from the task alone.
    pub fails_acceptance: bool,
    /// Whether a test can be written that fails while it is there.
    pub testable: bool,
    /// Whether it is still there.
    pub alive: bool,
    /// How likely a look of each model finds it; nothing for a blind spot.
    sight: [f64; 3],
}

/// A claim about nothing.
#[derive(Debug, Clone)]
pub(super) struct Opinion {
    pub severity: Severity,
    pub part: usize,
    pub tagged: bool,
    /// What it wants undone.
    pub undoes: Option<Subject>,
    /// Whether a test could be written that fails if it were right.
    pub testable: bool,
}

/// The work, as only the lab knows it.
#[derive(Debug, Clone)]
pub(super) struct Code {
    pub defects: Vec<Defect>,
    pub opinions: Vec<Opinion>,
    /// How often each part was changed.
    pub versions: [u32; FILES * PARTS],
    /// How many changes there were: the name of the tree.
    pub changes: u32,
    /// How large the change is.
    pub size: Size,
    /// The mean count of claims about nothing that this task draws from a reviewer.
    pub noise: f64,
    /// Chance for what no rival looks at, so that every rival gets the same task whatever these figures are.
    pub aside: Dice,
}

impl Code {
    /// Draws a task, and the first cut of it.
    pub(super) fn first_cut(params: &Params, dice: &mut Dice, by: Model) -> Self {
        let aside = dice.aside();
        let size = Size::draw(dice);
        let noise = params.noise * 2.0 * dice.unit();
        let versions = [1; FILES * PARTS];
        let mut code = Self { defects: Vec::new(), opinions: Vec::new(), versions, changes: 1, size, noise, aside };
        for severity in [Severity::P0, Severity::P1, Severity::P2, Severity::P3] {
            for _ in 0..dice.poisson(mean(params, severity) * size.defects()) {
                let part = dice.below(FILES * PARTS);
                code.add(params, dice, by, (severity, part, 0.0));
            }
        }
        code
    }

    /// Puts a defect into the work; every look finds at least the share `least` of its like.
    fn add(&mut self, params: &Params, dice: &mut Dice, by: Model, what: (Severity, usize, f64)) {
        let (severity, part, least) = what;
        let own = dice.unit();
        let shared = [false, dice.chance(params.shared_blind)];
        let mut sight = [0.0; 3];
        let recall = recall(params, severity) * self.size.recall();
        let rate = |model: Model, drawn: f64| {
            let found = (recall * model.sharp(params)).max(least).min(CERTAIN);
            let blind = params.blind.min(1.0) * (1.0 - found);
            let sees = drawn >= blind && !(model == by && own < params.own_blind);
            if sees { found / (1.0 - blind) } else { 0.0 }
        };
        let mut first = None;
        for (at, model) in Model::BOTH.into_iter().enumerate() {
            // A blind spot that is shared is one of the first model's.
            let drawn = first.filter(|_| shared[at]).unwrap_or_else(|| dice.unit());
            first = first.or(Some(drawn));
            sight[at] = rate(model, drawn);
        }
        let (same, other) = (self.aside.chance(params.third_blind), self.aside.unit());
        sight[Model::Third as usize] = rate(Model::Third, first.filter(|_| same).unwrap_or(other));
        let fails = if severity.blocks() { params.check_grave } else { params.check_minor };
        let tagged = severity == Severity::P2 && dice.chance(params.tagged);
        let fails_check = dice.chance(fails);
        let fails_acceptance = self.aside.chance(params.acceptance) && severity.blocks();
        let testable = self.aside.chance(params.testable);
        let defect = Defect { severity, part, tagged, fails_check, fails_acceptance, testable, alive: true, sight };
        self.defects.push(defect);
    }

    /// Changes a part of the work, which may break something.
    pub(super) fn change(&mut self, params: &Params, dice: &mut Dice, by: Model, part: usize) {
        self.versions[part] += 1;
        self.changes += 1;
        if dice.chance(params.regress) {
            let critical = dice.chance(params.p0 / (params.p0 + params.p1).max(f64::MIN_POSITIVE));
            let severity = if critical { Severity::P0 } else { Severity::P1 };
            self.add(params, dice, by, (severity, part, params.recall_small));
        }
    }

    /// Returns the defects that are there.
    pub(super) fn alive(&self) -> impl Iterator<Item = (usize, &Defect)> {
        self.defects.iter().enumerate().filter(|(_, defect)| defect.alive)
    }

    /// Returns how many defects are there of which `which` is true.
    pub(super) fn count(&self, which: impl Fn(Severity) -> bool) -> u32 {
        self.alive().filter(|(_, defect)| which(defect.severity)).map(|_| 1).sum()
    }

    /// Whether the required checks pass.
    pub(super) fn checks_pass(&self) -> bool {
        self.alive().all(|(_, defect)| !defect.fails_check)
    }

    /// Returns where a subject is, how severe it is, and whether it touches a risk.
    pub(super) fn about(&self, subject: Subject) -> (usize, Severity, bool) {
        match subject {
            Subject::Defect(at) => (self.defects[at].part, self.defects[at].severity, self.defects[at].tagged),
            Subject::Opinion(at) => (self.opinions[at].part, self.opinions[at].severity, self.opinions[at].tagged),
            Subject::Flake | Subject::Acceptance => (0, Severity::P1, false),
        }
    }

    /// Whether what a claim is about is a defect that is there.
    pub(super) fn holds(&self, subject: Subject) -> bool {
        match subject {
            Subject::Defect(at) => self.defects[at].alive,
            Subject::Acceptance => !self.is_accepted(),
            Subject::Opinion(_) | Subject::Flake => false,
        }
    }

    /// Whether acceptance tests that are right pass.
    pub(super) fn is_accepted(&self) -> bool {
        self.alive().all(|(_, defect)| !defect.fails_acceptance)
    }

    /// Whether a test can be written that fails while a claim holds.
    pub(super) fn is_testable(&self, subject: Subject) -> bool {
        match subject {
            Subject::Defect(at) => self.defects[at].testable,
            Subject::Opinion(at) => self.opinions[at].testable,
            Subject::Flake | Subject::Acceptance => false,
        }
    }
}

impl Defect {
    /// How likely a look of `model` finds it.
    pub(super) fn seen_by(&self, model: Model) -> f64 {
        self.sight[model as usize]
    }
}

fn mean(params: &Params, severity: Severity) -> f64 {
    match severity {
        Severity::P0 => params.p0,
        Severity::P1 => params.p1,
        Severity::P2 => params.p2,
        Severity::P3 => params.p3,
    }
}

fn recall(params: &Params, severity: Severity) -> f64 {
    match severity {
        Severity::P0 => params.recall_p0,
        Severity::P1 => params.recall_p1,
        Severity::P2 => params.recall_p2,
        Severity::P3 => params.recall_p3,
    }
}

/// Repeatable chance.
#[derive(Debug, Clone)]
pub(super) struct Dice(Rng);

impl Dice {
    /// Begins a sequence.
    pub(super) fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// Begins another sequence beside this one, which goes on as if there were none.
    pub(super) fn aside(&self) -> Self {
        Self::new(self.clone().0.number())
    }

    /// Returns a number from 0 up to, but not including, 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Says yes with this rate.
    pub(super) fn chance(&mut self, rate: f64) -> bool {
        self.unit() < rate
    }

    /// Returns a number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit)
    }

    /// Draws a count with this mean.
    pub(super) fn poisson(&mut self, mean: f64) -> usize {
        let floor = (-mean).exp();
        let (mut count, mut product) = (0, self.unit());
        while product > floor {
            count += 1;
            product *= self.unit();
        }
        count
    }

    /// Draws from the standard normal distribution.
    pub(super) fn normal(&mut self) -> f64 {
        let (radius, angle) = ((-2.0 * (1.0 - self.unit()).ln()).sqrt(), std::f64::consts::TAU * self.unit());
        radius * angle.cos()
    }

    /// Picks one of several.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        if items.is_empty() { None } else { Some(items[self.below(items.len())]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one look of one model, and of both, finds of the first cuts of somebody else.
    fn coverage(params: &Params) -> (f64, f64) {
        let (mut all, mut one, mut both) = (0.0, 0.0, 0.0);
        for seed in 0..9000 {
            let code = Code::first_cut(params, &mut Dice::new(seed), Model::Codex);
            if code.size != Size::Medium {
                continue;
            }
            for (_, defect) in code.alive() {
                let (claude, codex) = (defect.seen_by(Model::Claude), defect.seen_by(Model::Codex));
                all += 1.0;
                one += claude;
                both += claude + codex - claude * codex;
            }
        }
        (one / all, both / all)
    }

    #[test]
    fn one_and_two_models_find_the_share_that_the_figures_say() {
        let plain = Params::default().with("p0", 0.0).with("p1", 0.0).with("own_blind", 0.0);
        let (one, both) = coverage(&plain);
        assert!((one - 0.336).abs() < 0.01, "{one}");
        assert!((both - 0.548).abs() < 0.01, "{both}");
        let (_, apart) = coverage(&plain.with("shared_blind", 0.0));
        assert!((apart - 0.571).abs() < 0.02, "{apart}");
    }

    #[test]
    fn figures_that_no_rival_looks_at_leave_the_tasks_as_they_are() {
        let (plain, other) = (Params::default(), Params::default().with("third_blind", 1.0).with("testable", 0.0));
        let mut same_sight = 0;
        for seed in 0..200 {
            let cut = |params: &Params| Code::first_cut(params, &mut Dice::new(seed), Model::Codex).defects;
            for (one, two) in cut(&plain).into_iter().zip(cut(&other)) {
                assert_eq!((one.severity, one.part, one.fails_check), (two.severity, two.part, two.fails_check));
                assert_eq!(one.sight[..2], two.sight[..2]);
                assert!(!two.testable);
                // What is alike to the first model and not its own is seen as the first model sees it.
                assert_eq!(two.sight[Model::Third as usize], two.sight[Model::Claude as usize]);
                same_sight += usize::from(one.sight == two.sight);
            }
        }
        assert!(same_sight > 0);
    }
}
