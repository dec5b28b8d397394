//! Whether a document has the form that a JSON Schema states: the part of it that the hub's description uses, and nothing passes that uses
//! another part.

use serde_json::Value;

/// Words that are known, and words that only tell people something.
const WORDS: [&str; 21] = [
    "$ref",
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "oneOf",
    "anyOf",
    "allOf",
    "additionalProperties",
    "nullable",
    "minimum",
    "maximum",
    "maxItems",
    "minItems",
    "description",
    "format",
    "title",
    "default",
    "$schema",
];

/// Holds a value against a schema; `root` is the document that references are looked up in.
pub(super) fn check(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    let Some(schema) = schema.as_object() else {
        return if schema == &Value::Bool(true) { Ok(()) } else { Err("nothing is allowed".to_owned()) };
    };
    if let Some(word) = schema.keys().find(|word| !WORDS.contains(&word.as_str())) {
        return Err(format!("'{word}' of a schema is not known here"));
    }
    if value.is_null() && schema.get("nullable") == Some(&Value::Bool(true)) {
        return Ok(());
    }
    if let Some(to) = schema.get("$ref").and_then(Value::as_str) {
        let of = to.strip_prefix('#').and_then(|to| root.pointer(to)).ok_or_else(|| format!("{to} is not there"))?;
        check(value, of, root)?;
    }
    if let Some(types) = schema.get("type") {
        let named: Vec<&str> = types
            .as_array()
            .map_or_else(|| types.as_str().into_iter().collect(), |all| all.iter().filter_map(Value::as_str).collect());
        if !named.iter().any(|name| is_of(value, name)) {
            return Err(format!("{value} is no {}", named.join(" or ")));
        }
    }
    let all = |word: &str| schema.get(word).and_then(Value::as_array).map(Vec::as_slice);
    if let Some(allowed) = all("enum") {
        if !allowed.contains(value) {
            return Err(format!("{value} is none of {allowed:?}"));
        }
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return Err(format!("{value} is another value"));
    }
    for (word, is_wrong) in [("minimum", f64::lt as fn(&f64, &f64) -> bool), ("maximum", f64::gt)] {
        if let (Some(bound), Some(found)) = (schema.get(word).and_then(Value::as_f64), value.as_f64()) {
            if is_wrong(&found, &bound) {
                return Err(format!("{value} is beyond its {word}"));
            }
        }
    }
    for (word, least, most) in [("oneOf", 1, 1), ("anyOf", 1, usize::MAX), ("allOf", usize::MAX, usize::MAX)] {
        let Some(forms) = all(word) else { continue };
        let fits = forms.iter().filter(|form| check(value, form, root).is_ok()).count();
        if fits < least.min(forms.len()) || fits > most {
            return Err(format!("{value} fits {fits} of {} forms ({word})", forms.len()));
        }
    }
    if let Some(items) = value.as_array() {
        let is_beyond = |word: &str, beyond: fn(u64, u64) -> bool| {
            let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
            schema.get(word).and_then(Value::as_u64).is_some_and(|bound| beyond(count, bound))
        };
        if is_beyond("maxItems", |count, most| count > most) || is_beyond("minItems", |count, least| count < least) {
            return Err(format!("{} items", items.len()));
        }
        if let Some(form) = schema.get("items") {
            items.iter().try_for_each(|item| check(item, form, root))?;
        }
    }
    let Some(fields) = value.as_object() else { return Ok(()) };
    let lacks =
        all("required").unwrap_or_default().iter().filter_map(Value::as_str).find(|name| !fields.contains_key(*name));
    if let Some(name) = lacks {
        return Err(format!("{name} is missing"));
    }
    let known = schema.get("properties").and_then(Value::as_object);
    for (name, value) in fields {
        match (known.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
            (Some(form), _) | (None, Some(form)) => check(value, form, root).map_err(|why| format!("{name}: {why}"))?,
            // A field that nobody states is none that a reader expects.
            (None, None) if known.is_some() => return Err(format!("the field {name} is not stated")),
            (None, None) => {}
        }
    }
    Ok(())
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_of_another_form_is_named_and_an_unknown_word_lets_nothing_pass() {
        let root = json!({ "of": { "type": "object", "required": ["a"], "properties": {
            "a": { "type": "integer", "minimum": 0 },
            "b": { "type": ["string", "null"] },
            "c": { "type": "array", "items": { "oneOf": [{ "const": 1 }, { "enum": ["x"] }] } },
        } } });
        let of = |value: Value| check(&value, &json!({ "$ref": "#/of" }), &root);
        assert_eq!(of(json!({ "a": 1, "b": null, "c": [1, "x"] })), Ok(()));
        for wrong in [
            json!({}),
            json!({ "a": -1 }),
            json!({ "a": 1.5 }),
            json!({ "a": 1, "b": 2 }),
            json!({ "a": 1, "c": [2] }),
            json!({ "a": 1, "d": 2 }),
            json!([]),
        ] {
            assert!(of(wrong.clone()).is_err(), "{wrong}");
        }
        assert!(check(&json!(1), &json!({ "pattern": "x" }), &root).is_err());
        assert!(check(&json!(1), &json!({ "$ref": "#/gone" }), &root).is_err());
    }
}
