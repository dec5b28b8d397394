//! How often what is foretold comes true, on processes whose tail is known. Seeds are fixed.

use crate::float;
use crate::tail::sequential::decided;
use crate::tail::simulate::Kind;
use crate::tail::{DecisionRow, RefusalCode, RehearsalOptions, RehearsalRow, rehearse};

/// The fewest of `n` answers that hold where the true rate is `rate`, but for once in a thousand.
fn least(rate: f64, n: u64) -> f64 {
    let n = units::approx_f64(n);
    rate * n - 3.09 * (rate * (1.0 - rate) * n).sqrt()
}

#[test]
fn stated_intervals_hold_and_the_unsound_is_refused() {
    let rehearsal =
        rehearse(&RehearsalOptions { processes: 300, watched: 0, resamples: 300, ..RehearsalOptions::default() });
    let row = |name: &str| rehearsal.rows.iter().find(|row| row.name == name).unwrap();
    for row in rehearsal.rows.iter().filter(|row| row.sound == Some(true)) {
        assert!(units::approx_f64(row.covered) >= least(0.9, row.answered), "{row:?}");
        assert!(row.answered * 4 >= row.processes * 3, "most are answered: {row:?}");
    }
    for row in rehearsal.rows.iter().filter(|row| row.sound == Some(false)) {
        assert!(row.answered * 10 <= row.processes, "nearly all are refused: {row:?}");
    }
    let by = |row: &RehearsalRow, codes: &[RefusalCode]| -> f64 {
        let counted = row.refused.iter().filter(|refused| codes.contains(&refused.code)).map(|refused| refused.count);
        float(usize::try_from(counted.sum::<u64>()).unwrap()) / units::approx_f64(row.processes)
    };
    // For the right reason.
    assert!(by(row("heavy"), &[RefusalCode::HeavyTail, RefusalCode::TwoRegimes]) > 0.8, "{:?}", row("heavy"));
    assert!(by(row("two regimes, mixed"), &[RefusalCode::TwoRegimes, RefusalCode::HeavyTail]) > 0.7);
    let of_time =
        [RefusalCode::NotStationary, RefusalCode::TooFewTurns, RefusalCode::TooFewMaxima, RefusalCode::IsolatedCluster];
    assert!(by(row("periodic, few turns"), &of_time) > 0.8, "{:?}", row("periodic, few turns"));
    assert!(by(row("two regimes, switching"), &of_time) > 0.7, "{:?}", row("two regimes, switching"));
    // What cannot be seen is answered, and wrong: said so, and not counted among what can be told.
    assert_eq!(row("a second regime, not yet seen").sound, None);
}

/// Of all runs that are measured until their claim is decided, no more than the claim allows may end as shown and see its
/// limit exceeded in the time to come: whether the claim is true, just so, or false by little or by much.
#[test]
fn a_claim_that_is_looked_at_again_and_again_is_wrong_no_more_often_than_it_says() {
    const RUNS: u64 = 30;
    let options = RehearsalOptions { resamples: 300, ..RehearsalOptions::default() };
    let sound = [Kind::Bounded, Kind::Exponential, Kind::Dependent, Kind::ManyTurns, Kind::Abrupt];
    let rows: Vec<DecisionRow> =
        sound.into_iter().zip(0..).flat_map(|(kind, number)| decided(kind, number, RUNS, &options)).collect();
    for row in &rows {
        let (runs, allowed) = (units::approx_f64(row.runs), 1.0 - row.confidence);
        let most = runs - least(row.confidence, row.runs);
        assert!(units::approx_f64(row.wrong) <= most, "{row:?}");
        // What came hangs on luck; what was to be expected, much less.
        assert!(units::approx_f64(row.shown) * row.chance <= allowed * runs * 1.5, "{row:?}");
        assert!(row.looks > 0 && row.shown + row.broken <= row.runs, "{row:?}");
    }
    // All kinds together leave less to luck, and true claims are shown often enough to be worth asking.
    for claim in rows.iter().take(rows.len() / sound.len()) {
        let alike = || {
            rows.iter().filter(|row| {
                (row.confidence, row.horizon, row.chance) == (claim.confidence, claim.horizon, claim.chance)
            })
        };
        let sum = |of: fn(&DecisionRow) -> u64| units::approx_f64(units::total(alike().map(of)));
        let (runs, shown, wrong) = (sum(|row| row.runs), sum(|row| row.shown), sum(|row| row.wrong));
        let allowed = 1.0 - claim.confidence;
        assert!(shown * claim.chance <= allowed * runs, "{shown} of {runs}: {claim:?}");
        assert!(wrong <= runs - least(claim.confidence, units::round_u64(runs)), "{wrong} of {runs}: {claim:?}");
        if claim.chance < allowed {
            assert!(shown >= runs / 3.0, "{shown} of {runs}: {claim:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_answers_and_another_seed_others() {
    let options = RehearsalOptions { processes: 20, watched: 10, resamples: 200, ..RehearsalOptions::default() };
    assert_eq!(rehearse(&options), rehearse(&options));
    assert_ne!(rehearse(&options).rows, rehearse(&RehearsalOptions { seed: 2, ..options }).rows);
}
