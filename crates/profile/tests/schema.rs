//! The published JSON Schema is the one that the types yield.

use std::path::Path;

use profile::{Profile, SCHEMA, SCHEMA_VERSION};

/// `PUNCTUAL_UPDATE=1 cargo test -p punctual-profile --test schema` writes the file anew.
#[test]
fn the_committed_schema_is_the_types_own() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schema/profile-{SCHEMA_VERSION}.json"));
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Profile)).unwrap() + "\n";
    if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &schema).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == schema,
        "{} is not what the types say; where the change is wanted and older profiles stay readable, \
         run the test once with PUNCTUAL_UPDATE=1, else raise SCHEMA_VERSION",
        path.display()
    );
}

#[test]
fn a_profile_says_its_form_and_reads_back() {
    let profile = Profile::default();
    let text = serde_json::to_string(&profile).unwrap();
    assert!(text.starts_with(&format!("{{\"schema\":\"{SCHEMA}\",\"schema_version\":{SCHEMA_VERSION},")), "{text}");
    assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
    // A form without a part that came later reads as unknown.
    assert_eq!(serde_json::from_str::<Profile>("{}").unwrap(), profile);
}
