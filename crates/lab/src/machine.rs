//! The emulated machines: one entry for each architecture.

use elf::abi::{EM_ARM, EM_X86_64};

/// The processor architecture of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// 64-bit PCs (x86-64).
    Amd64,
    /// 32-bit boards with an ARMv7 processor and a floating-point unit.
    Armhf,
}

/// An emulated machine.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Debian's name of the architecture.
    pub(crate) debian: &'static str,
    /// `e_machine` in the ELF header of its programs (`elf(5)`).
    pub(crate) elf_machine: u16,
    /// The command that builds this program for it.
    pub(crate) built_by: &'static str,
    /// The QEMU program that emulates it.
    pub(crate) qemu: &'static str,
    /// QEMU's arguments for the machine and the processor.
    pub(crate) arguments: &'static [&'static str],
    /// QEMU's device for the bus of the lab's port.
    pub(crate) serial_bus: &'static str,
    /// QEMU's device for a network card, without an option ROM for booting: QEMU loads the kernel itself.
    pub(crate) network_card: &'static str,
    /// Kernel parameters for this machine.
    pub(crate) boot: &'static str,
    /// Kernel modules for the lab's port; those that are built into the kernel are skipped.
    pub(crate) port_modules: &'static [&'static str],
    /// Largest number of CPUs of a guest.
    pub(crate) max_cpus: u32,
    /// Largest memory of a guest (MiB).
    pub(crate) max_memory_mib: u32,
}

impl Architecture {
    /// The emulated machine for guests of this architecture.
    pub(crate) const fn machine(self) -> Machine {
        match self {
            Self::Amd64 => Machine {
                debian: "amd64",
                elf_machine: EM_X86_64,
                built_by: "make build",
                qemu: "qemu-system-x86_64",
                arguments: &["-machine", "q35", "-cpu", "max"],
                serial_bus: "virtio-serial-pci",
                network_card: "virtio-net-pci,romfile=",
                // The emulated time-stamp counter is as steady as the host's clock.
                boot: "console=ttyS0 clocksource=tsc tsc=reliable",
                port_modules: &["virtio_pci", "virtio_console"],
                // More CPUs would only wait for each other on a host with few.
                max_cpus: 16,
                max_memory_mib: 16 * 1024,
            },
            Self::Armhf => Machine {
                debian: "armhf",
                elf_machine: EM_ARM,
                built_by: "make armhf",
                qemu: "qemu-system-arm",
                arguments: &["-machine", "virt", "-cpu", "cortex-a15"],
                serial_bus: "virtio-serial-device",
                network_card: "virtio-net-device",
                boot: "console=ttyAMA0",
                port_modules: &["virtio_mmio", "virtio_console"],
                // Limit of ARM's interrupt controller GICv2 (QEMU's hw/arm/virt.c).
                max_cpus: 8,
                // Memory begins at 1 GiB, and the kernel has 32-bit addresses.
                max_memory_mib: 3 * 1024,
            },
        }
    }
}
