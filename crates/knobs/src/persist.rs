//! What makes the service manager apply an intent at each start of the machine.

use crate::demand::{Demand, Group, RequiredSetting};
use crate::{Form, Intent, Place, Value, time};

/// The command that settings belong to: each has a journal of its own, and takes back its own alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// `punctual tune`: settings of any kind.
    Tune,
    /// `punctual sync`: time services.
    Sync,
}

impl Owner {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Tune, Self::Sync];

    const fn word(self) -> &'static str {
        match self {
            Self::Tune => "tune",
            Self::Sync => "sync",
        }
    }

    /// The command as it is typed.
    #[must_use]
    pub const fn command(self) -> &'static str {
        match self {
            Self::Tune => "punctual tune",
            Self::Sync => "punctual sync",
        }
    }

    /// Folder of its journal, below the machine's root.
    #[must_use]
    pub fn journal_folder(self) -> String {
        format!("var/lib/punctual/{}", self.word())
    }

    /// The intent that the service manager applies at each start.
    fn intent_path(self) -> String {
        format!("/etc/punctual/{}.toml", self.word())
    }

    fn unit(self) -> String {
        format!("punctual-{}.service", self.word())
    }

    fn unit_path(self) -> String {
        format!("/etc/systemd/system/{}", self.unit())
    }

    /// Instead of the symbolic link that `systemctl enable` would make: a file that can be read and reverted like any other.
    fn wants_path(self) -> String {
        format!("/etc/systemd/system/multi-user.target.d/50-punctual-{}.conf", self.word())
    }

    fn paths(self) -> [String; 3] {
        [self.intent_path(), self.unit_path(), self.wants_path()]
    }
}

const CAMPAIGN_UNIT: &str = "/etc/systemd/system/punctual-campaign.service";
const CAMPAIGN_WANTS: &str = "/etc/systemd/system/multi-user.target.d/50-punctual-campaign.conf";

/// Whether a place is one of these.
pub(crate) fn is_place(place: &Place) -> bool {
    let Place::File { path } = place else { return false };
    [CAMPAIGN_UNIT, CAMPAIGN_WANTS].contains(&path.as_str())
        || Owner::ALL.iter().any(|owner| owner.paths().contains(path))
}

/// Whether a folder is there for our files alone, and goes when it is empty.
#[must_use]
pub fn is_own_folder(path: &str) -> bool {
    let is_of = |file: &str| file.rsplit_once('/').is_some_and(|(folder, _)| folder == path);
    path == time::FOLDER
        || is_of(CAMPAIGN_WANTS)
        || Owner::ALL.iter().any(|owner| is_of(&owner.intent_path()) || is_of(&owner.wants_path()))
}

/// The files that make it so for the intent of a command; `program` is the path of this program.
#[must_use]
pub fn persist(intent: &Intent, program: &str, owner: Owner) -> Demand {
    let wants = format!(
        "[Unit]
Wants={}
",
        owner.unit()
    );
    let mut demand = Demand::default();
    demand.conflicts.extend(odd_path("the path of this program", program, "install it as /usr/local/bin/punctual"));
    let why = "the service manager applies this intent at each start of the machine";
    demand.wanted = vec![
        file("persist.intent", &owner.intent_path(), intent.to_toml(), why),
        file("persist.unit", &owner.unit_path(), unit(program, intent, owner), why),
        file("persist.wants", &owner.wants_path(), wants, why),
    ];
    demand
}

/// The files by which the service manager goes on with a campaign at the next start of the machine; `folder` is the
/// campaign's.
#[must_use]
pub fn resume_at_start(folder: &str, program: &str) -> Demand {
    let unit = format!(
        "# Written by 'punctual campaign run'; it goes when the campaign ends.\n\
         [Unit]\n\
         Description=A campaign of measurements goes on ({folder})\n\
         Documentation=man:punctual-campaign(1)\n\
         After=multi-user.target\n\
         RequiresMountsFor=/var/lib/punctual {folder}\n\
         \n\
         [Service]\n\
         ExecStart={program} campaign resume {folder}\n\
         KillMode=mixed\n\
         TimeoutStopSec=60\n"
    );
    let mut demand = Demand::default();
    let program = odd_path("the path of this program", program, "install it as /usr/local/bin/punctual");
    demand.conflicts.extend(program.into_iter().chain(odd_path("the campaign's folder", folder, "name another by -o")));
    let why = "the service manager goes on with the campaign at the next start of the machine";
    let wants = "[Unit]\nWants=punctual-campaign.service\n".to_owned();
    demand.wanted =
        vec![file("campaign.unit", CAMPAIGN_UNIT, unit, why), file("campaign.wants", CAMPAIGN_WANTS, wants, why)];
    demand
}

