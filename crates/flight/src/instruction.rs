//! Instructions of the kernel's virtual machine, and a writer of small programs with labels.
//!
//! Source: the kernel's Documentation/bpf/standardization/instruction-set.rst.

/// A register of the kernel's virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(u8);

/// Result of a call.
pub const R0: Register = Register(0);
/// First argument of a call; calls overwrite it, like all up to R5.
pub const R1: Register = Register(1);
/// Second argument of a call.
pub const R2: Register = Register(2);
/// Third argument of a call.
pub const R3: Register = Register(3);
/// Fourth argument of a call.
pub const R4: Register = Register(4);
/// Preserved across calls, like all up to R9.
pub const R6: Register = Register(6);
/// Preserved across calls.
pub const R7: Register = Register(7);
/// Preserved across calls.
pub const R8: Register = Register(8);
/// Preserved across calls.
pub const R9: Register = Register(9);
/// Upper end of the stack (read-only).
pub const R10: Register = Register(10);

/// Width of an access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// An access of one byte.
    U8,
    /// An access of two bytes.
    U16,
    /// An access of four bytes.
    U32,
    /// An access of eight bytes.
    U64,
}

impl Width {
    const fn code(self) -> u8 {
        match self {
            Self::U32 => 0x00,
            Self::U16 => 0x08,
            Self::U8 => 0x10,
            Self::U64 => 0x18,
        }
    }
}

/// A service of the kernel that programs may call, by its number in `include/uapi/linux/bpf.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// The address of an element of a map, or 0.
    MapLookup = 1,
    /// The time of CLOCK_MONOTONIC (ns).
    KtimeGetNs = 5,
    /// The CPU that the program runs on.
    ProcessorId = 8,
    /// Thread in the lower, process in the upper half.
    CurrentPidTgid = 14,
    /// What a program of XDP returns to have a packet go where a map says.
    RedirectMap = 51,
    /// Addresses of the functions that led here.
    GetStack = 67,
}

/// What a conditional jump asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Both are equal.
    Equal = 0x10,
    /// The two differ.
    NotEqual = 0x50,
    /// The first is greater or equal, without signs.
    GreaterOrEqual = 0x30,
    /// The first is less, without signs.
    Less = 0xa0,
    /// The first is less, with signs.
    SignedLess = 0xc0,
}

/// One instruction of eight bytes, as the kernel reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    /// What is done.
    pub code: u8,
    /// Both registers: the destination in the lower four bits on little-endian machines, in the upper on others.
    pub registers: u8,
    /// Distance of a jump, or offset of an access.
    pub offset: i16,
    /// The constant that the instruction uses.
    pub immediate: i32,
}

/// A place that jumps lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// Writes a program.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    instructions: Vec<Instruction>,
    /// Where each label stands, once it does.
    places: Vec<Option<usize>>,
    /// Jumps to be filled in.
    jumps: Vec<(usize, Label)>,
}

impl Writer {
    fn push(&mut self, code: u8, to: Register, from: Register, offset: i16, immediate: i32) -> &mut Self {
        let registers = if cfg!(target_endian = "little") { to.0 | (from.0 << 4) } else { (to.0 << 4) | from.0 };
        self.instructions.push(Instruction { code, registers, offset, immediate });
        self
    }

    /// `to = from`.
    pub fn copy(&mut self, to: Register, from: Register) -> &mut Self {
        self.push(0xbf, to, from, 0, 0)
    }

    /// `to = value`, with its sign.
    pub fn set(&mut self, to: Register, value: i32) -> &mut Self {
        self.push(0xb7, to, R0, 0, value)
    }

    /// `to += value`.
    pub fn add(&mut self, to: Register, value: i32) -> &mut Self {
        self.push(0x07, to, R0, 0, value)
    }

    /// `to += from`.
    pub fn add_register(&mut self, to: Register, from: Register) -> &mut Self {
        self.push(0x0f, to, from, 0, 0)
    }

    /// `to -= from`.
    pub fn subtract_register(&mut self, to: Register, from: Register) -> &mut Self {
        self.push(0x1f, to, from, 0, 0)
    }

    /// `to &= value`, a value without the sign bit.
    pub fn and(&mut self, to: Register, value: i32) -> &mut Self {
        self.push(0x57, to, R0, 0, value)
    }

    /// `to *= value`.
    pub fn multiply(&mut self, to: Register, value: i32) -> &mut Self {
        self.push(0x27, to, R0, 0, value)
    }

    /// `to <<= bits`.
    pub fn shift_left(&mut self, to: Register, bits: i32) -> &mut Self {
        self.push(0x67, to, R0, 0, bits)
    }

    /// `to >>= bits`, without its sign.
    pub fn shift_right(&mut self, to: Register, bits: i32) -> &mut Self {
        self.push(0x77, to, R0, 0, bits)
    }

    /// `to |= from`.
    pub fn or_register(&mut self, to: Register, from: Register) -> &mut Self {
        self.push(0x4f, to, from, 0, 0)
    }

