//! What belongs to the node that carries a request out, and not to the request.

use std::path::Path;

use measure::Machine;
use record::Live;

use crate::partner::Part;
use crate::policy::Anyway;

/// This node's own part in a run.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The machine as it was read.
    pub machine: &'a Machine,
    /// This program's own file: a load, and a program that is followed, are guarded by processes that it starts from it.
    pub own_program: &'a Path,
    /// Whether a run is made that is known to be invalid before it begins.
    pub anyway: Anyway<'a>,
    /// This node's part in a run of two nodes. `None`: it asks for the run, with the threads and stamps of the request.
    pub part: Option<&'a Part>,
}

/// Who sees a run while it goes on: called a few times a second, never on a measured CPU where there is another, but for the
/// cost of reading clocks, which is shown between two blocks of readings.
pub trait Watch: Send {
    /// All is armed, the partner of a run of two nodes is ready, and the first schedule is next.
    fn begins(&mut self) {}
    /// The run so far.
    fn live(&mut self, so_far: &Live);
    /// Whether bins are looked at: they cost the drain some time.
    fn wants_bins(&self) -> bool {
        false
    }
}

/// A run that nobody looks at while it goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unseen;

impl Watch for Unseen {
    fn live(&mut self, _: &Live) {}
}
