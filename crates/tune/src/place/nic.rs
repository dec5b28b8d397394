//! Single settings of network drivers, of the running machine or of what a capture kept of ethtool's answers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kernel::ethtool::{self, ChannelField, CoalesceField, Ethtool, RingField};
use knobs::{Order, Reading, Value};

use super::file::replace;
use super::{Access, Files};

/// ENODEV, EOPNOTSUPP: no such interface, or its driver does not know this.
const NO_ANSWER: [i32; 2] = [19, 95];

/// One field of what ethtool asks a driver for.
pub(super) struct Setting<'a> {
    pub(super) path: &'a str,
    pub(super) field: &'a str,
}

impl Access for Setting<'_> {
    fn read(&self, files: &Files) -> Reading {
        if files.is_live() {
            read_live(self.path, self.field)
        } else {
            read_captured(&files.prefix, self.path, self.field)
        }
    }

    fn write(&self, files: &Files, order: &Order) -> io::Result<()> {
        let value = order.value();
        match value {
            Value::Text(text) if files.is_live() => write_live(self.path, self.field, text),
            Value::Text(text) => write_captured(&files.prefix, self.path, self.field, text),
            Value::Absent => Ok(()),
        }
    }
}

/// One field: how the kernel is asked for it, and where a capture has it.
struct Field {
    name: &'static str,
    setting: ethtool::Setting,
    /// The object and the key in `punctual/ethtool/NAME.json`.
    captured: [&'static str; 2],
}

const fn field(name: &'static str, setting: ethtool::Setting, captured: [&'static str; 2]) -> Field {
    Field { name, setting, captured }
}

const FIELDS: &[Field] = &[
    field("rx-usecs", ethtool::Setting::Coalesce(CoalesceField::RxUs), ["coalescing", "rx_us"]),
    field("rx-frames", ethtool::Setting::Coalesce(CoalesceField::RxFrames), ["coalescing", "rx_frame_count"]),
    field("tx-usecs", ethtool::Setting::Coalesce(CoalesceField::TxUs), ["coalescing", "tx_us"]),
    field("tx-frames", ethtool::Setting::Coalesce(CoalesceField::TxFrames), ["coalescing", "tx_frame_count"]),
    field("adaptive-rx", ethtool::Setting::Coalesce(CoalesceField::AdaptiveRx), ["coalescing", "adaptive_rx"]),
    field("adaptive-tx", ethtool::Setting::Coalesce(CoalesceField::AdaptiveTx), ["coalescing", "adaptive_tx"]),
    field("ring-rx", ethtool::Setting::Ring(RingField::Rx), ["rings", "rx_count"]),
    field("ring-tx", ethtool::Setting::Ring(RingField::Tx), ["rings", "tx_count"]),
    field("channels-rx", ethtool::Setting::Channels(ChannelField::Rx), ["channels", "rx_count"]),
    field("channels-tx", ethtool::Setting::Channels(ChannelField::Tx), ["channels", "tx_count"]),
    field("channels-combined", ethtool::Setting::Channels(ChannelField::Combined), ["channels", "combined_count"]),
    field("eee", ethtool::Setting::EnergyEfficient, ["energy_efficient", "enabled"]),
];

fn find(name: &str) -> io::Result<&'static Field> {
    FIELDS.iter().find(|field| field.name == name).ok_or_else(|| io::Error::other(format!("no setting {name}")))
}