fn odd_path(what: &str, path: &str, remedy: &str) -> Option<crate::Conflict> {
    path.contains(|c: char| c.is_whitespace() || c.is_control() || "\"'\\%$".contains(c)).then(|| crate::Conflict {
        about: "systemd".to_owned(),
        why: format!("{what}, {path}, has characters that mean something else in a unit"),
        remedy: remedy.to_owned(),
    })
}

fn file(knob: &str, path: &str, text: String, why: &str) -> RequiredSetting {
    RequiredSetting {
        knob: knob.to_owned(),
        of: String::new(),
        place: Place::File { path: path.to_owned() },
        form: Form::Text,
        value: Value::Text(text),
        group: Group::Boot,
        why: why.to_owned(),
        cost: String::new(),
        may_refuse: false,
        is_named: true,
        in_new_folder: false,
    }
}

/// With no more rights than writing kernel settings takes (systemd.exec(5)).
fn unit(program: &str, intent: &Intent, owner: Owner) -> String {
    let (command, word, path) = (owner.command(), owner.word(), owner.intent_path());
    // What writes units, and stops services that are begun at the start as well.
    let (more_after, writes) = match &intent.time {
        Some(_) => (
            " network.target chrony.service chronyd.service systemd-timesyncd.service ntpsec.service ntp.service",
            "ReadWritePaths=/run/systemd/system\n",
        ),
        None => ("", ""),
    };
    format!(
        "# Written by '{command} persist'; '{command} revert' takes it back.\n\
         [Unit]\n\
         Description=Settings for acting on time ({path})\n\
         Documentation=man:punctual-{word}(1)\n\
         After=systemd-sysctl.service systemd-modules-load.service tuned.service irqbalance.service{more_after}\n\
         RequiresMountsFor=/var/lib/punctual\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart={program} {word} apply {path}\n\
         StateDirectory=punctual/{word}\n\
         RuntimeDirectory=punctual\n\
         RuntimeDirectoryPreserve=yes\n\
         ProtectSystem=strict\n\
         {writes}\
         ProtectHome=read-only\n\
         PrivateTmp=yes\n\
         NoNewPrivileges=yes\n\
         MemoryDenyWriteExecute=yes\n\
         RestrictNamespaces=yes\n\
         RestrictRealtime=yes\n\
         RestrictSUIDSGID=yes\n\
         LockPersonality=yes\n\
         SystemCallArchitectures=native\n\
         RestrictAddressFamilies=AF_UNIX AF_INET\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_places_are_ours_and_a_strange_path_is_refused() {
        let demand = persist(&Intent::default(), "/usr/local/bin/punctual", Owner::Tune);
        assert!(demand.conflicts.is_empty());
        assert!(demand.wanted.iter().all(|wanted| wanted.place.is_known() && wanted.place.outlives_boot()));
        let of_tune = unit("/p", &Intent::default(), Owner::Tune);
        assert!(
            of_tune.contains("ExecStart=/p tune apply /etc/punctual/tune.toml\n")
                && !of_tune.contains("ReadWritePaths")
        );
        // A time service's unit is written at each start, after those that it stops.
        let time = Some(time::TimeIntent::new(time::TimeProfile::Gptp));
        let of_sync = unit("/p", &Intent { time, ..Intent::default() }, Owner::Sync);
        assert!(of_sync.contains("ExecStart=/p sync apply /etc/punctual/sync.toml\n"));
        assert!(of_sync.contains("\nReadWritePaths=/run/systemd/system\n") && of_sync.contains(" chrony.service "));
        assert_eq!(persist(&Intent::default(), "/home/a b/punctual", Owner::Tune).conflicts.len(), 1);
        assert_eq!(persist(&Intent::default(), "/opt/100%/punctual", Owner::Sync).conflicts.len(), 1);
        let demand = resume_at_start("/root/c", "/usr/local/bin/punctual");
        assert!(demand.conflicts.is_empty());
        assert!(demand.wanted.iter().all(|wanted| wanted.place.is_known() && wanted.place.outlives_boot()));
        assert_eq!(resume_at_start("/root/my campaign", "/p").conflicts.len(), 1);
    }
}
