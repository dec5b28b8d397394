//! The machines that guests can be: one entry for each architecture.

use elf::abi::{EM_ARM, EM_X86_64};

/// What a guest's kernel and programs are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// PCs, 64 bits.
    Amd64,
    /// Boards with ARMv7 processors and a floating-point unit, 32 bits.
    Armhf,
}

/// An emulated machine.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Debian's word for its architecture.
    pub(crate) debian: &'static str,
    /// `e_machine` of its programs (`elf(5)`).
    pub(crate) elf_machine: u16,
    /// What builds this program for it.
    pub(crate) built_by: &'static str,
    /// The program that emulates it.
    pub(crate) qemu: &'static str,
    /// Which of its machines, with which processor.
    pub(crate) arguments: &'static [&'static str],
    /// The device that the lab's port is on.
    pub(crate) serial_bus: &'static str,
    /// A network card. No boot program in it where it could have one: the kernel is handed over already.
    pub(crate) network_card: &'static str,
    /// The kernel's parameters for it.
    pub(crate) boot: &'static str,
    /// The modules without which the lab's port is not there; one that is built in is none to load.
    pub(crate) port_modules: &'static [&'static str],
    /// The most CPUs of a guest.
    pub(crate) max_cpus: u32,
    /// The most memory of a guest (MiB).
    pub(crate) max_memory_mib: u32,
}

impl Architecture {
    /// The machine that guests of it are.
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
                // More only wait for each other on a host of few.
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
                // What the second version of ARM's interrupt controller serves (QEMU's hw/arm/virt.c).
                max_cpus: 8,
                // It begins at 1 GiB, and the kernel has 32 bits for addresses.
                max_memory_mib: 3 * 1024,
            },
        }
    }
}
