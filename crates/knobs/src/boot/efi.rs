//! Texts in variables of the firmware's, by which a boot loader and the system talk to each other
//! (systemd.io/BOOT_LOADER_INTERFACE; the files: Documentation/filesystems/efivarfs.rst).

use super::BootFiles;

/// Where a variable of that interface is.
macro_rules! variable {
    ($name:literal) => {
        concat!("/sys/firmware/efi/efivars/", $name, "-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")
    };
}

/// The boot loader's name and version.
pub const LOADER_INFO: &str = variable!("LoaderInfo");
/// The entry that was started.
pub const ENTRY_SELECTED: &str = variable!("LoaderEntrySelected");
/// The entry that is started unless another one is chosen; it comes before what `loader.conf` says.
pub const ENTRY_DEFAULT: &str = variable!("LoaderEntryDefault");
/// The same in newer versions, which comes first.
pub const ENTRY_PREFERRED: &str = variable!("LoaderEntryPreferred");

/// It is kept, and seen by the loader and by the system: NON_VOLATILE, BOOTSERVICE_ACCESS, RUNTIME_ACCESS.
const KEPT: [u8; 4] = [7, 0, 0, 0];

/// The text of a variable's file; `None` where that is not what is written here, with attributes of its own or more than
/// one end.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<String> {
    let text = text_of(bytes)?;
    (encode(&text) == bytes).then_some(text)
}

/// The text of a variable's file, whatever its attributes are.
#[must_use]
pub fn text_of(bytes: &[u8]) -> Option<String> {
    let units: Vec<u16> =
        bytes.get(4..)?.chunks(2).map(|pair| u16::from_le_bytes([pair[0], *pair.get(1).unwrap_or(&0)])).collect();
    let end = units.iter().position(|&unit| unit == 0).unwrap_or(units.len());
    String::from_utf16(&units[..end]).ok()
}

/// The file of a variable that holds a text.
#[must_use]
pub fn encode(text: &str) -> Vec<u8> {
    let units = text.encode_utf16().chain([0]);
    KEPT.into_iter().chain(units.flat_map(u16::to_le_bytes)).collect()
}

/// The text of a variable, where it is there.
#[must_use]
pub fn text(files: &BootFiles, path: &str) -> Option<String> {
    files.bytes(path).and_then(text_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_reads_back_and_what_is_not_ours_to_restore_is_told() {
        assert_eq!(decode(&encode("punctual.conf")), Some("punctual.conf".to_owned()));
        assert_eq!(encode("a"), [7, 0, 0, 0, b'a', 0, 0, 0]);
        assert_eq!(decode(&[6, 0, 0, 0, b'a', 0, 0, 0]), None, "another's attributes");
        assert_eq!(text_of(&[6, 0, 0, 0, b'a', 0, 0, 0]), Some("a".to_owned()));
        assert_eq!((decode(&[7, 0, 0, 0, b'a', 0]), decode(&[7, 0, 0, 0, 0, 0, 1]), decode(&[7])), (None, None, None));
        assert_eq!(decode(&[7, 0, 0, 0, 0, 0xd8, 0, 0]), None, "half a character");
    }

    proptest::proptest! {
        #[test]
        fn what_decodes_encodes_to_the_same_bytes(bytes in proptest::collection::vec(0u8..=255, 0..40)) {
            if let Some(text) = decode(&bytes) {
                proptest::prop_assert_eq!(encode(&text), bytes);
            }
        }
    }
}
