//! The convergence lab: it is repeatable, its agents do what their figures say, and its gates can fail.

use pairflow_testkit::lab::{Lab, Mean, Params, Ran, Spread, Summary, gates, measure, naive, original, ours, single};

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
    ];
    off.into_iter().fold(Params::default(), |params, name| params.with(name, 0.0)).with("fixed", 1.0)
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let params = Params::default();
    for seed in 0..8 {
        assert_eq!(ours(&params, seed), ours(&params, seed));
        assert_eq!(original(&params, seed), original(&params, seed));
        assert_eq!(naive(&params, seed, u32::MAX), naive(&params, seed, u32::MAX));
    }
    assert_eq!(measure(&params, 5), measure(&params, 5));
}

#[test]
fn work_without_defects_and_reviewers_without_fancies_converge_after_two_looks() {
    for seed in 0..5 {
        let ran = ours(&perfect(), seed);
        assert_eq!((ran.looks, ran.turns, ran.questions, ran.left), (2, 3, 0, 0));
        assert_eq!(naive(&perfect(), seed, u32::MAX).looks, 1);
        assert_eq!(single(&perfect(), seed).looks, 0);
    }
}

#[test]
fn perfect_agents_leave_nothing() {
    let params = perfect().with("p1", 2.0).with("recall_p1", 1.0);
    let left: u32 = (0..15).map(|seed| ours(&params, seed).left).sum();
    assert_eq!(left, 0);
}

#[test]
fn lazy_reviewers_leave_the_defects_that_no_check_shows() {
    let lazy = Params::default().with("lazy", 1.0).with("regress", 0.0);
    for seed in 0..25 {
        let (ours, alone) = (ours(&lazy, seed), single(&lazy.with("check_blocking", 0.0), seed));
        assert!(!ours.checks_fail && !ours.unreviewed, "seed {seed}: {ours:?}");
        assert!(ours.left <= alone.left + 1, "seed {seed}");
    }
    let left = |lazy: &Params| (0..25).map(|seed| ours(lazy, seed).left).sum::<u32>();
    let (lazy, usual) = (left(&lazy), left(&Params::default()));
    assert!(2 * lazy > 3 * usual, "{lazy} against {usual}");
}

#[test]
fn reviewers_that_never_agree_end_with_a_person() {
    let quarrel = Params::default().with("noise", 2.0).with("noise_blocking", 1.0).with("lazy", 0.0);
    let asked = (0..8).filter(|seed| ours(&quarrel, *seed).questions > 0).count();
    assert!(asked >= 4, "{asked}");
}

#[test]
fn a_person_who_never_goes_on_stops_every_quarrel_at_the_first_question_and_one_who_always_does_leaves_less() {
    let run = |patience: f64| {
        let params = Params::default().with("patience", patience);
        let runs: Vec<_> = (0..60).map(|seed| ours(&params, seed)).collect();
        (runs.iter().map(|run| run.quarrels).max(), runs.iter().filter(|run| run.taken).count(), runs)
    };
    let (none, taken, at_once) = run(0.0);
    assert_eq!(none, Some(1), "{taken}");
    assert_eq!(taken, at_once.iter().filter(|run| run.quarrels == 1).count(), "who is asked takes it");
    let (_, taken, patient) = run(1000.0);
    assert_eq!(taken, 0, "nobody takes what two agents have not found clean");
    let left = |runs: &[Ran]| runs.iter().map(|run| run.left).sum::<u32>();
    assert!(left(&patient) < left(&at_once), "{} against {}", left(&patient), left(&at_once));
}

#[test]
fn the_naive_loop_at_equal_turns_is_the_beginning_of_the_naive_loop() {
    let params = Params::default();
    for seed in 0..40 {
        let (whole, cut) = (naive(&params, seed, u32::MAX), naive(&params, seed, 3));
        assert!(cut.turns <= 3 && cut.looks <= whole.looks);
        assert_eq!(naive(&params, seed, whole.turns), whole);
    }
}

#[test]
fn nothing_is_accepted_unreviewed_or_with_a_failing_check() {
    let lab = measure(&Params::default(), 20);
    let last = gates(&lab).into_iter().find(|gate| gate.promise.starts_with("never")).unwrap();
    assert!(last.holds, "{}", last.value);
}

/// A table in which every promise holds.
fn good() -> Lab {
    let runs = |looks, left| Summary::of(&vec![Ran { looks, left, converged: true, ..Ran::default() }; 10]);
    Lab {
        seeds: 10,
        single: runs(0, 1),
        naive: runs(20, 1),
        cut: runs(3, 1),
        original: runs(8, 1),
        ours: runs(4, 0),
        difference: Mean { mean: -1.0, half: 0.5 },
        hard: Some(Spread { median: 4, p90: 4, worst: 9 }),
    }
}

#[test]
fn the_gates_fail_on_a_bad_table() {
    let failed = |change: fn(&mut Lab)| {
        let mut lab = good();
        change(&mut lab);
        gates(&lab).iter().filter(|gate| !gate.holds).count()
    };
    assert_eq!(failed(|_| {}), 0);
    assert_eq!(failed(|lab| lab.difference = Mean { mean: -0.1, half: 0.2 }), 1);
    assert_eq!(failed(|lab| lab.ours.questions = Spread { median: 2, p90: 2, worst: 2 }), 1);
    assert_eq!(failed(|lab| lab.ours.questions = Spread { median: 0, p90: 3, worst: 3 }), 1);
    assert_eq!(failed(|lab| lab.ours.checks_fail = 1), 1);
    assert_eq!(failed(|lab| lab.ours.unreviewed = 1), 1);
    assert_eq!(failed(|lab| lab.ours.converged = 0.999), 1);
}
