//! Layout of the disk of an installed system: boot code and one partition, as PCs with a BIOS expect. Pure.
//!
//! The first sector contains the first 440 bytes of GRUB's `boot.img` and the partition table. GRUB's core is embedded
//! in the gap between it and the first partition ("BIOS installation" in GRUB's manual).

/// Size of a sector (bytes).
pub(super) const SECTOR: u64 = 512;
/// First sector of the partition: at 1 MiB, as with every partitioning tool.
pub(super) const PARTITION_SECTOR: u32 = 2048;
/// Size of the whole disk (MiB). Its file is sparse: only what is written takes space.
pub(super) const DISK_MIB: u32 = 4096;
/// Block size of the file system (bytes).
const BLOCK: u64 = 4096;

/// Length of the boot code before the disk's signature and the partition table (bytes).
const BOOT_CODE: usize = 440;
const TABLE: usize = 446;
const MARK: [u8; 2] = [0x55, 0xaa];
/// The flag of the active partition, which is booted.
const ACTIVE: u8 = 0x80;
/// The partition type of Linux.
const LINUX: u8 = 0x83;
/// Cylinder, head and sector that mean: use the sector numbers instead.
const NO_GEOMETRY: [u8; 3] = [0xfe, 0xff, 0xff];

/// Offset of the file system on the disk (bytes).
pub(super) const fn offset() -> u64 {
    PARTITION_SECTOR as u64 * SECTOR
}

/// Size of the file system in blocks of 4096 bytes.
pub(super) const fn blocks() -> u64 {
    (DISK_MIB as u64 * 1024 * 1024 - offset()) / BLOCK
}

/// The content before the partition: boot code, partition table, GRUB's core.
///
/// # Errors
/// If the boot code or the core is not valid output of GRUB, or does not fit.
pub(super) fn before_partition(boot: &[u8], core: &[u8]) -> Result<Vec<u8>, String> {
    if boot.len() != 512 || boot[510..] != MARK {
        return Err(format!("GRUB's boot.img is not a boot sector: {} bytes", boot.len()));
    }
    let gap = (PARTITION_SECTOR as usize - 1) * 512;
    if core.is_empty() || core.len() > gap {
        return Err(format!("GRUB's core has {} bytes: 1 to {gap} fit before the partition", core.len()));
    }
    let mut bytes = vec![0; 512];
    bytes[..BOOT_CODE].copy_from_slice(&boot[..BOOT_CODE]);
    bytes[TABLE..TABLE + 16].copy_from_slice(&partition());
    bytes[510..].copy_from_slice(&MARK);
    // The boot code loads the next sector, into which grub-mkimage has written how many more to load.
    bytes.extend(core);
    Ok(bytes)
}

/// The single entry of the partition table.
fn partition() -> [u8; 16] {
    let sectors = DISK_MIB * 2048 - PARTITION_SECTOR;
    let mut entry = [0; 16];
    entry[0] = ACTIVE;
    entry[1..4].copy_from_slice(&NO_GEOMETRY);
    entry[4] = LINUX;
    entry[5..8].copy_from_slice(&NO_GEOMETRY);
    entry[8..12].copy_from_slice(&PARTITION_SECTOR.to_le_bytes());
    entry[12..].copy_from_slice(&sectors.to_le_bytes());
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boot() -> Vec<u8> {
        let mut boot = vec![0xeb; 512];
        boot[510..].copy_from_slice(&MARK);
        boot
    }

    #[test]
    fn the_partition_fills_the_disk_after_the_first_mib() {
        assert_eq!(offset(), 1024 * 1024);
        assert_eq!(offset() + blocks() * BLOCK, u64::from(DISK_MIB) * 1024 * 1024);
        let bytes = before_partition(&boot(), &[7; 700]).unwrap();
        let number = |at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
        assert_eq!(bytes[TABLE], ACTIVE);
        assert_eq!(bytes[TABLE + 4], LINUX);
        assert_eq!(number(TABLE + 8) * SECTOR, offset());
        assert_eq!((number(TABLE + 8) + number(TABLE + 12)) * SECTOR, u64::from(DISK_MIB) * 1024 * 1024);
        // The other three entries are empty.
        assert!(bytes[TABLE + 16..510].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn boot_code_and_core_are_where_they_are_loaded_from() {
        let bytes = before_partition(&boot(), &[7; 700]).unwrap();
        assert!(bytes[..BOOT_CODE].iter().all(|byte| *byte == 0xeb));
        assert_eq!(bytes[510..512], MARK);
        assert_eq!(bytes[512..], [7; 700]);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let gap = (PARTITION_SECTOR as usize - 1) * 512;
        assert!(before_partition(&boot(), &vec![0; gap]).is_ok());
        assert!(before_partition(&boot(), &vec![0; gap + 1]).unwrap_err().contains("1 to 1048064 fit"));
        assert!(before_partition(&boot(), &[]).unwrap_err().contains("0 bytes"));
        assert!(before_partition(&[0; 512], &[0]).unwrap_err().contains("not a boot sector"));
        assert!(before_partition(&boot()[..511], &[0]).unwrap_err().contains("511 bytes"));
    }
}
