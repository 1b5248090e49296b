//! The convergence lab: it is repeatable, its agents do what their figures say, and its gates can fail.

use pairflow_testkit::lab::{
    Cause, Drawn, Lab, Mean, Measured, Params, Population, Ran, Setup, Size, Spread, Summary, gates, measure, naive,
    original, ours, population, populations, single,
};

/// Agents that make no mistake and invent nothing.
fn perfect() -> Params {
    let off = [
        "p0",
        "p1",
        "p2",
        "p3",
        "noise",
        "repeat",
        "reversal",
        "lazy",
        "misjudged",
        "stubborn",
        "regress",
        "lie",
        "disputes_true",
        "blind",
        "own_blind",
        "check_minor",
        "flaky",
        "wrong_severity",
        "wrong_reproducer",
    ];
    off.into_iter().fold(Params::default(), |params, name| params.with(name, 0.0)).with("mended", 1.0)
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let params = Params::default();
    for seed in 0..8 {
        assert_eq!(ours(&params, seed, Setup::Standard), ours(&params, seed, Setup::Standard));
        assert_eq!(original(&params, seed), original(&params, seed));
        assert_eq!(naive(&params, seed), naive(&params, seed));
    }
    assert_eq!(measure(&params, 5), measure(&params, 5));
}

#[test]
fn work_without_defects_converges_after_as_many_looks_as_its_size_needs() {
    for seed in 0..12 {
        let ran = ours(&perfect(), seed, Setup::Standard);
        let looks = match ran.size {
            Size::Small => 2,
            Size::Medium => 3,
            Size::Large => 4,
        };
        assert_eq!((ran.looks, ran.turns, ran.questions, ran.left), (looks, looks + 1, 0, 0), "{:?}", ran.size);
        // The first turn writes acceptance tests, and every agent takes a first look.
        let thorough = ours(&perfect(), seed, Setup::ThoroughTwo);
        assert_eq!((thorough.looks, thorough.turns, thorough.questions), (looks, looks + 2, 0));
        let three = ours(&perfect(), seed, Setup::ThoroughThree);
        assert_eq!((three.looks, three.turns, three.questions), (looks.max(3), looks.max(3) + 2, 0));
        assert_eq!(naive(&perfect(), seed).looks, 1);
        assert_eq!(single(&perfect(), seed).looks, 0);
    }
}

#[test]
fn acceptance_tests_that_show_everything_leave_nothing_also_with_lazy_reviewers() {
    let lazy = Params::default().with("lazy", 1.0).with("acceptance", 1.0).with("wrong_reproducer", 0.0);
    for seed in 0..25 {
        assert_eq!(ours(&lazy, seed, Setup::ThoroughTwo).left, 0, "seed {seed}");
    }
    let left = |acceptance| {
        let params = lazy.with("acceptance", acceptance);
        (0..25).map(|seed| ours(&params, seed, Setup::ThoroughTwo).left).sum::<u32>()
    };
    assert!(left(0.0) > 10, "{}", left(0.0));
}

#[test]
fn acceptance_tests_that_are_wrong_are_taken_back_in_the_end() {
    let wrong = Params::default().with("wrong_reproducer", 1.0).with("reproducer", 0.0);
    let mut taken = 0;
    for seed in 0..25 {
        let ran = ours(&wrong, seed, Setup::ThoroughTwo);
        assert!(ran.converged, "seed {seed}: {ran:?}");
        taken += u32::from(ran.taken);
    }
    assert!(taken <= 2, "{taken}");
}

#[test]
fn where_every_claim_is_testable_no_fix_that_failed_gets_to_a_reviewer() {
    let figures = [("lie", 0.0), ("misjudged", 0.0), ("reproducer", 0.0), ("wrong_reproducer", 0.0), ("mended", 0.9)];
    let honest = figures.into_iter().fold(Params::default(), |params, (name, value)| params.with(name, value));
    let not_fixed = |testable| {
        let params = honest.with("testable", testable).with("disputes_true", 0.0);
        let runs = (0..60).map(|seed| ours(&params, seed, Setup::Standard));
        runs.map(|run| run.causes[Cause::NotFixed as usize]).sum::<u32>()
    };
    assert_eq!(not_fixed(1.0), 0);
    assert!(not_fixed(0.0) > 3, "{}", not_fixed(0.0));
}

