//! Every value of every knob, written, read and taken back by the same journal as all else: what the catalogue says of a
//! machine's files is held against the files themselves.
//!
//! It changes everything that can be changed, one after the other, and is meant for machines of the lab.

use std::sync::atomic::AtomicBool;

use knobs::catalogue::{self, How, Knob, Values};
use knobs::{Demand, Form, Owner, Place, Plan, Reading, Site, Value};
use serde::Serialize;
use units::CpuSet;

use crate::{Application, Machine, Standing, Store, apply, revert, verify};

/// What came of one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was set, read back and taken back: what the machine showed before, it shows again to the letter.
    TakenBack,
    /// The machine does not take it; what it showed before, it shows still.
    Refused(String),
    /// Something else is left, or stood there while it was in force: a fault.
    Wrong(String),
}

/// One value of one knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// Name of the knob.
    pub knob: &'static str,
    /// Its place.
    pub place: Place,
    /// What the machine showed before.
    pub before: Value,
    /// What was wanted, as a person would write it.
    pub wanted: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// Tries every value of every knob that `is_wanted` accepts, at its first `places_max` places. Returns the names of knobs that this machine does not have.
pub fn try_all(
    site: &Site,
    is_wanted: &dyn Fn(&Knob) -> bool,
    places_max: usize,
    machine: &mut dyn Machine,
    store: &mut dyn Store,
    report: &mut dyn FnMut(Trial),
) -> Vec<&'static str> {
    let online = site.profile.cpus.online.clone().unwrap_or_default();
    let mut absent = Vec::new();
    for knob in catalogue::all().filter(|knob| is_wanted(knob)) {
        let mut places = 0;
        for name in knob.scope.names(&site.profile, None) {
            let place = knob.place(&name);
            let Reading::Is(before) = machine.read(&place) else { continue };
            if places == places_max {
                break;
            }
            places += 1;
            for wanted in choices(knob, &before, &online) {
                let outcome = try_one(knob, &name, &before, &wanted, machine, store);
                report(Trial { knob: knob.name, place: place.clone(), before: before.clone(), wanted, outcome });
            }
        }
        if places == 0 {
            absent.push(knob.name);
        }
    }
    absent
}

/// Values of each form: all words, the bounds of a number and its neighbors, sets of CPUs.
fn choices(knob: &Knob, before: &Value, online: &CpuSet) -> Vec<String> {
    let number = match before {
        Value::Text(text) => text.trim().parse::<i64>().ok(),
        Value::Absent => None,
    };
    let numbers = |least: i64, most: i64| {
        let near = number.into_iter().flat_map(|number| [number.saturating_sub(1), number.saturating_add(1)]);
        let mut all: Vec<i64> = [least, most].into_iter().chain(near).collect();
        all.retain(|number| (least..=most).contains(number));
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(|number| number.to_string()).collect::<Vec<_>>()
    };
    let sets = || {
        let single = online.iter().map(|cpu| cpu.to_string());
        single.chain([online.to_string()]).collect::<Vec<_>>()
    };
    match knob.values {
        Values::Integer(least, most) => numbers(least, most),
        Values::WordOrInteger(word, least, most) => [vec![word.to_owned()], numbers(least, most)].concat(),
        Values::Words(words) => words.iter().map(|word| (*word).to_owned()).collect(),
        Values::Switch => vec!["off".to_owned(), "on".to_owned()],
        Values::Cpus => sets(),
        Values::CpusOrNone => [sets(), vec!["off".to_owned()]].concat(),
    }
}

fn try_one(
    knob: &'static Knob,
    name: &str,
    before: &Value,
    wanted: &str,
    machine: &mut dyn Machine,
    store: &mut dyn Store,
) -> Outcome {
    let text = match knob.accept(wanted) {
        Ok(text) => text,
        Err(bound) => return Outcome::Wrong(format!("the catalogue does not take its own value: it {bound}")),
    };
    let plan = Plan::from_demand(Demand::of_knob(knob, name, &text), &mut |place| machine.read(place));
    if let Some(conflict) = plan.conflicts.first() {
        return Outcome::Refused(conflict.why.clone());
    }
    let application = Application {
        id: format!("trial-{}-{name}-{wanted}", knob.name),
        realtime_ns: 0,
        intent: String::new(),
        keeps_going: false,
        owner: Owner::Tune,
    };
    let never = AtomicBool::new(false);
    let applied = apply(&plan, &application, machine, store, &never, &mut |_| {});
    let refused = match &applied {
        Ok(applied) => applied.refused.first().map(|refused| refused.why.clone()),
        Err(error) => Some(error.to_string()),
    };
    let standing = match store.transactions() {
        Ok(transactions) => verify(&transactions, machine, &|_| true),
        Err(error) => return Outcome::Wrong(error.to_string()),
    };
    let reverted = match revert(false, machine, store) {
        Ok(reverted) => reverted,
        Err(error) => return Outcome::Wrong(error.to_string()),
    };
    let place = knob.place(name);
    let after = machine.read(&place);
    // Which process holds something open is no property of the setting.
    let is_back = matches!(&after, Reading::Is(after) if after == before || (knob.how == How::HeldOpen && knob.form.same(after, before)));
    if !is_back || !reverted.failed.is_empty() || !reverted.left.is_empty() {
        return Outcome::Wrong(format!("{before} stood there, afterwards it is {after:?}; {reverted}"));
    }
    if let Some(why) = refused {
        return Outcome::Refused(why);
    }
    let odd = standing.into_iter().find(|one| !is_in_force(&one.standing, knob.form));
    odd.map_or(Outcome::TakenBack, |one| Outcome::Wrong(format!("in force it was {:?}", one.standing)))
}

fn is_in_force(standing: &Standing, form: Form) -> bool {
    match standing {
        // An interrupt moves when it next arrives.
        Standing::Effective | Standing::Pending(_) => true,
        Standing::Adjusted(_) => form == Form::Rounded,
        _ => false,
    }
}
