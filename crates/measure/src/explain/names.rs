//! Names for the numbers that the recorder writes down.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::sync::OnceLock;

use analysis::cause::{Event, Frame, LATE_TICK_NS, Thread, What};
use flight::programs::VECTORS;
use flight::ring::{Kind, Slot};
use record::Owner;

/// Softirqs by their numbers (`include/linux/interrupt.h`).
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// What is missing if `/proc/kallsyms` shows no addresses.
pub(super) const FUNCTIONS_HAVE_NO_NAMES: &str = "addresses of the kernel's functions are hidden \
    (kernel.kptr_restrict), so functions have no names, and interrupts off cannot be distinguished from preemption off";

/// The functions of the scheduler's tick (`kernel/time/tick-sched.c`; the second one before Linux 6.10), whose timers are on
/// CLOCK_MONOTONIC.
const TICKS: [&str; 2] = ["tick_nohz_handler", "tick_sched_timer"];

/// What has to be known of the kernel's functions before a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    /// The function that wakes a sleeping thread; `None` where addresses are hidden.
    pub(super) wakeup_function: Option<u64>,
    /// The functions of the scheduler's tick.
    ticks: Vec<u64>,
    /// The functions by which interrupts are entered: from, to and name.
    entries: Vec<(u64, u64, String)>,
}

impl Symbols {
    /// Read once for the process: it takes a tenth of a second.
    pub(super) fn get() -> &'static Self {
        static SYMBOLS: OnceLock<Symbols> = OnceLock::new();
        SYMBOLS.get_or_init(Self::read)
    }

    fn read() -> Self {
        let mut symbols = Self::default();
        let Ok(mut text) = File::open("/proc/kallsyms").map(BufReader::new) else { return symbols };
        let mut line = String::new();
        let mut open: Option<(u64, String)> = None;
        while text.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            if let Some((address, name, None)) = symbol(&line) {
                if let Some((from, entry)) = open.take_if(|(from, _)| *from != address) {
                    symbols.entries.push((from, address, entry));
                }
                if name == "hrtimer_wakeup" {
                    symbols.wakeup_function = Some(address).filter(|&address| address != 0);
                }
                if address != 0 && TICKS.contains(&name) {
                    symbols.ticks.push(address);
                }
                if analysis::cause::is_interrupt_entry(name) {
                    open = Some((address, name.to_owned()));
                }
            }
            line.clear();
        }
        symbols
    }

    fn entry(&self, address: u64) -> Option<&str> {
        let found = self.entries.iter().find(|(from, to, _)| (*from..*to).contains(&address));
        found.map(|(.., name)| name.as_str())
    }
}

/// One line of `/proc/kallsyms`: address, name, module.
fn symbol(line: &str) -> Option<(u64, &str, Option<&str>)> {
    let mut fields = line.split_ascii_whitespace();
    let address = u64::from_str_radix(fields.next()?, 16).ok()?;
    let kind = fields.next()?;
    let name = fields.next()?;
    matches!(kind, "t" | "T" | "w" | "W").then_some((address, name, fields.next()))
}

/// Stands before an address whose name is still to be read.
const OPEN: char = '\u{1}';

/// Names of functions, interrupts and idle states, read when they are first asked for.
#[derive(Debug, Default)]
pub(super) struct Names {
    functions: HashMap<u64, String>,
    irqs: Option<HashMap<u32, String>>,
    /// By CPU and number: name and exit latency (ns).
    idle_states: HashMap<(u32, u32), (String, Option<u64>)>,
    /// By kernel id of a thread.
    owners: HashMap<u32, Owner>,
}

/// The addresses that [`Names::function`] left open in a text.
fn addresses_in(text: &str) -> Vec<u64> {
    let ends = text.match_indices(OPEN).map(|(at, _)| at + OPEN.len_utf8());
    ends.filter_map(|at| u64::from_str_radix(text.get(at..at + 16)?, 16).ok()).collect()
}

impl Names {
    /// Forgets whose threads are whose: their numbers may be those of others by now.
    pub(super) fn forget_threads(&mut self) {
        self.owners.clear();
    }