#[test]
fn a_judge_that_never_errs_ends_every_quarrel_about_nothing() {
    let figures = [("noise_grave", 1.0), ("stubborn", 1.0), ("testable", 1.0), ("judge_errs", 0.0), ("reversal", 0.0)];
    let quarrel =
        figures.into_iter().fold(perfect().with("noise", 0.15), |params, (name, value)| params.with(name, value));
    let runs: Vec<_> = (0..40).map(|seed| ours(&quarrel, seed, Setup::Standard)).collect();
    assert!(runs.iter().map(|run| run.judged).sum::<u32>() > 10);
    assert!(
        runs.iter().all(|run| run.questions == 0 && run.left == 0),
        "nobody is asked, and right code stays as it is"
    );
}

#[test]
fn perfect_agents_leave_nothing() {
    let params = perfect().with("p1", 2.0).with("recall_p1", 1.0);
    let left: u32 = (0..15).map(|seed| ours(&params, seed, Setup::Standard).left).sum();
    assert_eq!(left, 0);
}

#[test]
fn lazy_reviewers_leave_the_defects_that_no_check_shows() {
    let lazy = Params::default().with("lazy", 1.0).with("regress", 0.0);
    for seed in 0..25 {
        let (ours, alone) = (ours(&lazy, seed, Setup::Standard), single(&lazy.with("check_grave", 0.0), seed));
        assert!(!ours.checks_fail && !ours.unreviewed, "seed {seed}: {ours:?}");
        assert!(ours.left <= alone.left + 1, "seed {seed}");
    }
    let left = |lazy: &Params| (0..25).map(|seed| ours(lazy, seed, Setup::Standard).left).sum::<u32>();
    let (lazy, usual) = (left(&lazy), left(&Params::default()));
    assert!(2 * lazy > 3 * usual, "{lazy} against {usual}");
}

#[test]
fn reviewers_that_never_agree_end_with_a_person() {
    let quarrel = Params::default().with("noise", 2.0).with("noise_grave", 1.0).with("lazy", 0.0);
    let asked = (0..8).filter(|seed| ours(&quarrel, *seed, Setup::Standard).questions > 0).count();
    assert!(asked >= 4, "{asked}");
}

#[test]
fn a_person_who_never_goes_on_stops_every_quarrel_at_the_first_question_and_one_who_always_does_leaves_less() {
    let run = |patience: f64| {
        let params = Params::hard().with("patience", patience);
        let runs: Vec<_> = (0..60).map(|seed| ours(&params, seed, Setup::Standard)).collect();
        (runs.iter().map(|run| run.quarrels).max(), runs.iter().filter(|run| run.taken).count(), runs)
    };
    let (most, taken, at_once) = run(0.0);
    assert_eq!(most, Some(1), "{taken}");
    // Where a check has not passed yet nothing can be taken, so the loop goes on to its own end.
    let asked = at_once.iter().filter(|run| run.quarrels == 1);
    assert!(asked.clone().all(|run| run.taken || run.one_sided), "who is asked takes it");
    let asked = asked.count();
    assert!(taken + 2 >= asked && taken > 5, "{taken} of {asked}");
    let (_, taken, patient) = run(1000.0);
    assert_eq!(taken, 0, "nobody takes what two agents have not found clean");
    let left = |runs: &[Ran]| runs.iter().map(|run| run.left).sum::<u32>();
    assert!(left(&patient) < left(&at_once), "{} against {}", left(&patient), left(&at_once));
}

#[test]
fn nothing_is_accepted_unreviewed_or_with_a_failing_check() {
    for params in [Params::default(), Params::hard()] {
        let lab = measure(&params, 20);
        for of in [&lab.ours, &lab.thorough, &lab.three] {
            assert_eq!((of.checks_fail, of.unreviewed, of.converged), (0, 0, 1.0));
        }
    }
}

#[test]
fn tasks_have_three_sizes_and_the_larger_ones_more_defects() {
    let params = Params::default();
    let of = |size: Size| {
        let runs = (0..300).map(|seed| single(&params, seed)).filter(|run| run.size == size).collect::<Vec<_>>();
        (runs.len(), runs.iter().map(|run| f64::from(run.left + run.left_p2)).sum::<f64>() / runs.len() as f64)
    };
    let [(small, few), (medium, some), (large, many)] = [Size::Small, Size::Medium, Size::Large].map(of);
    assert!(small > 90 && medium > 90 && large > 35, "{small} {medium} {large}");
    assert!(few < some && some < many, "{few} {some} {many}");
}

