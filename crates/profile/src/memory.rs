//! Memory, huge pages and swap.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Memory, huge pages and swap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Memory {
    /// All memory, in kibibytes (/proc/meminfo, MemTotal).
    pub total_kib: Option<u64>,
    /// Memory that could be had without swapping, in kibibytes (/proc/meminfo, MemAvailable).
    pub available_kib: Option<u64>,
    /// Swap space, in kibibytes (/proc/meminfo, SwapTotal).
    pub swap_total_kib: Option<u64>,
    /// Swap space in use, in kibibytes (/proc/meminfo, SwapTotal - SwapFree).
    pub swap_used_kib: Option<u64>,
    /// Reserved huge pages (/proc/meminfo, HugePages_Total).
    pub huge_page_count: Option<u64>,
    /// Size of a huge page, in kibibytes (/proc/meminfo, Hugepagesize).
    pub huge_page_kib: Option<u64>,
    /// `always`, `madvise` or `never` (/sys/kernel/mm/transparent_hugepage/enabled).
    pub transparent_huge_pages: Option<String>,
    /// Kernel same-page merging: 0 off, 1 on (/sys/kernel/mm/ksm/run).
    pub ksm_run: Option<u64>,
    /// Eagerness to swap, 0 to 200 (/proc/sys/vm/swappiness).
    pub swappiness: Option<u64>,
    /// How often counters of virtual memory are folded together, in seconds (/proc/sys/vm/stat_interval).
    pub stat_interval_s: Option<u64>,
    /// Whether compaction may move locked pages (/proc/sys/vm/compact_unevictable_allowed).
    pub compact_unevictable_allowed: Option<bool>,
}

impl Memory {
    /// Adds the fields of `/proc/meminfo`.
    pub fn add_meminfo(&mut self, text: &str) {
        let value = |key: &str| crate::text::keyed(text, ':', key)?.split_whitespace().next()?.parse::<u64>().ok();
        self.total_kib = value("MemTotal");
        self.available_kib = value("MemAvailable");
        self.swap_total_kib = value("SwapTotal");
        self.swap_used_kib = value("SwapTotal").zip(value("SwapFree")).map(|(total, free)| total.saturating_sub(free));
        self.huge_page_count = value("HugePages_Total");
        self.huge_page_kib = value("Hugepagesize");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo() {
        let mut memory = Memory::default();
        memory.add_meminfo("MemTotal:        1024 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\nHugePages_Total:       0\n");
        assert_eq!((memory.total_kib, memory.swap_used_kib, memory.huge_page_count), (Some(1024), Some(60), Some(0)));
        assert_eq!(memory.available_kib, None);
    }
}
