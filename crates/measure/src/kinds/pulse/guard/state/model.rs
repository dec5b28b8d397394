//! Every order in which an acting process and its guard can take their steps, and in which either of them is killed or stopped.

use std::collections::BTreeSet;

/// A step takes so many units of time at most; the grace is longer than the acting thread takes to be safe again.
const PULSE: u8 = 2;
const GRACE: u8 = 2;
/// A guard that has not looked for longer is gone, as far as the acting thread knows.
const SILENT: u8 = 2;
const ENDS: u8 = 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Actor {
    Idle,
    /// It has said that the output becomes active.
    Said,
    /// It has switched it on.
    On,
    /// It has switched it off, and not said so.
    Off,
    /// It has seen that nobody guards the output, made it safe, and switches nothing any more.
    Halted,
    Dead,
}

/// How a process is, apart from what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Life {
    Runs,
    Stopped,
    Killed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    now: u8,
    actor: Actor,
    is_stopped: bool,
    level: bool,
    /// When the level became active.
    since: u8,
    /// The word that both share; 0 is safe.
    safe_by: u8,
    guard: Life,
    /// When the guard last looked.
    looked: u8,
    /// How long the acting thread has run since the guard looked last, which is a measure of "at once". What keeps it waiting between
    /// saying and switching is as if it were stopped there.
    ran_unguarded: u8,
    /// The guard has read the word, and found the output overdue or its controller gone.
    guard_acts: bool,
    /// The guard has seen that the controller is gone and made the output safe: it ends.
    guard_ended: bool,
    may_die: bool,
    may_stop: bool,
    may_go_on: bool,
    may_lose_guard: bool,
    may_regain_guard: bool,
}

/// In which order the acting thread does what belongs together.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// It says that the output becomes active before it switches it.
    says_first: bool,
    /// It says that the output is safe after it has switched it.
    says_safe_last: bool,
    /// It looks whether the guard does.
    watches: bool,
}

const RULES: Rules = Rules { says_first: true, says_safe_last: true, watches: true };

impl World {
    fn guard_runs(&self) -> bool {
        self.guard == Life::Runs && !self.guard_ended
    }

    /// The guard has something to do, and is never kept waiting with it.
    fn guard_is_due(&self) -> bool {
        let is_overdue = self.safe_by != 0 && self.now > self.safe_by;
        self.guard_runs() && (self.guard_acts || self.actor == Actor::Dead || is_overdue)
    }

    /// The acting thread is to see that nobody guards, and is not kept waiting with that either.
    fn actor_is_due(&self, rules: Rules) -> bool {
        let is_done = matches!(self.actor, Actor::Halted | Actor::Dead);
        rules.watches && !self.is_stopped && !is_done && self.now > self.looked + SILENT
    }

    /// Both were killed or stopped at once: that is not covered.
    fn both_at_once(&self) -> bool {
        let actor_is_gone = self.is_stopped || self.actor == Actor::Dead;
        actor_is_gone && self.guard != Life::Runs && self.ran_unguarded <= SILENT + 1
    }
}

