//! `/dev/cpu_dma_latency`: a limit on the wake-up latency from idle states, held while the file is open
//! (Documentation/power/pm_qos_interface.rst).

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};

use record::DmaLatency;

const PATH: &str = "/dev/cpu_dma_latency";
/// What the kernel reports where nobody holds a limit (PM_QOS_CPU_LATENCY_DEFAULT_VALUE, 2000 s).
const NO_LIMIT_US: i32 = 2_000_000_000;

/// The file held open, if one was wanted and granted; the limit ends with it.
#[derive(Debug, Default)]
pub struct DmaLatencyHold {
    file: Option<File>,
    state: DmaLatency,
}

impl DmaLatencyHold {
    /// Holds `wanted_us`, or nothing.
    #[must_use]
    pub fn take(wanted_us: Option<u32>) -> Self {
        let (file, refused) = match wanted_us.map(hold).transpose() {
            Ok(file) => (file, None),
            Err(error) => (None, Some(format!("{PATH}: {error}"))),
        };
        let held_us = wanted_us.filter(|_| file.is_some());
        Self { file, state: DmaLatency { held_us, effective_us: effective_us(), refused } }
    }

    /// The state that goes into the record.
    #[must_use]
    pub fn state(&self) -> &DmaLatency {
        &self.state
    }

    /// Whether a limit is held.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.file.is_some()
    }
}

fn hold(us: u32) -> io::Result<File> {
    let value = i32::try_from(us).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().write(true).open(PATH)?;
    file.write_all(&value.to_ne_bytes())?;
    Ok(file)
}

/// The limit in force, by any process; `None` where it is unreadable or there is none.
pub(crate) fn effective_us() -> Option<u32> {
    let mut bytes = [0_u8; 4];
    File::open(PATH).ok()?.read_exact(&mut bytes).ok()?;
    let value = i32::from_ne_bytes(bytes);
    (value < NO_LIMIT_US).then(|| u32::try_from(value).ok()).flatten()
}

/// Whether deep idle states can be disabled here at all: the kernel has some, and a limit can be asked for.
#[must_use]
pub fn can_disable_idle_states() -> bool {
    let driver = crate::kernel_text::read("/sys/devices/system/cpu/cpuidle/current_driver");
    driver.is_ok_and(|name| name.trim() != "none") && OpenOptions::new().write(true).open(PATH).is_ok()
}
