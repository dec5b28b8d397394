//! Parameters of the kernel's command line, and how boot loaders are told them.

use profile::Profile;
use profile::cmdline::{self, Param};
use units::CpuSet;

use crate::Place;

/// A boot loader whose configuration is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loader {
    /// GRUB with Debian's `update-grub`, which reads `/etc/default/grub.d/*.cfg` after the user's own file.
    GrubDropIn,
}

/// Our file beside the user's own GRUB settings: read last, so that ours is added to whatever stands there.
const GRUB_DROP_IN: &str = "/etc/default/grub.d/95-punctual.cfg";

impl Loader {
    /// Where the parameters stand.
    #[must_use]
    pub fn place(self) -> Place {
        match self {
            Self::GrubDropIn => Place::File { path: GRUB_DROP_IN.to_owned() },
        }
    }

    /// The file's content for these parameters, which have no quotes in them.
    #[must_use]
    pub fn content(self, parameters: &[String]) -> String {
        match self {
            Self::GrubDropIn => format!(
                "# Written by 'punctual tune'; 'punctual tune revert' takes it back.\n\
                 GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {}\"\n",
                parameters.join(" ")
            ),
        }
    }

    /// The parameters of a content of ours.
    #[must_use]
    pub fn parameters(self, content: &str) -> Vec<String> {
        let line = content.lines().find_map(|line| line.strip_prefix("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX "));
        let words = line.and_then(|line| line.strip_suffix('"')).unwrap_or_default();
        words.split_ascii_whitespace().map(str::to_owned).collect()
    }

    /// What makes the boot loader's own configuration of it.
    #[must_use]
    pub const fn command(self) -> &'static [&'static str] {
        match self {
            Self::GrubDropIn => &["update-grub"],
        }
    }
}

/// The parameters that set CPUs apart.
pub(crate) fn isolating(cpus: &CpuSet, rest: &CpuSet, profile: &Profile) -> Vec<String> {
    let mut parameters = vec![format!("isolcpus=managed_irq,domain,{cpus}")];
    // Unknown is not off: then the kernel is asked, and ignores what it cannot do.
    if profile.kernel.has_config("CONFIG_NO_HZ_FULL") != Some(false) {
        parameters.push(format!("nohz_full={cpus}"));
    }
    if profile.kernel.has_config("CONFIG_RCU_NOCB_CPU") != Some(false) {
        parameters.push(format!("rcu_nocbs={cpus}"));
    }
    parameters.push(format!("irqaffinity={rest}"));
    parameters
}

/// A parameter on the running kernel's command line that is also among ours, with another value, and that does not stand
/// in our own file.
pub(crate) fn given_elsewhere(wanted: &[String], in_our_file: &[String], profile: &Profile) -> Option<String> {
    let name = |text: &str| text.split('=').next().unwrap_or(text).to_owned();
    let others = profile.kernel.params.iter().map(Param::text).filter(|text| !in_our_file.contains(text));
    let mut others = others.filter(|text| !wanted.contains(text));
    others.find(|text| wanted.iter().any(|ours| cmdline::same_name(&name(ours), &name(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_ours_reads_back() {
        let parameters = vec!["isolcpus=managed_irq,domain,2-3".to_owned(), "nohz_full=2-3".to_owned()];
        let loader = Loader::GrubDropIn;
        assert_eq!(loader.parameters(&loader.content(&parameters)), parameters);
        assert_eq!(loader.parameters("GRUB_CMDLINE_LINUX=\"quiet\"\n"), Vec::<String>::new());
    }

    #[test]
    fn what_others_gave_is_noticed_and_what_we_gave_is_not() {
        let mut profile = Profile::default();
        profile.kernel.params = cmdline::parse("quiet isolcpus=1 nohz_full=2-3");
        let wanted = ["isolcpus=managed_irq,domain,2-3".to_owned(), "nohz-full=2-3".to_owned()];
        assert_eq!(given_elsewhere(&wanted, &[], &profile), Some("isolcpus=1".to_owned()));
        assert_eq!(given_elsewhere(&wanted[1..], &["nohz_full=2-3".to_owned()], &profile), None);
        assert_eq!(given_elsewhere(&wanted[1..], &[], &profile), Some("nohz_full=2-3".to_owned()));
        assert_eq!(given_elsewhere(&["nohz_full=2-3".to_owned()], &[], &profile), None);
    }
}
