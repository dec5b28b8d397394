//! Another node as users name it: `HOST[:PORT]=TOKENFILE`.

use std::path::PathBuf;
use std::str::FromStr;

use peer::Endpoint;

/// A node where `punctual listen` runs, and the file with its token.
#[derive(Clone, Debug)]
pub(crate) struct OtherNode {
    pub(crate) to: Endpoint,
    pub(crate) token_file: PathBuf,
}

impl FromStr for OtherNode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "write HOST[:PORT]=TOKENFILE, as 'punctual listen --token-file TOKENFILE' on that node printed it";
        let (to, token_file) = text.split_once('=').ok_or_else(|| format!("'{text}' names no token: {form}"))?;
        let to = Endpoint::parse(to).map_err(|error| error.to_string())?;
        if token_file.is_empty() {
            return Err(format!("'{text}' names no token: {form}"));
        }
        Ok(Self { to, token_file: PathBuf::from(token_file) })
    }
}