    /// `to = *(from + offset)`.
    pub fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) -> &mut Self {
        self.push(0x61 | width.code(), to, from, offset, 0)
    }

    /// `*(to + offset) = from`.
    pub fn store(&mut self, width: Width, to: Register, offset: i16, from: Register) -> &mut Self {
        self.push(0x63 | width.code(), to, from, offset, 0)
    }

    /// `*(to + offset) = value`.
    pub fn store_value(&mut self, width: Width, to: Register, offset: i16, value: i32) -> &mut Self {
        self.push(0x62 | width.code(), to, R0, offset, value)
    }

    /// `from` is added to the 64 bits at `to + offset`, and becomes what stood there, in one step that no interrupt
    /// can part (Linux 5.12).
    pub fn fetch_add(&mut self, to: Register, offset: i16, from: Register) -> &mut Self {
        self.push(0xdb, to, from, offset, 0x01)
    }

    /// `to = ` a 64-bit constant.
    pub fn set_wide(&mut self, to: Register, value: u64) -> &mut Self {
        let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
        self.push(0x18, to, R0, 0, i32::from_le_bytes([a, b, c, d]));
        self.push(0, R0, R0, 0, i32::from_le_bytes([e, f, g, h]))
    }

    /// `to = ` the map with this file descriptor.
    pub fn set_map(&mut self, to: Register, file: i32) -> &mut Self {
        self.push(0x18, to, R1, 0, file);
        self.push(0, R0, R0, 0, 0)
    }

    /// Calls a service; R1 to R5 are lost.
    pub fn call(&mut self, helper: Helper) -> &mut Self {
        self.push(0x85, R0, R0, 0, helper as i32)
    }

    /// A label that stands nowhere yet.
    pub fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// The label stands here.
    pub fn place(&mut self, label: Label) -> &mut Self {
        self.places[label.0] = Some(self.instructions.len());
        self
    }

    /// Goes to the label where the register compares so with the value.
    pub fn jump_if(&mut self, register: Register, condition: Condition, value: i32, label: Label) -> &mut Self {
        self.jumps.push((self.instructions.len(), label));
        self.push(0x05 | condition as u8, register, R0, 0, value)
    }

    /// Goes to the label where the registers compare so.
    pub fn jump_if_register(
        &mut self,
        one: Register,
        condition: Condition,
        other: Register,
        label: Label,
    ) -> &mut Self {
        self.jumps.push((self.instructions.len(), label));
        self.push(0x0d | condition as u8, one, other, 0, 0)
    }

    /// Goes to the label.
    pub fn jump(&mut self, label: Label) -> &mut Self {
        self.jumps.push((self.instructions.len(), label));
        self.push(0x05, R0, R0, 0, 0)
    }

    /// Ends with 0.
    pub fn exit(&mut self) -> &mut Self {
        self.set(R0, 0).exit_with_r0()
    }

    /// Ends with what is in R0.
    pub fn exit_with_r0(&mut self) -> &mut Self {
        self.push(0x95, R0, R0, 0, 0)
    }

    /// Resolves the jumps and returns the program's instructions.
    ///
    /// # Panics
    /// If a label was never placed, or is farther away than a jump reaches: a mistake of the program's author.
    #[must_use]
    pub fn finish(mut self) -> Vec<Instruction> {
        for (at, label) in self.jumps {
            let place = self.places[label.0].expect("every label that is jumped to stands somewhere");
            let distance = place as i128 - at as i128 - 1;
            self.instructions[at].offset = i16::try_from(distance).expect("programs are short");
        }
        self.instructions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_lead_to_their_labels() {
        let mut writer = Writer::default();
        let end = writer.label();
        writer.jump_if(R1, Condition::Equal, 0, end).set(R2, 1).place(end).exit();
        let program = writer.finish();
        assert_eq!(program.len(), 4);
        assert_eq!((program[0].code, program[0].offset), (0x15, 1));
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn instructions_are_those_of_the_standard() {
        let mut writer = Writer::default();
        writer.load(Width::U64, R7, R6, 8).store(Width::U32, R10, -4, R0).fetch_add(R9, 8, R1).call(Helper::KtimeGetNs);
        let bytes: Vec<(u8, u8, i16, i32)> =
            writer.finish().iter().map(|one| (one.code, one.registers, one.offset, one.immediate)).collect();
        // r7 = *(u64 *)(r6 + 8); *(u32 *)(r10 - 4) = r0; r1 = atomic_fetch_add((u64 *)(r9 + 8), r1); call 5
        assert_eq!(bytes, [(0x79, 0x67, 8, 0), (0x63, 0x0a, -4, 0), (0xdb, 0x19, 8, 1), (0x85, 0, 0, 5)]);
    }

    #[test]
    fn a_wide_constant_takes_two_instructions() {
        let mut writer = Writer::default();
        writer.set_wide(R1, 0x1122_3344_5566_7788);
        let program = writer.finish();
        assert_eq!((program[0].immediate, program[1].immediate), (0x5566_7788, 0x1122_3344));
    }
}
