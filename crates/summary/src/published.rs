//! Values that others have published, beside which ours are shown. Only figures that are printed in a text are here, none that was
//! read from a picture.

/// A published test of nodes that act together: how far apart they switched, without the sign of that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedPulses {
    /// How long it took (ns).
    pub duration_ns: u64,
    /// The way of the orders.
    pub path: &'static str,
    /// From one order to the next (ns).
    pub interval_ns: u64,
    /// How long after its schedule each order was to be carried out (ns).
    pub lead_ns: u64,
    /// The least (ns).
    pub min_ns: u64,
    /// The greatest (ns).
    pub max_ns: u64,
    /// The mean (ns).
    pub mean_ns: u64,
    /// Orders that were lost or missed; `None` if the text does not say.
    pub missed: Option<u64>,
}

/// Whose values [`OSIE_PULSES`] are.
pub const OSIE: &str = "OSIE";
/// Where they are from.
pub const OSIE_SOURCE: &str = "OSIE (Open Source Industrial Edge), real-time tests of its image on two A20-OLinuXino-LIME2 boards that an x86 \
                               server ordered, table \u{201c}Shift between pulses measure\u{201d}, by a logic analyzer on their GPIO";

const HOUR_NS: u64 = 3_600_000_000_000;

/// The shift between the pulses of two boards, as OSIE has published it.
pub const OSIE_PULSES: [PublishedPulses; 3] = [
    PublishedPulses {
        duration_ns: 14 * HOUR_NS,
        path: "socket",
        interval_ns: 500_000,
        lead_ns: 400_000,
        min_ns: 0,
        max_ns: 265_000,
        mean_ns: 10_600,
        missed: None,
    },
    PublishedPulses {
        duration_ns: 15 * HOUR_NS,
        path: "XDP",
        interval_ns: 500_000,
        lead_ns: 350_000,
        min_ns: 0,
        max_ns: 101_000,
        mean_ns: 9_400,
        missed: Some(0),
    },
    PublishedPulses {
        duration_ns: HOUR_NS,
        path: "XDP",
        interval_ns: 300_000,
        lead_ns: 250_000,
        min_ns: 0,
        max_ns: 84_000,
        mean_ns: 8_400,
        missed: None,
    },
];

/// A published column of a figure; what the text does not print is absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedColumn {
    /// The scenario.
    pub name: &'static str,
    /// What it is of.
    pub about: &'static str,
    /// The least (ns).
    pub min_ns: Option<u64>,
    /// The mean (ns).
    pub mean_ns: Option<u64>,
    /// The standard deviation (ns).
    pub sd_ns: Option<u64>,
    /// The greatest (ns).
    pub max_ns: Option<u64>,
}

/// Where the columns are from.
pub const PAPER_SOURCE: &str = "\u{201c}Application-Level Evaluation of IEEE 802.1AS Synchronized Time and Linux for Distributed Real-Time \
                                Systems\u{201d} (ACM TECS), section 5: two nodes with Atom E3845 and I210, Linux 4.9 with PREEMPT_RT; what \
                                its text prints of the figures";

/// The cost of setting and clearing a GPIO line: the paper's figure 9.
pub const PAPER_COSTS: [PublishedColumn; 1] = [PublishedColumn {
    name: "paper, Test 4",
    about: "up and down, a million times",
    min_ns: Some(22_000),
    mean_ns: Some(24_000),
    sd_ns: None,
    max_ns: Some(50_000),
}];

/// The shift between two nodes by scenario: the paper's figure 10, and of its Test 5 what figures 12 and 13 are stated to show.
pub const PAPER_SHIFTS: [PublishedColumn; 3] = [
    PublishedColumn {
        name: "paper, Test 4",
        about: "square wave of 20 ms, isolated and not; the text says around 1 us",
        min_ns: None,
        mean_ns: None,
        sd_ns: Some(1_000),
        max_ns: None,
    },
    PublishedColumn {
        name: "paper, RT-SMS",
        about: "Test 5: with workload, no isolation, the switch is grand master",
        min_ns: None,
        mean_ns: None,
        sd_ns: Some(3_200),
        max_ns: Some(60_000),
    },
    PublishedColumn {
        name: "paper, CPUSET-SMS",
        about: "Test 5: with workload, isolated by cpuset, the switch is grand master",
        min_ns: None,
        mean_ns: None,
        sd_ns: Some(4_000),
        max_ns: Some(56_000),
    },
];
