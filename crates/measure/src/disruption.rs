//! Whether the hypervisor moved or restored this virtual machine meanwhile: the disruption marker of its clock's page.
//!
//! The device is there from Linux 6.13 on where the hypervisor offers it; elsewhere nothing is looked for.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use codecs::vmclock::{BYTES, VmClock, VmClockError};

/// The device of the first such clock; there is one.
pub(crate) const DEVICE: &str = "/dev/vmclock0";
/// The kernel hands out a page that nobody was writing; a copy elsewhere is tried a few times.
const TRIES: usize = 8;

/// Follows the marker from look to look.
#[derive(Debug, Default)]
pub(crate) struct DisruptionWatch {
    page: Option<File>,
    last: Option<VmClock>,
    refusal: Option<String>,
}

/// What a look found changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disrupted {
    before: u64,
    after: u64,
}

impl Disrupted {
    /// What changed, in words.
    pub(crate) fn words(self) -> String {
        format!("the disruption marker of {DEVICE} changed from {} to {}", self.before, self.after)
    }
}

fn read(page: &File) -> io::Result<VmClock> {
    let mut last = VmClockError::Writing;
    for _ in 0..TRIES {
        let mut bytes = [0; BYTES];
        let length = page.read_at(&mut bytes, 0)?;
        match VmClock::decode(bytes.get(..length).unwrap_or(&[])) {
            Ok(clock) => return Ok(clock),
            Err(error) => last = error,
        }
        if last != VmClockError::Writing {
            break;
        }
    }
    Err(io::Error::other(last))
}

impl DisruptionWatch {
    /// Begins with the marker as it is now.
    pub(crate) fn begin(device: &Path) -> Self {
        let refused = |error: io::Error| Some(format!("{}: {error}", device.display()));
        match File::open(device) {
            Ok(page) => match read(&page) {
                Ok(clock) => Self { page: Some(page), last: Some(clock), refusal: None },
                Err(error) => Self { refusal: refused(error), ..Self::default() },
            },
            // No such device is an answer: the hypervisor offers none, or there is none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(error) => Self { refusal: refused(error), ..Self::default() },
        }
    }

    /// Why a device that is there cannot be followed, in words.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// What the hypervisor said last.
    pub(crate) const fn last(&self) -> Option<&VmClock> {
        self.last.as_ref()
    }

    /// Whether the marker changed since the look before.
    pub(crate) fn look(&mut self) -> Option<Disrupted> {
        // A page that cannot be read now is looked at again the next time: a change stays to be seen.
        let now = read(self.page.as_ref()?).ok()?;
        let before = self.last.replace(now)?;
        (before.disruption_marker != now.disruption_marker)
            .then_some(Disrupted { before: before.disruption_marker, after: now.disruption_marker })
    }
}

/// A page as a hypervisor writes it, for tests.
#[cfg(test)]
pub(crate) fn page(sequence: u32, marker: u64) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[0..4].copy_from_slice(b"VCLK");
    bytes[8..10].copy_from_slice(&1_u16.to_le_bytes());
    bytes[12..16].copy_from_slice(&sequence.to_le_bytes());
    bytes[16..24].copy_from_slice(&marker.to_le_bytes());
    bytes[34] = 2;
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_marker_is_seen_once_and_a_page_in_writing_hides_none() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("vmclock0");
        std::fs::write(&device, page(2, 7)).unwrap();
        let mut watch = DisruptionWatch::begin(&device);
        assert_eq!((watch.look(), watch.refusal()), (None, None));
        // Half written: the marker is new, and the counter odd.
        std::fs::write(&device, page(3, 8)).unwrap();
        assert_eq!(watch.look(), None);
        std::fs::write(&device, page(4, 8)).unwrap();
        let disrupted = watch.look().unwrap();
        assert!(disrupted.words().ends_with("changed from 7 to 8"), "{}", disrupted.words());
        assert_eq!(watch.look(), None);
        // A device that is gone says nothing.
        std::fs::write(&device, b"VC").unwrap();
        assert_eq!(watch.look(), None);
    }

    #[test]
    fn no_device_is_none_and_another_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut none = DisruptionWatch::begin(&folder.path().join("none"));
        assert_eq!((none.look(), none.refusal()), (None, None));
        let other = folder.path().join("other");
        std::fs::write(&other, [1; 200]).unwrap();
        let mut other = DisruptionWatch::begin(&other);
        assert!(other.look().is_none() && other.refusal().unwrap().contains("does not begin as"));
    }
}
