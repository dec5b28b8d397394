//! Every kind of unsound record is refused with its reason and a statement whether more hours would help.

use record::{Interval, Measurement, Node, Nodes, ReasonCode, Record, Series, Uncertainty};

use crate::tail::{Basis, Claim, ClaimState, RefusalCode, Tail, TailError, TailOptions, latencies, tail};
use samples::record_of;
use units::{Random, Timestamp};

const MINUTE_NS: u64 = 60_000_000_000;

fn unit(random: &mut Random) -> f64 {
    (units::approx_f64(random.next() >> 11) + 0.5) / 9_007_199_254_740_992.0
}

/// A run of intervals of one minute; `sample` makes a sample (ns) from the interval's number and a uniform random
/// number.
fn run(intervals: u64, seed: u64, sample: impl Fn(u64, f64) -> f64) -> Record {
    let mut random = Random::new(seed);
    let mut record = record_of(Measurement::Wakeup, &[]);
    record.id = format!("run-{seed}");
    for number in 0..intervals {
        let mut interval =
            Interval { start_offset_ns: number * MINUTE_NS, length_ns: MINUTE_NS, ..Interval::default() };
        for _ in 0..200 {
            interval.histogram.record_n(units::round_u64(sample(number, unit(&mut random))), 1);
        }
        record.series[0].histogram.merge(&interval.histogram);
        record.series[0].intervals.push(interval);
    }
    record.manifest_mut().ended.monotonic =
        Timestamp::from_ns(record.manifest().started.monotonic.as_ns() + i64::try_from(intervals * MINUTE_NS).unwrap());
    record
}

fn exponential(_: u64, share: f64) -> f64 {
    20_000.0 - 2_000.0 * share.ln()
}

fn options() -> TailOptions {
    TailOptions { horizons_ns: vec![9 * 90 * MINUTE_NS], resamples: 400, ..TailOptions::default() }
}

fn predict(record: &Record) -> Tail {
    tail(&[record], &options()).unwrap()
}

fn claimed(record: &Record, claim: &str) -> Tail {
    tail(&[record], &TailOptions { claim: Some(claim.parse::<Claim>().unwrap()), ..options() }).unwrap()
}

#[track_caller]
fn refused(record: &Record, code: RefusalCode) -> Tail {
    let tail = predict(record);
    assert!(tail.refusals.iter().any(|refusal| refusal.code == code), "{:?}", tail.refusals);
    assert!(tail.expectations.iter().all(|one| one.worst.is_none() && one.refusal.is_some()), "nothing is predicted");
    // The curve holds only short horizons, which the run contains many times, or none if the order in time is refused.
    let most_ns = if code.is_of_order() { 0 } else { tail.observed.measured_ns / 30 };
    assert!(tail.curve.horizon_ns.iter().all(|&horizon_ns| horizon_ns <= most_ns), "{:?}", tail.curve.horizon_ns);
    assert!(tail.sentence.starts_with("The worst case cannot be predicted"), "{}", tail.sentence);
    tail
}

#[test]
fn a_sound_run_has_an_answer_with_its_uncertainty() {
    let tail = predict(&run(90, 1, exponential));
    let worst = tail.expectations[0].worst.unwrap();
    // The worst of 810 x 200 samples is typically 44 us.
    assert!(worst.low_ns < 44_000.0 && worst.high_ns > 44_000.0 && worst.high_ns < 70_000.0, "{worst:?}");
    assert!(tail.stationarity.stationary && tail.refusals.is_empty(), "{:?}", tail.refusals);
    assert!((tail.expectations[0].model_free_chance.unwrap() - 0.9).abs() < 1e-3);
    assert!(tail.sentence.contains("90 times of 100"), "{}", tail.sentence);
    assert!(tail.curve.horizon_ns.len() > 10);
    assert!(tail.fits.as_ref().unwrap().gev.shape.abs() < 0.3);
    let text = serde_json::to_string(&tail).unwrap();
    assert_eq!(serde_json::from_str::<Tail>(&text).unwrap(), tail);
    assert_eq!(predict(&run(90, 1, exponential)), tail, "the same seed, the same document");
}

