//! What the acting thread tells the guard of its output, and what the guard makes of it. Used in the loop that acts.

use std::sync::atomic::{AtomicI64, Ordering};

use kernel::shared_words::SharedWords;

/// How long after the time at which the output is to be safe the guard makes it so (ns): the acting thread may be late.
pub(crate) const GRACE_NS: i64 = 20_000_000;
/// The words of the shared memory.
const SAFE_BY: usize = 0;
const INTERVENED: usize = 1;
const LOOKED: usize = 2;
/// The output is safe, as far as the acting thread knows.
const SAFE: i64 = 0;

/// What both processes know.
#[derive(Debug)]
pub(crate) struct GuardState(pub(crate) SharedWords);

impl GuardState {
    fn word(&self, number: usize) -> &AtomicI64 {
        &self.0.words()[number]
    }

    /// The output is about to become active, until a moment (ns, CLOCK_MONOTONIC): said before it is switched, so that there is no
    /// moment at which it is active and the guard does not know.
    #[inline(always)]
    pub(crate) fn becomes_active(&self, until_ns: i64) {
        self.word(SAFE_BY).store(until_ns.saturating_add(GRACE_NS).max(SAFE + 1), Ordering::SeqCst);
    }

    /// The output is safe again: said after it was switched.
    #[inline(always)]
    pub(crate) fn is_safe(&self) {
        self.word(SAFE_BY).store(SAFE, Ordering::SeqCst);
    }

    /// Whether the guard is to make the output safe now.
    pub(crate) fn is_overdue(&self, now_ns: i64) -> bool {
        let safe_by_ns = self.word(SAFE_BY).load(Ordering::SeqCst);
        safe_by_ns != SAFE && now_ns > safe_by_ns
    }

    /// The guard has made it safe, while the acting thread lives.
    pub(crate) fn intervened(&self) {
        self.word(INTERVENED).fetch_add(1, Ordering::Relaxed);
    }

    /// How often it has.
    pub(crate) fn interventions(&self) -> u64 {
        self.word(INTERVENED).load(Ordering::Relaxed).unsigned_abs()
    }

    /// The guard looked (ns, CLOCK_MONOTONIC).
    pub(crate) fn looked(&self, now_ns: i64) {
        self.word(LOOKED).store(now_ns, Ordering::Relaxed);
    }

    /// When it last did.
    pub(crate) fn looked_ns(&self) -> i64 {
        self.word(LOOKED).load(Ordering::Relaxed)
    }
}

/// Every order in which an acting process, its kill or stop, and its guard can take their steps.
#[cfg(test)]
mod model {
    use std::collections::BTreeSet;

    /// A step takes so many units of time at most; the grace is longer than the acting thread takes to be safe again.
    const PULSE: u8 = 2;
    const GRACE: u8 = 2;
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
        Dead,
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
        /// The guard has read the word, and found the output overdue or its controller gone.
        guard_acts: bool,
        /// The guard has seen that the controller is gone and made the output safe: it ends.
        guard_ended: bool,
        may_die: bool,
        may_stop: bool,
        may_go_on: bool,
    }

    /// The steps that can follow; the acting thread says that the output becomes active before it switches it, and that it is safe
    /// after that, or both the other way round.
    fn next(world: &World, [says_first, says_safe_last]: [bool; 2]) -> Vec<World> {
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
            Actor::Idle if world.now < ENDS / 2 => push(&|world| {
                if says_first {
                    say(world);
                } else {
                    on(world);
                }
                world.actor = Actor::Said;
            }),
            Actor::Said => push(&|world| {
                if says_first {
                    on(world);
                } else {
                    say(world);
                }
                world.actor = Actor::On;
            }),
            Actor::On if world.now >= world.since + PULSE => push(&|world| {
                if says_safe_last {
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
        if world.is_stopped && world.may_go_on {
            push(&|world| (world.is_stopped, world.may_go_on) = (false, false));
        }
        // The guard: looks, and acts on what it saw, in two steps that others can come between.
        if !world.guard_ended {
            if world.guard_acts {
                push(&|world| {
                    world.level = false;
                    world.guard_acts = false;
                    world.guard_ended = world.actor == Actor::Dead;
                });
            } else if world.actor == Actor::Dead || (world.safe_by != 0 && world.now > world.safe_by) {
                push(&|world| world.guard_acts = true);
            }
        }
        if world.now < ENDS {
            push(&|world| world.now += 1);
        }
        all
    }

    /// Visits every world that can come; the first one at whose end the output stays active.
    fn explore(says: [bool; 2]) -> Result<usize, World> {
        let first = World {
            now: 1,
            actor: Actor::Idle,
            level: false,
            since: 0,
            safe_by: 0,
            guard_acts: false,
            guard_ended: false,
            may_die: true,
            may_stop: true,
            may_go_on: true,
            is_stopped: false,
        };
        let (mut seen, mut open) = (BTreeSet::from([first]), vec![first]);
        while let Some(world) = open.pop() {
            let following = next(&world, says);
            // The guard is never kept waiting: where it has something to do, time does not pass without it.
            let guard_waits = !world.guard_ended
                && (world.guard_acts
                    || world.actor == Actor::Dead
                    || (world.safe_by != 0 && world.now > world.safe_by));
            let is_last = world.now == ENDS && !guard_waits;
            let can_act = !world.is_stopped
                && (matches!(world.actor, Actor::Said | Actor::Off)
                    || world.actor == Actor::On && world.now >= world.since + PULSE);
            if is_last && world.level && !can_act {
                return Err(world);
            }
            for one in following {
                if guard_waits && one.now > world.now {
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
    fn wherever_the_acting_thread_is_killed_or_stopped_the_output_is_safe_in_the_end() {
        let worlds = explore([true, true]).unwrap_or_else(|world| panic!("the output stays active: {world:?}"));
        assert!(worlds > 200, "{worlds} worlds are too few");
        // Were the output switched before the guard hears of it, or said to be safe before it is, a stop in between would leave it
        // active.
        for says in [[false, true], [true, false]] {
            assert!(explore(says).is_err(), "the model finds nothing: {says:?}");
        }
    }
}