/// The steps that can follow.
fn next(world: &World, rules: Rules) -> Vec<World> {
    let mut all = Vec::new();
    let mut push = |change: &dyn Fn(&mut World)| {
        let mut world = *world;
        change(&mut world);
        all.push(world);
    };
    let on = |world: &mut World| {
        world.level = true;
        world.since = world.now;
    };
    let say = |world: &mut World| world.safe_by = world.now + PULSE + GRACE;
    match world.actor {
        _ if world.is_stopped => {}
        // It looks once it is asleep, before it acts and after it has: not between saying and switching.
        Actor::Idle | Actor::On if world.actor_is_due(rules) => push(&|world| {
            (world.level, world.safe_by) = (false, 0);
            world.actor = Actor::Halted;
        }),
        Actor::Idle if world.now < ENDS / 2 => push(&|world| {
            if rules.says_first {
                say(world);
            } else {
                on(world);
            }
            world.actor = Actor::Said;
        }),
        Actor::Said => push(&|world| {
            if rules.says_first {
                on(world);
            } else {
                say(world);
            }
            world.actor = Actor::On;
        }),
        Actor::On if world.now >= world.since + PULSE => push(&|world| {
            if rules.says_safe_last {
                world.level = false;
            } else {
                world.safe_by = 0;
            }
            world.actor = Actor::Off;
        }),
        Actor::Off => push(&|world| {
            (world.level, world.safe_by) = (false, 0);
            world.actor = Actor::Idle;
        }),
        _ => {}
    }
    if world.may_die && world.actor != Actor::Dead {
        push(&|world| (world.actor, world.may_die) = (Actor::Dead, false));
    }
    if world.may_stop && world.actor != Actor::Dead {
        push(&|world| (world.is_stopped, world.may_stop) = (true, false));
    }
    if world.is_stopped && world.may_go_on && world.actor != Actor::Dead {
        push(&|world| (world.is_stopped, world.may_go_on) = (false, false));
    }
    if world.may_lose_guard && world.guard_runs() {
        for life in [Life::Killed, Life::Stopped] {
            push(&|world| (world.guard, world.may_lose_guard) = (life, false));
        }
    }
    if world.guard == Life::Stopped && world.may_regain_guard {
        push(&|world| (world.guard, world.may_regain_guard) = (Life::Runs, false));
    }
    // The guard: looks, and acts on what it saw, in two steps that others can come between.
    if world.guard_is_due() {
        if world.guard_acts {
            push(&|world| {
                world.level = false;
                world.guard_acts = false;
                world.guard_ended = world.actor == Actor::Dead;
            });
        } else {
            push(&|world| world.guard_acts = true);
        }
    }
    if world.now < ENDS {
        push(&|world| {
            world.now += 1;
            if world.guard_runs() {
                (world.looked, world.ran_unguarded) = (world.now, 0);
            } else if !world.is_stopped && matches!(world.actor, Actor::Idle | Actor::On) {
                world.ran_unguarded = world.ran_unguarded.saturating_add(1);
            }
        });
    }
    all
}

/// Visits every world that can come; the first one at whose end the output stays active.
fn explore(rules: Rules) -> Result<usize, World> {
    let first = World {
        now: 1,
        actor: Actor::Idle,
        level: false,
        since: 0,
        safe_by: 0,
        guard: Life::Runs,
        looked: 1,
        ran_unguarded: 0,
        guard_acts: false,
        guard_ended: false,
        may_die: true,
        may_stop: true,
        may_go_on: true,
        may_lose_guard: true,
        may_regain_guard: true,
        is_stopped: false,
    };
    let (mut seen, mut open) = (BTreeSet::from([first]), vec![first]);
    while let Some(world) = open.pop() {
        let is_held = world.guard_is_due() || world.actor_is_due(rules);
        let can_act = !world.is_stopped
            && (matches!(world.actor, Actor::Said | Actor::Off)
                || world.actor == Actor::On && world.now >= world.since + PULSE);
        if world.now == ENDS && !is_held && world.level && !can_act && !world.both_at_once() {
            return Err(world);
        }
        for one in next(&world, rules) {
            if is_held && one.now > world.now {
                continue;
            }
            if seen.insert(one) {
                open.push(one);
            }
        }
    }
    Ok(seen.len())
}

#[test]
fn wherever_either_process_is_killed_or_stopped_the_output_is_safe_in_the_end() {
    let worlds = explore(RULES).unwrap_or_else(|world| panic!("the output stays active: {world:?}"));
    assert!(worlds > 10_000, "{worlds} worlds are too few");
    // Were the output switched before the guard hears of it, said to be safe before it is, or switched while nobody guards it, a kill
    // or stop in between would leave it active.
    for rules in [
        Rules { says_first: false, ..RULES },
        Rules { says_safe_last: false, ..RULES },
        Rules { watches: false, ..RULES },
    ] {
        assert!(explore(rules).is_err(), "the model finds nothing: {rules:?}");
    }
}