#[test]
fn a_refusal_for_too_few_maxima_states_how_many_more_hours_help() {
    let tail = refused(&run(20, 1, exponential), RefusalCode::TooFewMaxima);
    let more_ns = tail.refusals[0].more_ns.unwrap();
    assert!((20 * MINUTE_NS..60 * MINUTE_NS).contains(&more_ns), "{more_ns}");
    assert!(tail.sentence.contains(" more of the same would probably do"), "{}", tail.sentence);
}

#[test]
fn a_drift_a_step_and_a_wave_as_long_as_the_run_are_refused() {
    let drift = |number: u64, share: f64| exponential(number, share) + 150.0 * units::approx_f64(number);
    let tail = refused(&run(90, 1, drift), RefusalCode::NotStationary);
    assert!(tail.stationarity.change_ns.is_some() && !tail.stationarity.stationary);
    let step = |number: u64, share: f64| exponential(number, share) + if number > 60 { 6_000.0 } else { 0.0 };
    let tail = refused(&run(90, 1, step), RefusalCode::NotStationary);
    let change = tail.stationarity.change_ns.unwrap() / MINUTE_NS;
    assert!((58..=64).contains(&change), "{change}");
    assert_eq!(tail.expectations[0].model_free_chance, None, "not even without a model");
    let wave = |turns: f64| {
        move |number: u64, share: f64| {
            let angle = std::f64::consts::TAU * turns * units::approx_f64(number) / 120.0;
            exponential(number, share) + 6_000.0 * angle.sin()
        }
    };
    refused(&run(120, 1, wave(0.5)), RefusalCode::NotStationary);
    let tail = refused(&run(120, 1, wave(5.0)), RefusalCode::TooFewTurns);
    assert_eq!(tail.stationarity.turns, Some(5));
    // Of so few turns it looks as if the maxima were of two kinds, too: nothing is promised, and nothing ruled out.
    assert!(tail.refusals.iter().all(|refusal| refusal.more_ns.is_none()), "{:?}", tail.refusals);
    assert!(
        tail.sentence.contains("takes about 2 h more of the same; whether it would do is not known"),
        "{}",
        tail.sentence
    );
    assert!(!tail.refusals.iter().any(|refusal| refusal.remedy.contains("would not help")), "{:?}", tail.refusals);
    // A run with twenty cycles is long enough to know the disturbance.
    assert!(predict(&run(240, 1, wave(40.0))).refusals.is_empty());
}

#[test]
fn a_cluster_of_the_worst_intervals_is_refused() {
    let cluster =
        |number: u64, share: f64| exponential(number, share) + if (30..38).contains(&number) { 9e3 } else { 0.0 };
    refused(&run(90, 1, cluster), RefusalCode::IsolatedCluster);
}

#[test]
fn mixed_distributions_and_a_heavy_tail_are_refused() {
    let two = |number: u64, share: f64| exponential(number, share) + if number % 7 % 3 == 1 { 60_000.0 } else { 0.0 };
    refused(&run(90, 1, two), RefusalCode::TwoRegimes);
    let tail = refused(&run(300, 1, |_, share| 20_000.0 * share.powf(-0.8)), RefusalCode::HeavyTail);
    assert!(tail.refusals.iter().any(|refusal| refusal.remedy.contains("More hours would bring worse cases")));
}

#[test]
fn a_coarse_clock_is_refused_and_a_clock_of_250_ns_is_not() {
    let steps = |size: f64| move |number: u64, share: f64| (exponential(number, share) / size).floor() * size;
    refused(&run(90, 1, steps(20_000.0)), RefusalCode::CoarseClock);
    assert!(predict(&run(90, 1, steps(250.0))).refusals.is_empty());
    refused(&run(90, 1, |_, _| 5_000.0), RefusalCode::CoarseClock);
}

