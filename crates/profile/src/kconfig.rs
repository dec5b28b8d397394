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

#[cfg(test)]
mod tests {
    use super::*;

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
