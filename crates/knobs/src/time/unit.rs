//! Units of systemd's that run the services (systemd.service(5), systemd.exec(5)).

use super::{FOLDER, TimeIntent, TimeRole, TimeSite, UNITS, chrony, ptp4l};

/// A service that is run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// PTP: messages, and the card's clock or, with stamps in software, the system clock.
    Ptp4l,
    /// The system clock and the card's clocks, of which one follows the other.
    Phc2sys,
    /// NTP: the system clock, and the answers to clients.
    Chronyd,
}

/// A file of a service: its path, and its content.
type Files = Vec<(String, String)>;

impl Service {
    pub(crate) const ALL: [Self; 3] = [Self::Ptp4l, Self::Phc2sys, Self::Chronyd];

    /// Those that an intent needs, in the order of their start.
    pub(crate) fn needed(intent: &TimeIntent, in_hardware: bool) -> Vec<Self> {
        if !intent.profile.is_ptp() {
            return vec![Self::Chronyd];
        }
        // A giver's card is told the time by the system clock, whoever steers that.
        let needs_both = in_hardware && (intent.system_clock || intent.role == TimeRole::Give);
        if needs_both { vec![Self::Ptp4l, Self::Phc2sys] } else { vec![Self::Ptp4l] }
    }

    /// Name of the program.
    pub(crate) const fn program(self) -> &'static str {
        match self {
            Self::Ptp4l => "ptp4l",
            Self::Phc2sys => "phc2sys",
            Self::Chronyd => "chronyd",
        }
    }

    /// Name of the unit.
    pub(crate) fn unit(self) -> String {
        format!("punctual-{}.service", self.program())
    }

    /// Path of the unit's file.
    pub(crate) fn unit_path(self) -> String {
        format!("{UNITS}/{}", self.unit())
    }

    /// Path of a file of configuration, if it has one of its own.
    pub(crate) fn configuration_path(self) -> Option<String> {
        (self == Self::Ptp4l).then(|| format!("{FOLDER}/ptp4l.conf"))
    }

    fn command(self, intent: &TimeIntent, in_hardware: bool, program: &str) -> String {
        let configuration = format!("{FOLDER}/ptp4l.conf");
        match self {
            Self::Ptp4l => format!("{program} -f {configuration}"),
            Self::Phc2sys => format!("{program} {}", ptp4l::phc2sys_arguments(intent, &configuration)),
            Self::Chronyd => {
                // Directives have spaces, and characters that mean something to systemd are refused before.
                let directives = chrony::directives(intent, in_hardware);
                let quoted: Vec<String> = directives.iter().map(|directive| format!("\"{directive}\"")).collect();
                format!("{program} -n {}", quoted.join(" "))
            }
        }
    }

    /// The files that it needs.
    pub(crate) fn files(self, intent: &TimeIntent, in_hardware: bool, site: &TimeSite, cpus: &str) -> Files {
        let mut files = Files::new();
        if let Some(path) = self.configuration_path() {
            files.push((path, ptp4l::configuration(intent, in_hardware, intent.known_tai_s(site))));
        }
        let program = site.program(self.program()).unwrap_or(self.program());
        let mut text = format!(
            "# Written by punctual; it goes with 'revert', or with the next start of the machine.\n\
             [Unit]\n\
             Description={} as the intent of punctual has it\n\
             Documentation=man:punctual-sync(1)\n",
            self.program()
        );
        if self == Self::Phc2sys {
            text.push_str(&format!("After={0}\nBindsTo={0}\n", Self::Ptp4l.unit()));
        }
        text.push_str(&format!(
            "\n[Service]\nType=exec\nExecStart={}\nRestart=on-failure\nRestartSec=1\n",
            self.command(intent, in_hardware, program)
        ));
        if !cpus.is_empty() {
            text.push_str(&format!("CPUAffinity={cpus}\n"));
        }
        if let Some(priority) = intent.priority {
            text.push_str(&format!("CPUSchedulingPolicy=fifo\nCPUSchedulingPriority={priority}\n"));
        }
        files.push((self.unit_path(), text));
        files
    }
}