#[test]
fn only_a_horizon_too_far_is_refused_with_the_time_that_it_takes() {
    let far = TailOptions { horizons_ns: vec![90 * MINUTE_NS, 90_000 * MINUTE_NS], ..options() };
    let tail = tail(&[&run(90, 1, exponential)], &far).unwrap();
    assert!(tail.expectations[0].worst.is_some());
    let refusal = tail.expectations[1].refusal.clone().unwrap();
    assert_eq!(refusal.code, RefusalCode::HorizonTooFar);
    assert!(refusal.more_ns.unwrap() >= 810 * MINUTE_NS, "{refusal:?}");
    assert!(*tail.curve.horizon_ns.last().unwrap() < 9_100 * MINUTE_NS, "the curve ends where the answer does");
}

#[test]
fn an_invalid_run_has_no_prediction() {
    let mut record = run(90, 1, exponential);
    record.validity.add(ReasonCode::RtThrottled, "CPU 2");
    let tail = refused(&record, RefusalCode::InvalidRun);
    assert!(tail.sentence.contains("sched_rt_runtime_us"), "{}", tail.sentence);
    let claim = claimed(&record, "900ms for 1 min at 50%").claim.unwrap();
    assert_eq!((claim.state, claim.basis), (ClaimState::CannotBeTold, None), "{}", claim.sentence);
}

#[test]
fn a_run_without_intervals_has_no_prediction() {
    let mut record = run(90, 1, exponential);
    record.series[0].intervals.clear();
    refused(&record, RefusalCode::NoIntervals);
    assert_eq!(claimed(&record, "900ms for 1 min at 50%").claim.unwrap().state, ClaimState::CannotBeTold);
}

#[test]
fn each_basis_can_decide_a_claim() {
    let record = run(90, 1, exponential);
    let answer = |claim: &str| claimed(&record, claim).claim.unwrap();
    let worst = record.worst_of_all().unwrap().0;
    // One exceeding interval of 90 is too few to decide how often an hour exceeds the limit; half of them are enough.
    let once = answer(&format!("{}ns for 1h at 99%", worst - 1));
    assert_eq!((once.state, once.basis), (ClaimState::NotShown, Some(Basis::Observed)), "{}", once.sentence);
    assert_eq!(once.exceeded.map(|exceeded| (exceeded.intervals, exceeded.bursts)), Some((1, 1)));
    assert!(once.more_ns.is_some() && once.sentence.contains("neither shown nor broken"), "{}", once.sentence);
    let broken = answer("29us for 1h at 99%");
    assert_eq!((broken.state, broken.basis), (ClaimState::Broken, Some(Basis::Observed)), "{}", broken.sentence);
    assert!(broken.exceeded.unwrap().chance_low > 0.5 && broken.sentence.contains("at most 1 of 100"), "{broken:?}");
    let free = answer("50us for 1 min at 90%");
    assert_eq!((free.state, free.basis), (ClaimState::Shown, Some(Basis::ModelFree)), "{}", free.sentence);
    assert!(free.model_free_chance.unwrap() < 0.1, "{free:?}");
    let fit = answer("120us for 10h at 99%");
    assert_eq!((fit.state, fit.basis), (ClaimState::Shown, Some(Basis::Fit)), "{}", fit.sentence);
    assert!(fit.fit_chance.unwrap() < 0.01);
    let not = answer(&format!("{}ns for 10h at 99%", worst + 100));
    assert_eq!((not.state, not.basis), (ClaimState::NotShown, Some(Basis::Fit)), "{}", not.sentence);
    assert!(not.sentence.contains("more hours would not show it"));
    // The worst of ten hours is known, but not surely enough: a run up to a hundred times longer would show it.
    let more = answer("75us for 10h at 99%");
    assert_eq!(more.state, ClaimState::NeedsMore, "{}", more.sentence);
    assert!((1..9_000 * MINUTE_NS).contains(&more.more_ns.unwrap()), "{more:?}");
}

