//! What only the user of a node may say about that node: paths, commands, addresses to dial. They are types of their own, so
//! that what another node may ask for can be seen to hold none of them.

use std::fmt;
use std::ops::Deref;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text of one of these kinds.
macro_rules! local_text {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

local_text! {
    /// A path on the node that carries the request out.
    LocalPath
}

local_text! {
    /// A GPIO line of the node that carries the request out: `CHIP/LINE`, the chip by its name or the path of its device, the line by
    /// its number or the name that the board gives it.
    LocalLine
}

local_text! {
    /// A command line that the node which carries the request out starts through the shell.
    LocalCommand
}

local_text! {
    /// An address or a name that the node which carries the request out connects to.
    LocalAddress
}

impl AsRef<Path> for LocalPath {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}
