//! Names for the numbers that the recorder writes down.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};

use analyse::cause::{Event, Frame, Thread, What};
use flight::programs::VECTORS;
use flight::ring::{Kind, Slot};

/// Softirqs by their numbers (`include/linux/interrupt.h`).
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// The address of one of the kernel's functions; `None` where it is hidden or not there.
pub(super) fn symbol_address(wanted: &str) -> Option<u64> {
    let symbols = BufReader::new(File::open("/proc/kallsyms").ok()?);
    symbols
        .lines()
        .map_while(Result::ok)
        .find_map(|line| {
            let (address, name, _) = symbol(&line)?;
            (name == wanted).then_some(address)
        })
        .filter(|&address| address != 0)
}

/// One line of `/proc/kallsyms`: address, name, module.
fn symbol(line: &str) -> Option<(u64, &str, Option<&str>)> {
    let mut fields = line.split_ascii_whitespace();
    let address = u64::from_str_radix(fields.next()?, 16).ok()?;
    let kind = fields.next()?;
    let name = fields.next()?;
    matches!(kind, "t" | "T" | "w" | "W").then_some((address, name, fields.next()))
}

/// Names of functions, interrupts and idle states, read when they are first asked for.
#[derive(Debug, Default)]
pub(super) struct Names {
    functions: HashMap<u64, String>,
    irqs: Option<HashMap<u32, String>>,
    /// By CPU and number: name and exit latency (ns).
    idle_states: HashMap<(u32, u32), (String, Option<u64>)>,
}

impl Names {
    /// Reads the names of all functions at these addresses, in one pass.
    pub(super) fn learn(&mut self, addresses: impl Iterator<Item = u64>) {
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

    fn function(&self, address: u64) -> String {
        self.functions.get(&address).cloned().unwrap_or_else(|| format!("{address:#x}"))
    }

    fn irq(&mut self, number: u32) -> String {
        let irqs = self.irqs.get_or_insert_with(|| {
            let text = fs::read_to_string("/proc/interrupts").unwrap_or_default();
            let lines = profile::irq::parse_interrupts(&text).lines;
            lines.iter().map(|line| (line.number, line.actions.join(", "))).collect()
        });
        irqs.get(&number).filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| "device".to_owned())
    }

    fn idle_state(&mut self, cpu: u32, number: u32) -> (String, Option<u64>) {
        let read = || {
            let place = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{number}");
            let text =
                |file: &str| fs::read_to_string(format!("{place}/{file}")).ok().map(|text| text.trim().to_owned());
            let latency_us: Option<u64> = text("latency").and_then(|text| text.parse().ok());
            match text("name") {
                Some(name) => (name, latency_us.map(|us| us * 1_000)),
                None => (format!("idle state {number}"), None),
            }
        };
        self.idle_states.entry((cpu, number)).or_insert_with(read).clone()
    }

    /// A slot as an event with names; `stack` are the addresses of a late timer's functions.
    pub(super) fn event(&mut self, cpu: u32, slot: &Slot, stack: &[u64]) -> Event {
        let what = match slot.kind {
            Kind::Switch => {
                let (tid, prio) = halves(slot.b);
                let (policy, from_prio) = halves(slot.c);
                let to = Thread { tid, name: slot.name(), prio: signed(prio), policy };
                What::Switch { from: slot.a, from_prio: signed(from_prio), to }
            }
            Kind::IrqEntry => What::Enter(Frame::Irq(slot.a, self.irq(slot.a))),
            Kind::IrqExit => What::Leave(Frame::Irq(slot.a, self.irq(slot.a))),
            Kind::SoftirqEntry => What::Enter(softirq(slot.a)),
            Kind::SoftirqExit => What::Leave(softirq(slot.a)),
            Kind::VectorEntry => What::Enter(vector(slot.a)),
            Kind::VectorExit => What::Leave(vector(slot.a)),
            Kind::TimerEntry => What::Enter(Frame::TimerFunction(self.function(slot.b))),
            Kind::TimerExit => What::Leave(Frame::TimerFunction(self.function(slot.b))),
            Kind::LateTimer => What::LateTimer {
                expires_ns: i64::from_ne_bytes(slot.c.to_ne_bytes()),
                stack: stack.iter().map(|&address| self.function(address)).collect(),
            },
            Kind::IdleEntry => {
                let (state, exit_latency_ns) = self.idle_state(cpu, slot.a);
                What::IdleEntry { state, exit_latency_ns }
            }
            Kind::IdleExit => What::IdleExit,
            // Addresses of the kernel have their upper half's bits set.
            Kind::PageFault => {
                let at = if slot.c >> 63 == 1 { self.function(slot.c) } else { format!("{:#x}", slot.c) };
                What::PageFault { address: slot.b, at }
            }
            Kind::Nmi => What::Nmi { handler: self.function(slot.b), length_ns: slot.c },
            Kind::Frequency => What::Frequency(slot.a),
        };
        Event { time_ns: slot.time_ns, what }
    }
}

/// Addresses of functions in a slot.
pub(super) fn addresses(slot: &Slot) -> Option<u64> {
    match slot.kind {
        Kind::TimerEntry | Kind::TimerExit | Kind::Nmi => Some(slot.b),
        Kind::PageFault if slot.c >> 63 == 1 => Some(slot.c),
        _ => None,
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
    fn a_switch_has_thread_priority_and_policy_in_their_places() {
        let mut name = [0; 16];
        name[..3].copy_from_slice(b"hog");
        let slot = Slot { time_ns: 5, kind: Kind::Switch, a: 7, b: 9 | (120 << 32), c: 1 | (0xffff_ffff << 32), name };
        let What::Switch { from, from_prio, to } = Names::default().event(0, &slot, &[]).what else { panic!() };
        assert_eq!((from, from_prio), (7, -1));
        assert_eq!(to, Thread { tid: 9, name: "hog".to_owned(), prio: 120, policy: 1 });
    }
}