#[test]
fn a_claim_about_a_run_too_short_for_a_fit_states_how_much_longer_it_takes() {
    let claim = claimed(&run(20, 1, exponential), "90us for 10 min at 99%").claim.unwrap();
    assert_eq!(claim.state, ClaimState::NeedsMore, "{}", claim.sentence);
    let more_ns = claim.more_ns.unwrap();
    assert!((20 * MINUTE_NS..60 * MINUTE_NS).contains(&more_ns), "enough for a fit: {}", claim.sentence);
}

#[test]
fn unsuitable_runs_are_errors() {
    let (a, mut b) = (run(90, 1, exponential), run(90, 2, exponential));
    assert_eq!(tail(&[], &options()).unwrap_err(), TailError::NoRun);
    assert_eq!(tail(&[&a, &a], &options()).unwrap_err(), TailError::Twice("run-1".to_owned()));
    assert!(tail(&[&a, &b], &options()).unwrap().refusals.is_empty(), "two runs under the same condition are combined");
    b.manifest_mut().load.name = "paper".to_owned();
    assert!(matches!(tail(&[&a, &b], &options()), Err(TailError::Loads { .. })));
    b.manifest_mut().node.hostname = "other".to_owned();
    assert!(matches!(tail(&[&a, &b], &options()), Err(TailError::Nodes { .. })));
    b.measurement = Measurement::Clock;
    assert!(matches!(tail(&[&b], &options()), Err(TailError::Measurement(..))));
}

/// A run of a followed program with both of its latencies.
fn followed() -> Record {
    let mut record = run(90, 5, exponential);
    record.measurement = Measurement::App;
    record.series[0].name = "runnable_to_running".to_owned();
    let later = run(90, 6, |number, share| exponential(number, share) + 50_000.0);
    record.series.push(Series { name: "scheduled_to_returned".to_owned(), ..later.series[0].clone() });
    record
}

#[test]
fn each_latency_of_a_followed_program_has_its_own_prediction() {
    let record = followed();
    assert_eq!(latencies(&record), ["scheduled_to_returned", "runnable_to_running"]);
    let predicted =
        |latency: Option<&str>| tail(&[&record], &TailOptions { latency: latency.map(str::to_owned), ..options() });
    // The default is the latency that begins at the time for which the program asked to be woken.
    let returned = predicted(None).unwrap();
    assert_eq!((returned.latency.as_str(), returned.observed.worst_ns > Some(70_000)), ("scheduled_to_returned", true));
    assert!(returned.expectations[0].worst.is_some_and(|worst| worst.low_ns > 80_000.0), "{:?}", returned.expectations);
    let running = predicted(Some("runnable_to_running")).unwrap();
    let worst_ns = record.series[0].histogram.max_ns().unwrap();
    assert_eq!((running.latency.as_str(), running.observed.worst_ns), ("runnable_to_running", Some(worst_ns)));
    assert!(running.notes.iter().all(|note| !note.contains("in no interval")), "{:?}", running.notes);
    let claim = |claim: &str, latency: Option<&str>| {
        let claim = Some(claim.parse::<Claim>().unwrap());
        let options = TailOptions { latency: latency.map(str::to_owned), claim, ..options() };
        tail(&[&record], &options).unwrap().claim.unwrap().state
    };
    assert_eq!(claim("60us for 5 min at 90%", Some("runnable_to_running")), ClaimState::Shown);
    assert_eq!(claim("60us for 5 min at 90%", None), ClaimState::Broken, "every sample of it is later");
    let wrong = predicted(Some("scheduled_to_woke")).unwrap_err().to_string();
    assert!(wrong.contains("name one of scheduled_to_returned, runnable_to_running"), "{wrong}");
}

#[test]
fn several_runs_are_predicted_for_the_latency_that_all_have() {
    let record = followed();
    let mut without = run(90, 7, exponential);
    without.measurement = Measurement::App;
    without.series[0].name = "runnable_to_running".to_owned();
    let both = tail(&[&record, &without], &options()).unwrap();
    assert_eq!((both.latency.as_str(), both.observed.intervals), ("runnable_to_running", 180));
    let named = TailOptions { latency: Some("scheduled_to_returned".to_owned()), ..options() };
    let wrong = tail(&[&record, &without], &named).unwrap_err().to_string();
    assert!(wrong.starts_with("run-7 has no latency 'scheduled_to_returned'"), "{wrong}");
}

