//! What makes the service manager apply an intent at each start of the machine.

use crate::wanted::{Demand, Group, Wanted};
use crate::{Form, Intent, Place, Value};

const INTENT: &str = "/etc/punctual/tune.toml";
const UNIT: &str = "/etc/systemd/system/punctual-tune.service";
/// Instead of the symbolic link that `systemctl enable` would make: a file that can be read and reverted like any other.
const WANTS: &str = "/etc/systemd/system/multi-user.target.d/50-punctual-tune.conf";

const CAMPAIGN_UNIT: &str = "/etc/systemd/system/punctual-campaign.service";
const CAMPAIGN_WANTS: &str = "/etc/systemd/system/multi-user.target.d/50-punctual-campaign.conf";

/// Whether a place is one of these.
pub(crate) fn is_place(place: &Place) -> bool {
    let files = [INTENT, UNIT, WANTS, CAMPAIGN_UNIT, CAMPAIGN_WANTS];
    matches!(place, Place::File { path } if files.contains(&path.as_str()))
}

/// Whether a folder is there for our files alone, and goes when it is empty.
#[must_use]
pub fn is_own_folder(path: &str) -> bool {
    [INTENT, WANTS, CAMPAIGN_WANTS].iter().any(|file| file.rsplit_once('/').is_some_and(|(folder, _)| folder == path))
}

/// The files that make it so; `program` is the path of this program.
#[must_use]
pub fn persist(intent: &Intent, program: &str) -> Demand {
    let wants = "[Unit]\nWants=punctual-tune.service\n".to_owned();
    let mut demand = Demand::default();
    demand.conflicts.extend(odd_path("the path of this program", program, "install it as /usr/local/bin/punctual"));
    let why = "the service manager applies this intent at each start of the machine";
    demand.wanted = vec![
        file("persist.intent", INTENT, intent.to_toml(), why),
        file("persist.unit", UNIT, unit(program), why),
        file("persist.wants", WANTS, wants, why),
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

fn file(knob: &str, path: &str, text: String, why: &str) -> Wanted {
    Wanted {
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
fn unit(program: &str) -> String {
    format!(
        "# Written by 'punctual tune persist'; 'punctual tune revert' takes it back.\n\
         [Unit]\n\
         Description=Settings for acting on time ({INTENT})\n\
         Documentation=man:punctual-tune(1)\n\
         After=systemd-sysctl.service systemd-modules-load.service tuned.service irqbalance.service\n\
         RequiresMountsFor=/var/lib/punctual\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart={program} tune apply {INTENT}\n\
         StateDirectory=punctual/tune\n\
         RuntimeDirectory=punctual\n\
         RuntimeDirectoryPreserve=yes\n\
         ProtectSystem=strict\n\
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
        let demand = persist(&Intent::default(), "/usr/local/bin/punctual");
        assert!(demand.conflicts.is_empty());
        assert!(demand.wanted.iter().all(|wanted| wanted.place.is_known() && wanted.place.outlives_boot()));
        assert!(unit("/p").contains("ExecStart=/p tune apply /etc/punctual/tune.toml\n"));
        assert_eq!(persist(&Intent::default(), "/home/a b/punctual").conflicts.len(), 1);
        assert_eq!(persist(&Intent::default(), "/opt/100%/punctual").conflicts.len(), 1);
        let demand = resume_at_start("/root/c", "/usr/local/bin/punctual");
        assert!(demand.conflicts.is_empty());
        assert!(demand.wanted.iter().all(|wanted| wanted.place.is_known() && wanted.place.outlives_boot()));
        assert_eq!(resume_at_start("/root/my campaign", "/p").conflicts.len(), 1);
    }
}