#[test]
fn a_random_population_differs_repeats_and_keeps_shares_below_one() {
    let drawn = Drawn { count: 2, sigma: 0.4, seed: 1 };
    let draw = |number| population(&Params::default(), drawn, number);
    let (one, two) = (draw(1), draw(2));
    assert_eq!(one, draw(1));
    assert_ne!(one, two);
    assert_eq!(one.patience, Params::default().patience, "a person is the same everywhere");
    let mut wild = (0..50).map(|number| population(&Params::default(), Drawn { sigma: 2.0, ..drawn }, number));
    assert!(wild.all(|params| params.lazy <= 1.0 && params.mended <= 1.0 && params.p1 >= 0.0));
    assert_eq!(populations(&Params::default(), drawn, 3), populations(&Params::default(), drawn, 3));
}

/// A table in which every promise holds.
fn good() -> Measured {
    let runs = |turns, left| Summary::of(&vec![Ran { turns, left, converged: true, ..Ran::default() }; 10]);
    let lab = Lab {
        seeds: 10,
        single: runs(1, 3),
        naive: runs(20, 2),
        original: runs(11, 2),
        ours: runs(9, 1),
        thorough: runs(10, 1),
        three: runs(11, 1),
        difference: Mean { mean: -1.0, half: 0.5 },
        odd_quiet: 0,
    };
    let difference = Mean { mean: -0.1, half: 0.2 };
    let one = Population { number: 1, ours: lab.ours.left, original: lab.original.left, difference, unsound: 0 };
    Measured { default: lab.clone(), hard: lab.clone(), hasty: lab, populations: vec![one; 40] }
}

#[test]
fn the_gates_fail_on_a_bad_table() {
    let failed = |change: fn(&mut Measured)| {
        let mut measured = good();
        change(&mut measured);
        gates(&measured)
            .into_iter()
            .filter(|gate| !gate.holds)
            .map(|gate| gate.promise[..2].to_owned())
            .collect::<Vec<_>>()
    };
    let asked = |share: f64| [1.0 - share, share, 0.0, 0.0];
    assert_eq!(failed(|_| {}), [""; 0]);
    assert_eq!(failed(|all| all.hard.difference = Mean { mean: -0.1, half: 0.2 }), ["Q1"]);
    assert_eq!(failed(|all| all.default.ours.left.mean = 1.9), ["Q2"]);
    assert_eq!(failed(|all| all.hard.ours.checks_fail = 1), ["Q3"]);
    assert_eq!(failed(|all| all.populations[3].unsound = 1), ["Q3"]);
    let worse = |many: usize, mean: f64| {
        let mut measured = good();
        measured.populations[..many].iter_mut().for_each(|one| one.difference = Mean { mean, half: 0.01 });
        gates(&measured).into_iter().filter(|gate| !gate.holds).count()
    };
    assert_eq!((worse(8, 0.005), worse(9, 0.005), worse(3, 0.1), worse(4, 0.1)), (0, 1, 0, 1));
    assert_eq!(failed(|all| all.default.ours.asked = [0.9, 0.1, 0.0, 0.0]), ["H1"]);
    let mut many = good();
    many.hard.ours.asked = asked(0.26);
    assert!(gates(&many).iter().any(|gate| !gate.holds));
    assert_eq!(failed(|all| all.default.ours.taken = [0.006, 0.0]), ["H2"]);
    assert_eq!(failed(|all| all.hasty.ours.left.mean = 1.02), ["H3"]);
    assert_eq!(failed(|all| all.default.ours.turns = Spread { median: 12, p90: 12, worst: 12 }), ["S1"]);
    assert_eq!(failed(|all| all.default.thorough.left.mean = 1.51), ["T1"]);
    assert_eq!(failed(|all| all.default.three.left.mean = 1.31), ["T1"]);
    assert_eq!(failed(|all| all.default.three.turns.p90 = 15), ["T1"]);
    assert_eq!(failed(|all| all.hard.three.unreviewed = 1), ["Q3"]);
    assert_eq!(failed(|all| all.default.odd_quiet = 1), ["sm"]);
    assert_eq!(failed(|all| all.default.ours.converged = 0.999), ["ev"]);
}