/// The interface of its place, `/sys/class/net/eth0`.
fn interface(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What stands in `field`, or in the bound of one, `ring-rx-max`.
fn read_live(path: &str, field: &str) -> Reading {
    let interface = interface(path);
    let read = || -> io::Result<u32> {
        let driver = Ethtool::open()?;
        Ok(match field {
            "ring-rx-max" => driver.rings(interface)?.rx_max_count,
            "ring-tx-max" => driver.rings(interface)?.tx_max_count,
            "channels-rx-max" => driver.channels(interface)?.rx_max_count,
            "channels-tx-max" => driver.channels(interface)?.tx_max_count,
            "channels-combined-max" => driver.channels(interface)?.combined_max_count,
            _ => driver.setting(interface, find(field)?.setting)?,
        })
    };
    match read() {
        Ok(number) => Reading::Is(Value::text(number.to_string())),
        Err(error) if error.raw_os_error().is_some_and(|code| NO_ANSWER.contains(&code)) => Reading::Missing,
        Err(error) => Reading::Failed(error.to_string()),
    }
}

fn write_live(path: &str, field: &str, text: &str) -> io::Result<()> {
    let number = text.trim().parse().map_err(io::Error::other)?;
    Ethtool::open()?.set(interface(path), find(field)?.setting, number)
}

fn captured(prefix: &Path, path: &str) -> PathBuf {
    prefix.join(format!("punctual/ethtool/{}.json", interface(path)))
}

fn answers(prefix: &Path, path: &str) -> io::Result<serde_json::Value> {
    serde_json::from_slice(&fs::read(captured(prefix, path))?).map_err(io::Error::other)
}

/// Where a capture has a field: `rx_count` is bounded by `rx_max_count`.
fn keys(field: &str) -> io::Result<[String; 2]> {
    let [object, key] = find(field.strip_suffix("-max").unwrap_or(field))?.captured;
    let key = if field.ends_with("-max") { key.replace("_count", "_max_count") } else { key.to_owned() };
    Ok([object.to_owned(), key])
}

/// The same of a tree that a capture made.
fn read_captured(prefix: &Path, path: &str, field: &str) -> Reading {
    let read = || -> io::Result<Option<String>> {
        let [object, key] = keys(field)?;
        Ok(match &answers(prefix, path)?[object][key] {
            serde_json::Value::Bool(on) => Some(u8::from(*on).to_string()),
            serde_json::Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    };
    match read() {
        Ok(Some(text)) => Reading::Is(Value::Text(text)),
        Ok(None) => Reading::Missing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Reading::Missing,
        Err(error) => Reading::Failed(error.to_string()),
    }
}

fn write_captured(prefix: &Path, path: &str, field: &str, text: &str) -> io::Result<()> {
    let number: u32 = text.trim().parse().map_err(io::Error::other)?;
    let [object, key] = keys(field)?;
    let before = &answers(prefix, path)?[object.as_str()][key.as_str()];
    let value = if before.is_boolean() { (number != 0).to_string() } else { number.to_string() };
    let file = captured(prefix, path);
    let mut text = fs::read_to_string(&file)?;
    // In its place, so that all else stays as it was written.
    let after = |text: &str, name: &str, from: usize| {
        let quoted = format!("\"{name}\"");
        text[from..].find(&quoted).map(|at| from + at + quoted.len())
    };
    let at = after(&text, &object, 0).and_then(|from| after(&text, &key, from));
    let start = at.and_then(|at| text[at..].find(|c: char| c.is_ascii_alphanumeric()).map(|more| at + more));
    let start = start.ok_or_else(|| io::Error::other(format!("{} has no {object}.{key}", file.display())))?;
    let length = text[start..].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(0);
    text.replace_range(start..start + length, &value);
    replace(&file, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_that_ethtool_sets_has_its_field() {
        for knob in knobs::catalogue::all().filter(|knob| knob.how == knobs::catalogue::How::Ethtool) {
            assert!(find(knob.name).is_ok(), "{}", knob.name);
        }
    }

    #[test]
    fn a_capture_is_changed_in_one_field_and_back() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("punctual/ethtool")).unwrap();
        let file = tree.path().join("punctual/ethtool/eth0.json");
        let before =
            "{\n  \"z\": {\"rx_us\": 1},\n  \"coalescing\": {\n    \"rx_us\": 3,\n    \"adaptive_rx\": true\n  }\n}\n";
        fs::write(&file, before).unwrap();
        let path = "/sys/class/net/eth0";
        for (field, was, to) in [("adaptive-rx", "1", "0"), ("rx-usecs", "3", "0")] {
            let read = || read_captured(tree.path(), path, field);
            assert_eq!(read(), Reading::Is(Value::text(was)));
            write_captured(tree.path(), path, field, to).unwrap();
            assert_eq!(read(), Reading::Is(Value::text(to)));
            write_captured(tree.path(), path, field, was).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), before);
        }
        assert_eq!(read_captured(tree.path(), path, "ring-rx"), Reading::Missing);
        assert_eq!(read_captured(tree.path(), "/sys/class/net/eth9", "rx-usecs"), Reading::Missing);
    }
}
