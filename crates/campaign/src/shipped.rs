//! Campaigns that come with the program. To add one, put a file into `shipped/` and a line here.

/// Name and TOML text of each shipped campaign.
pub const SHIPPED: [(&str, &str); 5] = [
    ("which-knob", include_str!("../shipped/which-knob.toml")),
    ("paper-2024", include_str!("../shipped/paper-2024.toml")),
    ("osadl-governor", include_str!("../shipped/osadl-governor.toml")),
    ("osadl-cstates", include_str!("../shipped/osadl-cstates.toml")),
    ("kernel-ab", include_str!("../shipped/kernel-ab.toml")),
];

/// The TOML text of a shipped campaign by its name.
#[must_use]
pub fn find(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Campaign, Choice, declared};

    #[test]
    fn each_is_valid_has_its_own_name_and_can_show_a_difference() {
        for (name, text) in SHIPPED {
            for is_short in [false, true] {
                let mut choice = Choice { is_short, ..Choice::default() };
                for (value, stands) in declared(text) {
                    let chosen = match stands.as_str() {
                        "?" => format!("6.12-{value}"),
                        "auto:isolate" | "auto:all" => "0-1".to_owned(),
                        "auto:last" => "1".to_owned(),
                        "auto:rest" => "0".to_owned(),
                        _ => continue,
                    };
                    choice.values.insert(value, chosen);
                }
                let campaign = Campaign::from_toml(text, &choice).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_eq!(campaign.name, name);
                let sight = campaign.sight().unwrap_or_else(|| panic!("{name} compares nothing"));
                let is_enough = sight.sees_worst_case() && sight.sees_body();
                // A short form only demonstrates a campaign.
                assert!(is_enough || is_short, "{name}: {:?}", sight.sentences());
            }
        }
    }
}
