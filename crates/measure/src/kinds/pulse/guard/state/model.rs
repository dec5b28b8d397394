//! Every order in which an acting process and its guard can take their steps, and in which either of them is killed or stopped.

use std::collections::BTreeSet;

/// A step takes so many units of time at most; the grace is longer than the acting thread takes to be safe again.
const GRACE: u8 = 2;
/// A guard that has not looked for longer is gone, as far as the acting thread knows; and a thread that has not run for longer while
/// the output is active, as far as the guard knows.
const SILENT: u8 = 2;
/// How long the output is active: less than it takes either to notice that the other is lost, and much more.
const PULSES: [u8; 2] = [2, 6];
const ENDS: u8 = 15;

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
    /// When the acting thread last said that it runs.
    alive: u8,
    /// How long the acting thread has run since the guard looked last, and the guard since the acting thread ran last: measures of "at
    /// once". What keeps the thread waiting between saying and switching is as if it were stopped there.
    ran_unguarded: u8,
    ran_unheard: u8,
    /// When the guard last made the output safe: it does so at each look.
    made_safe: u8,
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
    /// It says that it runs, and the guard looks at that.
    says_alive: bool,
    /// How long the output is active.
    pulse: u8,
}

const RULES: Rules =
    Rules { says_first: true, says_safe_last: true, watches: true, says_alive: true, pulse: PULSES[0] };

impl World {
    fn guard_runs(&self) -> bool {
        self.guard == Life::Runs && !self.guard_ended
    }

    fn is_overdue(&self, rules: Rules) -> bool {
        self.safe_by != 0 && (self.now > self.safe_by || rules.says_alive && self.now > self.alive + SILENT)
    }

    /// The guard has something to do, and is never kept waiting with it.
    fn guard_is_due(&self, rules: Rules) -> bool {
        let is_overdue = self.is_overdue(rules) && self.made_safe < self.now;
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
        let is_at_once = self.ran_unguarded <= SILENT + 1 && self.ran_unheard <= SILENT + 1;
        actor_is_gone && self.guard != Life::Runs && is_at_once
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
        // It runs, whether it has said so or not.
        (world.since, world.ran_unheard) = (world.now, 0);
    };
    let say = |world: &mut World| (world.alive, world.safe_by) = (world.now, world.now + rules.pulse + GRACE);
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
        Actor::On if world.now >= world.since + rules.pulse => push(&|world| {
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
    if world.guard_is_due(rules) {
        if world.guard_acts {
            push(&|world| {
                (world.level, world.made_safe) = (false, world.now);
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
            let actor_runs = !world.is_stopped && matches!(world.actor, Actor::Idle | Actor::On);
            if world.guard_runs() {
                (world.looked, world.ran_unguarded) = (world.now, 0);
                // Beyond what "at once" is, all are the same.
                world.ran_unheard = (world.ran_unheard + 1).min(SILENT + 2);
            } else if actor_runs {
                world.ran_unguarded = (world.ran_unguarded + 1).min(SILENT + 2);
            }
            if actor_runs {
                (world.alive, world.ran_unheard) = (world.now, 0);
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
        alive: 1,
        ran_unguarded: 0,
        ran_unheard: 0,
        made_safe: 0,
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
        let is_held = world.guard_is_due(rules) || world.actor_is_due(rules);
        // It would go on, and switch it off.
        let can_act = !world.is_stopped && matches!(world.actor, Actor::Said | Actor::On | Actor::Off);
        // It would be made safe at the next look.
        let is_looked_at = world.guard_runs() && world.is_overdue(rules);
        if world.now == ENDS && !is_held && !is_looked_at && world.level && !can_act && !world.both_at_once() {
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
    for pulse in PULSES {
        let rules = Rules { pulse, ..RULES };
        let worlds = explore(rules).unwrap_or_else(|world| panic!("the output stays active: {world:?}"));
        assert!(worlds > 100_000, "{worlds} worlds are too few");
    }
    // Were the output switched before the guard hears of it, said to be safe before it is, or switched while nobody guards it, a kill
    // or stop in between would leave it active. So would one of the guard in a long pulse, in which nobody heard of the thread for long.
    for rules in [
        Rules { says_first: false, ..RULES },
        Rules { says_safe_last: false, ..RULES },
        Rules { watches: false, ..RULES },
        Rules { says_alive: false, pulse: PULSES[1], ..RULES },
    ] {
        assert!(explore(rules).is_err(), "the model finds nothing: {rules:?}");
    }
}