    /// Reads the names of all functions at these addresses, in one pass.
    fn learn(&mut self, addresses: impl Iterator<Item = u64>) {
        let mut open: Vec<u64> = addresses.filter(|address| !self.functions.contains_key(address)).collect();
        if open.is_empty() {
            return;
        }
        open.sort_unstable();
        open.dedup();
        let mut found: Vec<Option<(u64, String)>> = vec![None; open.len()];
        let symbols = File::open("/proc/kallsyms").map(BufReader::new);
        for line in symbols.into_iter().flat_map(|symbols| symbols.lines().map_while(Result::ok)) {
            let Some((address, name, module)) = symbol(&line) else { continue };
            if address == 0 {
                break;
            }
            // The nearest function that begins at or before each.
            let from = open.partition_point(|&wanted| wanted < address);
            for (wanted, best) in open[from..].iter().zip(&mut found[from..]) {
                let is_nearer = best.as_ref().is_none_or(|(of, _)| address > *of);
                if is_nearer && *wanted - address < 0x10_0000 {
                    *best = Some((
                        address,
                        match module {
                            Some(module) => format!("{name} {module}"),
                            None => name.to_owned(),
                        },
                    ));
                }
            }
        }
        for (address, best) in open.into_iter().zip(found) {
            let name = best.map_or_else(|| format!("{address:#x}"), |(_, name)| name);
            self.functions.insert(address, name);
        }
    }

    /// A name, or a word that [`Names::fill_in`] finds again: names are not read while the run goes.
    fn function(address: u64) -> String {
        Symbols::get().entry(address).map_or_else(|| format!("{OPEN}{address:016x}"), str::to_owned)
    }

    /// Puts names in the place of what [`Names::function`] left open.
    pub(super) fn fill_in(&mut self, texts: &mut [&mut String]) {
        let open: Vec<u64> = texts.iter().flat_map(|text| addresses_in(text)).collect();
        self.learn(open.into_iter());
        self.fill_in_known(texts);
    }

    /// The same by the names that are known already; others stay addresses.
    pub(super) fn fill_in_known(&self, texts: &mut [&mut String]) {
        for text in texts {
            for address in addresses_in(text) {
                let name = self.functions.get(&address).cloned().unwrap_or_else(|| format!("{address:#x}"));
                **text = text.replace(&format!("{OPEN}{address:016x}"), &name);
            }
        }
    }

    fn irq(&mut self, number: u32) -> String {
        let irqs = self.irqs.get_or_insert_with(|| {
            let text = crate::kernel_text::read("/proc/interrupts").unwrap_or_default();
            let lines = profile::irq::parse_interrupts(&text).lines;
            lines.iter().map(|line| (line.number, line.actions.join(", "))).collect()
        });
        irqs.get(&number).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| "device".to_owned())
    }

    fn owner(&mut self, tid: u32) -> Owner {
        *self.owners.entry(tid).or_insert_with(|| if tid == 0 { Owner::Other } else { crate::load::owner_of(tid) })
    }

    fn idle_state(&mut self, cpu: u32, number: u32) -> (String, Option<u64>) {
        let read = || {
            let place = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{number}");
            let text = |file: &str| {
                crate::kernel_text::read(format!("{place}/{file}")).ok().map(|text| text.trim().to_owned())
            };
            let latency_us: Option<u64> = text("latency").and_then(|text| text.parse().ok());
            match text("name") {
                Some(name) => (name, latency_us.map(|us| us * 1_000)),
                None => (format!("idle state {number}"), None),
            }
        };
        self.idle_states.entry((cpu, number)).or_insert_with(read).clone()
    }

    /// The additional event of a slot: a tick that came late.
    pub(super) fn late_tick(slot: &Slot) -> Option<Event> {
        let due_ns = i64::from_ne_bytes(slot.c.to_ne_bytes());
        let is_tick = slot.kind == Kind::TimerEntry && due_ns > 0 && Symbols::get().ticks.contains(&slot.b);
        let is_late = is_tick && slot.time_ns.saturating_sub(due_ns) >= LATE_TICK_NS;
        is_late.then_some(Event { time_ns: slot.time_ns, what: What::LateTick { due_ns } })
    }

    /// A slot as an event with names; `stack` are the addresses of a late timer's functions.
    pub(super) fn event(&mut self, cpu: u32, slot: &Slot, stack: &[u64]) -> Event {
        let what = match slot.kind {
            Kind::Switch => {
                let (tid, prio) = halves(slot.b);
                let (policy, from_prio) = halves(slot.c);
                let owner = self.owner(tid);
                let to = Thread { tid, name: slot.name(), prio: signed(prio), policy, owner };
                What::Switch { from: slot.a, from_prio: signed(from_prio), to }
            }
            Kind::IrqEntry => What::Enter(Frame::Irq(slot.a, self.irq(slot.a))),
            Kind::IrqExit => What::Leave(Frame::Irq(slot.a, self.irq(slot.a))),
            Kind::SoftirqEntry => What::Enter(softirq(slot.a)),
            Kind::SoftirqExit => What::Leave(softirq(slot.a)),
            Kind::VectorEntry => What::Enter(vector(slot.a)),
            Kind::VectorExit => What::Leave(vector(slot.a)),
            Kind::TimerEntry => What::Enter(Frame::TimerFunction(Self::function(slot.b))),
            Kind::TimerExit => What::Leave(Frame::TimerFunction(Self::function(slot.b))),
            Kind::LateTimer => What::LateTimer {
                expires_ns: i64::from_ne_bytes(slot.c.to_ne_bytes()),
                stack: stack.iter().map(|&address| Self::function(address)).collect(),
                followed_for_ns: slot.followed_ns() - slot.time_ns,
            },
            Kind::IdleEntry => {
                let (state, exit_latency_ns) = self.idle_state(cpu, slot.a);
                What::IdleEntry { state, exit_latency_ns }
            }
            Kind::IdleExit => What::IdleExit,
            // Addresses of the kernel have their upper half's bits set.
            Kind::PageFault => {
                let at = if slot.c >> 63 == 1 { Self::function(slot.c) } else { format!("{:#x}", slot.c) };
                What::PageFault { address: slot.b, at }
            }
            Kind::Nmi => What::Nmi { handler: Self::function(slot.b), length_ns: slot.c },
            Kind::Frequency => What::Frequency(slot.a),
            Kind::Untold => What::Untold,
            Kind::Woken => What::Woken { tid: slot.a },
            Kind::Moved => {
                let (from, to) = halves(slot.b);
                What::Moved { tid: slot.a, from, to }
            }
        };
        Event { time_ns: slot.time_ns, what }
    }
}

