use std::path::{Path, PathBuf};
use std::process::ExitCode;

use store::{Change, Store as _};
use terminal::output;

use super::{by, open};
use crate::certificates;
use crate::keys::{Keys, hexadecimal};

/// Prints the certificates of the agents' port; or changes to the next one, where the present one's key may be known to others
#[derive(Debug, clap::Args)]
pub(super) struct CertificateArgs {
    /// Change to the next certificate, which nodes have been told of; the hub has it from its next start on
    #[arg(long)]
    change: bool,
    /// The next certificate's key, where it was moved to [default: keep-apart/agents-next.key in the hub's folder]
    #[arg(long, value_name = "FILE", requires = "change")]
    key: Option<PathBuf>,
}

impl CertificateArgs {
    pub(super) fn run(self, folder: &Path) -> anyhow::Result<ExitCode> {
        let (folder, mut store) = open(folder)?;
        let keys = Keys::load_or_make(&folder)?;
        if !self.change {
            let steps = keys.steps.len();
            output::data(&format!(
                "present {}\nnext    {}\nchanged {steps} times\n",
                hexadecimal(keys.agents.fingerprint()),
                hexadecimal(keys.next)
            ));
            return Ok(ExitCode::SUCCESS);
        }
        let changed = certificates::change(&folder, keys.hub(), self.key.as_deref())?;
        // Tokens name the certificate of before.
        let by = by();
        let ended = store.end_all_tokens(&by)?;
        store.log_of_hub(&Change::CertificateChanged { present: changed.present, next: changed.next }, &by)?;
        output::data(&format!("present {}\nnext    {}\n", changed.present, changed.next));
        output::note("restart the hub ('punctual-hub serve'): until then it has the certificate of before");
        output::note(&format!(
            "the key of the one that comes next lies in {}: move it to where a thief of the hub's folder does not find it",
            changed.next_key.display()
        ));
        if ended > 0 {
            let tokens = if ended == 1 { "1 token".to_owned() } else { format!("{ended} tokens") };
            output::note(&format!("ended {tokens}, not used so far, with the certificate of before in it"));
        }
        output::note("make a backup ('punctual-hub backup')");
        Ok(ExitCode::SUCCESS)
    }
}
