//! Sets an interface to stamp packets for a run, and back afterwards, however this process ends: another process waits for that.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use kernel::ethtool::Ethtool;

/// The hidden command that this program starts itself with.
pub const RESTORER_COMMAND: &str = "__hardware-stamps";
/// Said once the interface is set, with what the driver made of it.
const READY: &str = "ready";

/// An interface that is set for a run; it is set back as this goes.
#[derive(Debug)]
pub(super) struct SetForRun {
    restorer: Child,
}

impl SetForRun {
    /// Sets an interface that stamps nothing: flags, sent packets, received packets, as the kernel's `struct hwtstamp_config` has
    /// them. Also gives what the driver made of it.
    pub(super) fn set(interface: &str, config: [i32; 3]) -> io::Result<(Self, [i32; 3])> {
        let mut command = Command::new("/proc/self/exe");
        command.arg(RESTORER_COMMAND).arg(interface).args(config.map(|number| number.to_string()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut restorer = command.spawn()?;
        let mut said = String::new();
        let _ = BufReader::new(restorer.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?).read_line(&mut said);
        let set = Self { restorer };
        match (said.trim().strip_prefix(READY), said.trim()) {
            (Some(numbers), _) => Ok((set, parse(numbers.split_whitespace().map(str::to_owned))?)),
            (None, "") => Err(io::Error::other("the process that sets it back ended")),
            (None, why) => Err(io::Error::other(why.to_owned())),
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> io::Result<[i32; 3]> {
    let mut numbers = [0; 3];
    for number in &mut numbers {
        *number = words
            .next()
            .and_then(|word| word.parse().ok())
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    }
    Ok(numbers)
}

impl Drop for SetForRun {
    fn drop(&mut self) {
        // It sets the interface back once its standard input is closed.
        drop(self.restorer.stdin.take());
        let _ = self.restorer.wait();
    }
}

/// The other process: sets the interface, waits until its standard input is closed, and sets it back.
///
/// # Errors
/// Where it cannot say what came of it.
pub fn restore() -> io::Result<()> {
    // What stops the terminal's programs, or ends them, does not reach it.
    kernel::process::start_session();
    kernel::signals::block_all_but_watchdog();
    let mut words = std::env::args().skip(2);
    let interface = words.next().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let config = parse(words)?;
    let set = set(&interface, config);
    let said = match &set {
        Ok(made) => format!("{READY} {}", made.map(|number| number.to_string()).join(" ")),
        Err(error) => error.to_string(),
    };
    // A controller that is gone already is no reason to leave the interface as it is.
    let _ = writeln!(io::stdout(), "{said}");
    if let Ok(made) = set {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        set_back(&interface, made);
    }
    Ok(())
}

/// Sets it where it stamps nothing yet.
fn set(interface: &str, config: [i32; 3]) -> io::Result<[i32; 3]> {
    let ethtool = Ethtool::open()?;
    let [_, sends, receives] = ethtool.hardware_stamping(interface)?;
    if sends != 0 || receives != 0 {
        return Err(io::Error::other("another program has just set it"));
    }
    ethtool.set_hardware_stamping(interface, config)
}

/// Sets it back, unless somebody else has set it otherwise meanwhile.
fn set_back(interface: &str, made: [i32; 3]) {
    let Ok(ethtool) = Ethtool::open() else { return };
    let [_, sends, receives] = made;
    let is_ours = ethtool
        .hardware_stamping(interface)
        .is_ok_and(|[_, now_sends, now_receives]| now_sends == sends && now_receives == receives);
    if is_ours {
        let _ = ethtool.set_hardware_stamping(interface, [0; 3]);
    }
}
