//! What several fuzz targets share: JSON that is wrong in few places, so that it reaches past the first check.

/// What inputs with a form are made of.
pub use libfuzzer_sys::arbitrary;
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use serde_json::Value;

/// Numbers at which arithmetic breaks.
const EDGES: [u64; 12] = [
    0,
    1,
    2_047,
    2_048,
    (1 << 53) + 1,
    1 << 61,
    u64::MAX / 4,
    u64::MAX / 4 + 1,
    u64::MAX / 2,
    u64::MAX / 2 + 1,
    u64::MAX - 1,
    u64::MAX,
];

/// Text that is dangerous in a page, a list of CPUs, a sentence or a table.
const TEXTS: [&str; 12] = [
    "</script><script>",
    "</ScRiPt >",
    "<!--<script>",
    "\u{2028}\u{2029}]]>",
    "&\"'",
    "0-32767",
    "0-32767:1/2",
    "",
    ": ",
    "Holds: \u{1f9ff}",
    "none",
    "invalid",
];

/// `base`, a JSON text, after the edits that `u` spells.
///
/// # Panics
/// Where `base` is no JSON.
pub fn edited(base: &str, u: &mut Unstructured<'_>) -> Result<String> {
    let mut root: Value = serde_json::from_str(base).expect("a seed is JSON");
    for _ in 0..u.int_in_range(1..=6)? {
        let mut budget = usize::try_from(u.arbitrary::<u32>()?).unwrap_or(0);
        edit(&mut root, &mut budget, u)?;
    }
    Ok(root.to_string())
}

/// Goes down to the place that `budget` numbers and changes it.
fn edit(at: &mut Value, budget: &mut usize, u: &mut Unstructured<'_>) -> Result<()> {
    let children = match at {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    let here = *budget % (children + 1);
    *budget /= children + 1;
    if here < children {
        let child = match at {
            Value::Array(items) => items.get_mut(here),
            Value::Object(fields) => fields.values_mut().nth(here),
            _ => None,
        };
        return child.map_or(Ok(()), |child| edit(child, budget, u));
    }
    change(at, u)
}

fn change(at: &mut Value, u: &mut Unstructured<'_>) -> Result<()> {
    match at {
        Value::Array(items) => match u.int_in_range(0..=2)? {
            0 => items.clear(),
            1 => drop(items.pop()),
            _ => {
                let copies = u.int_in_range(1..=4)?;
                if let Some(last) = items.last().cloned() {
                    items.extend(std::iter::repeat_n(last, copies));
                }
            }
        },
        Value::Object(fields) => {
            let name = match fields.len() {
                0 => return Ok(()),
                len => fields.keys().nth(u.choose_index(len)?).cloned().unwrap_or_default(),
            };
            fields.remove(&name);
        }
        // Most changes keep the kind, so that the text is still taken.
        Value::Number(_) => {
            *at = match u.int_in_range(0..=4)? {
                0 => Value::from(*u.choose(&EDGES)?),
                1 => Value::from(u.arbitrary::<u64>()?),
                2 => Value::from(u.arbitrary::<i64>()?),
                3 => Value::from(u.arbitrary::<f64>()?),
                _ => Value::from(u64::from(u.arbitrary::<u8>()?)),
            };
        }
        Value::String(_) => {
            *at = if u.ratio(2, 3)? { Value::from(*u.choose(&TEXTS)?) } else { Value::from(u.arbitrary::<&str>()?) };
        }
        Value::Bool(value) => *value = !*value,
        Value::Null => *at = Value::from(*u.choose(&EDGES)?),
    }
    Ok(())
}
