//! Where things are on the disk of an installed system: boot code and one partition, as PCs with a BIOS expect. Pure.
//!
//! The first sector holds the first 440 bytes of GRUB's `boot.img` and the table of partitions; the sectors after it,
//! up to the first partition, are the gap in which GRUB's core is embedded ("BIOS installation" in GRUB's manual).

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;
/// Where the partition begins: at the first MiB, as every partitioning tool has it.
pub(super) const PARTITION_SECTOR: u32 = 2048;
/// The whole disk (MiB). Its file is sparse: only what is written takes space.
pub(super) const DISK_MIB: u32 = 4096;
/// Bytes of a block of the file system.
const BLOCK: u64 = 4096;

/// The boot code that fits before the disk's signature and the table.
const BOOT_CODE: usize = 440;
const TABLE: usize = 446;
const MARK: [u8; 2] = [0x55, 0xaa];
/// "This one is booted."
const ACTIVE: u8 = 0x80;
/// "Linux" among the types of partitions.
const LINUX: u8 = 0x83;
/// Cylinder, head and sector that say "see the sector numbers instead".
const NO_GEOMETRY: [u8; 3] = [0xfe, 0xff, 0xff];

/// Where the file system begins (bytes).
pub(super) const fn offset() -> u64 {
    PARTITION_SECTOR as u64 * SECTOR
}

/// How many blocks of 4096 bytes the file system has.
pub(super) const fn blocks() -> u64 {
    (DISK_MIB as u64 * 1024 * 1024 - offset()) / BLOCK
}

/// What stands before the partition: boot code, table, GRUB's core.
///
/// # Errors
/// Where the boot code or the core is not what GRUB makes, or does not fit.
pub(super) fn before_partition(boot: &[u8], core: &[u8]) -> Result<Vec<u8>, String> {
    if boot.len() != 512 || boot[510..] != MARK {
        return Err(format!("GRUB's boot.img is no boot sector: {} bytes", boot.len()));
    }
    let gap = (PARTITION_SECTOR as usize - 1) * 512;
    if core.is_empty() || core.len() > gap {
        return Err(format!("GRUB's core has {} bytes, of 1 to {gap} before the partition", core.len()));
    }
    let mut bytes = vec![0; 512];
    bytes[..BOOT_CODE].copy_from_slice(&boot[..BOOT_CODE]);
    bytes[TABLE..TABLE + 16].copy_from_slice(&partition());
    bytes[510..].copy_from_slice(&MARK);
    // The boot code loads the sector after it, which knows how many follow: grub-mkimage has written that into it.
    bytes.extend(core);
    Ok(bytes)
}

/// The one entry of the table.
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
    fn the_partition_fills_the_disk_behind_the_first_mib() {
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
    fn boot_code_and_core_stand_where_the_bios_and_the_boot_code_look() {
        let bytes = before_partition(&boot(), &[7; 700]).unwrap();
        assert!(bytes[..BOOT_CODE].iter().all(|byte| *byte == 0xeb));
        assert_eq!(bytes[510..512], MARK);
        assert_eq!(bytes[512..], [7; 700]);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let gap = (PARTITION_SECTOR as usize - 1) * 512;
        assert!(before_partition(&boot(), &vec![0; gap]).is_ok());
        assert!(before_partition(&boot(), &vec![0; gap + 1]).unwrap_err().contains("of 1 to 1048064"));
        assert!(before_partition(&boot(), &[]).unwrap_err().contains("0 bytes"));
        assert!(before_partition(&[0; 512], &[0]).unwrap_err().contains("no boot sector"));
        assert!(before_partition(&boot()[..511], &[0]).unwrap_err().contains("511 bytes"));
    }
}
