//! Holds a document against its JSON Schema, as far as the schemas of this crate go.

use serde_json::Value;

/// What of a value the schema does not allow or does not name; empty if all is as it says.
pub(crate) fn against(root: &Value, value: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    check(root, root, value, "", &mut wrong);
    wrong
}

/// The schemas that apply to the same value: what is referred to, and each of `allOf`.
fn all_of<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let mut found = vec![schema];
    let of = schema["$ref"].as_str().and_then(|path| root.pointer(path.trim_start_matches('#')));
    found.extend(of.into_iter().flat_map(|schema| all_of(root, schema)));
    found.extend(schema["allOf"].as_array().into_iter().flatten().flat_map(|schema| all_of(root, schema)));
    found
}

fn check<'a>(root: &'a Value, schema: &'a Value, value: &Value, path: &str, wrong: &mut Vec<String>) {
    let schemas = all_of(root, schema);
    for schema in &schemas {
        if let Some(types) = schema.get("type") {
            let types: Vec<&str> = match types {
                Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
                one => one.as_str().into_iter().collect(),
            };
            if !types.iter().any(|of| is_of_type(value, of)) {
                wrong.push(format!("{path}: {value} is none of {types:?}"));
            }
        }
        if schema.get("const").is_some_and(|only| only != value) {
            wrong.push(format!("{path}: {value} is not {}", schema["const"]));
        }
        if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
            wrong.push(format!("{path}: {value} is none of {}", schema["enum"]));
        }
        for choices in ["oneOf", "anyOf"].iter().filter_map(|name| schema[name].as_array()) {
            let fits = |choice: &&Value| {
                let mut wrong = Vec::new();
                check(root, choice, value, path, &mut wrong);
                wrong.is_empty()
            };
            if !choices.iter().any(|choice| fits(&choice)) {
                wrong.push(format!("{path}: {value} fits no choice"));
            }
        }
        let missing = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for name in missing.filter(|name| value.get(name).is_none()) {
            wrong.push(format!("{path}: lacks {name}"));
        }
        let items = value.as_array().filter(|_| schema.get("items").is_some());
        for (at, item) in items.into_iter().flatten().enumerate() {
            check(root, &schema["items"], item, &format!("{path}/{at}"), wrong);
        }
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        // Of a map every name is allowed.
        let of = |schema: &'a Value| schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        let named: Vec<&Value> = schemas.iter().copied().filter_map(of).collect();
        let is_choice = schemas.iter().any(|schema| schema.get("oneOf").or_else(|| schema.get("anyOf")).is_some());
        if named.is_empty() && !is_choice {
            wrong.push(format!("{path}: the schema does not name it"));
        }
        for schema in named {
            check(root, schema, field, &path, wrong);
        }
    }
}

fn is_of_type(value: &Value, of: &str) -> bool {
    match of {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
