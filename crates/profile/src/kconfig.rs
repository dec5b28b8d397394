//! The kernel's configuration.

use std::collections::BTreeMap;

/// Reads a `.config` text: `CONFIG_X=value`, and `# CONFIG_X is not set` as `n`.
///
/// Quotes around strings are dropped. Lines that are neither are passed over.
#[must_use]
pub fn parse(text: &str) -> BTreeMap<String, String> {
    let mut config = BTreeMap::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("# ") {
            if let Some(name) = rest.strip_suffix(" is not set").filter(|name| name.starts_with("CONFIG_")) {
                config.insert(name.to_owned(), "n".to_owned());
            }
        } else if let Some((name, value)) = line.split_once('=').filter(|(name, _)| name.starts_with("CONFIG_")) {
            config.insert(name.to_owned(), value.trim_matches('"').to_owned());
        }
    }
    config
}

/// The same text without options that identify the machine that built the kernel, or the one that runs it.
#[must_use]
pub fn reduce(text: &str) -> String {
    const PRIVATE: [&str; 7] = [
        "CONFIG_BUILD_SALT",
        "CONFIG_CMDLINE",
        "CONFIG_DEFAULT_HOSTNAME",
        "CONFIG_EXTRA_FIRMWARE_DIR",
        "CONFIG_INITRAMFS_SOURCE",
        "CONFIG_MODULE_SIG_KEY",
        "CONFIG_SYSTEM_TRUSTED_KEYS",
    ];
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        match line.split_once('=') {
            Some((name, value)) if PRIVATE.contains(&name) && value != "\"\"" => {
                out.push_str(name);
                out.push_str("=\"hidden\"");
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builder_is_not_told() {
        let text = "CONFIG_HZ=250\nCONFIG_SYSTEM_TRUSTED_KEYS=\"/home/me/key.pem\"\nCONFIG_CMDLINE=\"\"\n";
        let reduced = "CONFIG_HZ=250\nCONFIG_SYSTEM_TRUSTED_KEYS=\"hidden\"\nCONFIG_CMDLINE=\"\"\n";
        assert_eq!(reduce(text), reduced);
        assert_eq!(reduce(reduced), reduced);
    }

    #[test]
    fn set_unset_and_strings() {
        let config = parse(
            "# Linux/x86\nCONFIG_HZ=1000\n# CONFIG_NO_HZ_FULL is not set\nCONFIG_LOCALVERSION=\"-rt1\"\nrubbish\n",
        );
        assert_eq!(config.get("CONFIG_HZ").map(String::as_str), Some("1000"));
        assert_eq!(config.get("CONFIG_NO_HZ_FULL").map(String::as_str), Some("n"));
        assert_eq!(config.get("CONFIG_LOCALVERSION").map(String::as_str), Some("-rt1"));
        assert_eq!(config.len(), 3);
    }
}
