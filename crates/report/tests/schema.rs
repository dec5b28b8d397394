//! Checks that the committed schema, from which the viewer's types are generated, is the one of this crate.

use report::{PageKind, VERSION, View};

/// If this environment variable is set, the tests write the committed files instead of comparing them.
const UPDATE: &str = "PUNCTUAL_UPDATE";

#[test]
fn committed_schema_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/view.schema.json");
    let mut current = serde_json::to_string_pretty(&View::json_schema()).unwrap();
    current.push('\n');
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(path, &current).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        committed, current,
        "run: {UPDATE}=1 cargo test -p punctual-report --test schema, then npm run types in web/"
    );
}

#[test]
fn the_viewer_knows_the_same_pages_routes_and_version() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/generated/pages.ts");
    let mut current = String::from(
        "// The kinds of pages, the paths under which they are served, and the version of their data: generated from \
         crates/report/src/page.rs and view.rs; do not edit by hand.\n\nimport type { View } from \"./view.d.ts\";\n\n\
         export const ROUTES: Readonly<Record<View[\"page\"][\"kind\"], string>> = {\n",
    );
    for kind in PageKind::ALL {
        current.push_str(&format!("  {}: {:?},\n", kind.name(), kind.route()));
    }
    current.push_str("};\n");
    current.push_str(&format!(
        "\n/** The version of the view that this viewer draws. */\nexport const VERSION = {VERSION};\n"
    ));
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(path, &current).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(committed, current, "run: {UPDATE}=1 cargo test -p punctual-report --test schema");
}