/// A run of packets from one node to another whose delays are as wrong as stated.
fn between_nodes(error_ns: u64) -> Record {
    let mut record = run(90, 5, exponential);
    record.measurement = Measurement::Packet;
    let mut nodes: Vec<Node> = record.nodes.clone().into();
    nodes.push(Node { name: "other".to_owned(), ..nodes[0].clone() });
    record.nodes = Nodes::try_from(nodes).unwrap();
    let error = Some(Uncertainty { below_ns: error_ns, above_ns: error_ns, spread_ns: None });
    for series in &mut record.series {
        series.name = "sent_to_received".to_owned();
        series.uncertainty = error;
        series.intervals.iter_mut().for_each(|one| one.uncertainty = error);
    }
    record
}

#[test]
fn a_claim_about_delays_between_nodes_is_answered_only_beyond_the_error_of_their_clocks() {
    let state = |error_ns: u64, claim: &str| claimed(&between_nodes(error_ns), claim).claim.unwrap();
    assert_eq!(state(0, "200us for 1 h at 90%").state, ClaimState::Shown);
    assert_eq!(state(100_000, "200us for 1 h at 90%").state, ClaimState::Shown, "100 us are far away too");
    let open = state(170_000, "200us for 1 h at 90%");
    assert_eq!(open.state, ClaimState::CannotBeTold, "{}", open.sentence);
    assert!(open.sentence.contains("the clocks of the nodes decide it"), "{}", open.sentence);
    assert_eq!(state(0, "22us for 1 h at 90%").state, ClaimState::Broken);
    assert_eq!(state(1_000, "22us for 1 h at 90%").state, ClaimState::Broken);
    assert_eq!(state(100_000, "22us for 1 h at 90%").state, ClaimState::CannotBeTold);
    assert_eq!(state(1_000, "22us for 1 h at 90%").claim.limit_ns, 22_000, "the claim that was made");
    let tail = predict(&between_nodes(7_000));
    assert!(tail.notes[0].contains("at most 7.0 us longer and 7.0 us shorter"), "{:?}", tail.notes);
    assert!(!predict(&between_nodes(0)).notes[0].contains("clocks"));
}

#[test]
fn nothing_is_predicted_from_delays_of_which_the_clocks_error_is_unknown() {
    let tail = refused(&between_nodes(u64::MAX), RefusalCode::ClocksUnknown);
    assert!(tail.expectations.iter().all(|one| one.model_free_chance.is_none()), "{:?}", tail.expectations);
    let mut imported = between_nodes(u64::MAX);
    imported.series[0].name = "woke_to_received".to_owned();
    refused(&imported, RefusalCode::ClocksUnknown);
    let claim = claimed(&between_nodes(u64::MAX), "10ms for 1 h at 90%").claim.unwrap();
    assert_eq!(claim.state, ClaimState::CannotBeTold, "{}", claim.sentence);
}

/// Samples of another latency say nothing of the one that is asked for: it has no worst, and not one of 0.
#[test]
fn without_a_sample_of_the_latency_there_is_no_worst() {
    let mut record = run(3, 7, |_, unit| 20_000.0 + unit);
    let mut other = record.series[0].clone();
    other.name = "asked_to_answered".to_owned();
    record.series[0].histogram = record::Histogram::new();
    record.series[0].intervals.clear();
    record.series.push(other);
    let found = tail(&[&record], &options()).unwrap();
    assert_eq!((found.observed.worst_ns, found.observed.samples), (None, 0));
    let text = serde_json::to_string(&found).unwrap();
    assert!(!text.contains(" 0 ns"), "{text}");
    assert!(found.sentence.contains("not a single sample"), "{}", found.sentence);
}