fn halves(word: u64) -> (u32, u32) {
    let bytes = word.to_le_bytes();
    let [a, b, c, d, e, f, g, h] = bytes;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

fn signed(word: u32) -> i32 {
    i32::from_ne_bytes(word.to_ne_bytes())
}

fn softirq(number: u32) -> Frame {
    let name = usize::try_from(number).ok().and_then(|at| SOFTIRQS.get(at));
    Frame::Softirq(name.map_or_else(|| format!("softirq {number}"), |name| format!("softirq {name}")))
}

fn vector(number: u32) -> Frame {
    let name = usize::try_from(number).ok().and_then(|at| VECTORS.get(at));
    Frame::Vector(name.map_or_else(|| format!("interrupt {number} of the processor"), |name| (*name).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_name_of_what_begins_before_them() {
        assert_eq!(symbol("ffffffff8141e4b0 t hrtimer_wakeup"), Some((0xffff_ffff_8141_e4b0, "hrtimer_wakeup", None)));
        assert_eq!(
            symbol("ffffffffc0001000 t fire\t[inject]"),
            Some((0xffff_ffff_c000_1000, "fire", Some("[inject]")))
        );
        assert_eq!(symbol("ffffffff8141e4b0 d some_data"), None);
        assert_eq!(symbol(""), None);
    }

    #[test]
    fn a_late_tick_is_reported_with_its_due_time() {
        let Some(&tick) = Symbols::get().ticks.first() else {
            println!("not shown: the kernel does not show the address of its tick's function");
            return;
        };
        let late_tick = |function, due_ns: u64, kind| {
            let slot = Slot { time_ns: 9_000_000, kind, a: 0, b: function, c: due_ns, name: [0; 16] };
            Names::late_tick(&slot).map(|event| (event.time_ns, event.what))
        };
        let late = What::LateTick { due_ns: 8_900_000 };
        assert_eq!(late_tick(tick, 8_900_000, Kind::TimerEntry), Some((9_000_000, late)));
        assert_eq!(late_tick(tick, 8_900_001, Kind::TimerEntry), None);
        // Another function, an end, and a tick whose due time is unknown.
        assert_eq!(late_tick(tick + 1, 8_900_000, Kind::TimerEntry), None);
        assert_eq!(late_tick(tick, 8_900_000, Kind::TimerExit), None);
        assert_eq!(late_tick(tick, 0, Kind::TimerEntry), None);
    }

    #[test]
    fn names_are_filled_in_wherever_they_stand() {
        let mut names = Names::default();
        names.functions.insert(0xffff_0000_0000_1000, "slow [driver]".to_owned());
        let mut text = format!("in {} and {0}.", Names::function(0xffff_0000_0000_1000));
        let mut other = "nothing open".to_owned();
        names.fill_in(&mut [&mut text, &mut other]);
        assert_eq!((text.as_str(), other.as_str()), ("in slow [driver] and slow [driver].", "nothing open"));
    }

    #[test]
    fn a_switch_has_thread_priority_and_policy_in_their_places() {
        let mut name = [0; 16];
        name[..3].copy_from_slice(b"hog");
        let slot = Slot { time_ns: 5, kind: Kind::Switch, a: 7, b: 9 | (120 << 32), c: 1 | (0xffff_ffff << 32), name };
        let What::Switch { from, from_prio, to } = Names::default().event(0, &slot, &[]).what else { panic!() };
        assert_eq!((from, from_prio), (7, -1));
        assert_eq!(to, Thread { tid: 9, name: "hog".to_owned(), prio: 120, policy: 1, owner: Owner::Other });
    }
}
