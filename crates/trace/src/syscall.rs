//! The system calls that matter to a periodic program, by the number that each binary interface gives them.
//!
//! A 32-bit program on a 64-bit kernel uses the numbers of its own interface, and the trace does not show which it was:
//! the program's file does. Sources: arch/x86/entry/syscalls/syscall_64.tbl and syscall_32.tbl, arch/arm/tools/syscall.tbl,
//! include/uapi/asm-generic/unistd.h.

/// A binary interface with its own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// The 64-bit interface of x86.
    X86_64,
    /// 32-bit x86, also on 64-bit kernels.
    I386,
    /// 32-bit ARM (EABI), also on 64-bit kernels.
    Arm,
    /// 64-bit ARM and RISC-V, which share theirs.
    Generic64,
}

impl Abi {
    /// The interface of a program from its file's first 20 bytes (ELF: class, order of bytes, machine); `None` for what
    /// is not known here.
    #[must_use]
    pub fn from_elf(head: &[u8]) -> Option<Self> {
        if head.get(..4)? != b"\x7fELF" {
            return None;
        }
        let class = *head.get(4)?;
        let machine = [*head.get(18)?, *head.get(19)?];
        let machine = if *head.get(5)? == 2 { u16::from_be_bytes(machine) } else { u16::from_le_bytes(machine) };
        // EM_386, EM_ARM, EM_X86_64, EM_AARCH64, EM_RISCV; a 32-bit file for x86-64 is x32, which is not known here.
        match (machine, class) {
            (3, 1) => Some(Self::I386),
            (40, 1) => Some(Self::Arm),
            (62, 2) => Some(Self::X86_64),
            (183 | 243, 2) => Some(Self::Generic64),
            _ => None,
        }
    }

    /// Whether its programs are of 32 bits.
    #[must_use]
    pub const fn is_32_bit(self) -> bool {
        matches!(self, Self::I386 | Self::Arm)
    }
}

/// What a system call does, as far as a periodic loop is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Sleeps for a time or until a moment.
    Sleep,
    /// Waits for something, perhaps for a time.
    Wait,
    /// Waits for or wakes a waiter of a word in memory: locks, conditions, semaphores.
    Futex,
    /// Reads from or takes from a file descriptor.
    Input,
    /// Writes to a file descriptor.
    Output,
    /// Forces data to a disk.
    Sync,
    /// Opens or closes a file.
    File,
    /// Obtains memory from the kernel, or gives it back.
    Memory,
    /// Locks memory so that it stays resident.
    Lock,
    /// Changes how a thread is scheduled.
    Schedule,
    /// Makes a thread or process.
    Create,
    /// Sets up a timer.
    Timer,
    /// Ends, or goes on with, something.
    Other,
}

macro_rules! calls {
    ($($variant:ident $name:literal $work:ident: $x86_64:tt $i386:tt $arm:tt $generic:tt;)+) => {
        /// A system call that is known by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Call {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
            /// Any other, by its number.
            Other(u16),
        }

        /// Each call with its numbers by interface; those that one lacks are empty.
        const TABLE: &[(Call, [&[u16]; 4])] = &[
            $((Call::$variant, [calls!(@ $x86_64), calls!(@ $i386), calls!(@ $arm), calls!(@ $generic)]),)+
        ];

        impl Call {
            /// Its name, or its number.
            #[must_use]
            pub fn name(self) -> String {
                match self {
                    $(Self::$variant => $name.to_owned(),)+
                    Self::Other(number) => format!("system call {number}"),
                }
            }

            /// What it does.
            #[must_use]
            pub const fn work(self) -> Work {
                match self {
                    $(Self::$variant => Work::$work,)+
                    Self::Other(_) => Work::Other,
                }
            }
        }
    };
    (@ -) => { &[] };
    (@ [$($number:literal)+]) => { &[$($number),+] };
    (@ $number:literal) => { &[$number] };
}

calls! {
    Read "read" Input: 0 3 3 63;
    Write "write" Output: 1 4 4 64;
    Open "open" File: 2 5 5 -;
    OpenAt "openat" File: 257 295 322 56;
    Close "close" File: 3 6 6 57;
    Poll "poll" Wait: 7 168 168 -;
    Ppoll "ppoll" Wait: 271 [309 414] [336 414] 73;
    Select "select" Wait: 23 [82 142] 142 -;
    Pselect "pselect6" Wait: 270 [308 413] [335 413] 72;
    EpollWait "epoll_wait" Wait: 232 256 252 -;
    EpollPwait "epoll_pwait" Wait: 281 319 346 22;
    EpollPwait2 "epoll_pwait2" Wait: 441 441 441 441;
    SigTimedWait "rt_sigtimedwait" Wait: 128 [177 421] [177 421] 137;
    Pause "pause" Wait: 34 29 29 -;
    SigSuspend "rt_sigsuspend" Wait: 130 179 179 133;
    SemTimedop "semtimedop" Wait: 220 420 [312 420] 192;
    Wait4 "wait4" Wait: 61 114 114 260;
    MqReceive "mq_timedreceive" Wait: 243 [280 419] [277 419] 183;
    IoUringEnter "io_uring_enter" Wait: 426 426 426 426;
    Mmap "mmap" Memory: 9 [90 192] 192 222;
    Mprotect "mprotect" Memory: 10 125 125 226;
    Munmap "munmap" Memory: 11 91 91 215;
    Brk "brk" Memory: 12 45 45 214;
    Mremap "mremap" Memory: 25 163 163 216;
    Madvise "madvise" Memory: 28 219 220 233;
    Ioctl "ioctl" Other: 16 54 54 29;
    Pread "pread64" Input: 17 180 180 67;
    Pwrite "pwrite64" Output: 18 181 181 68;
    Readv "readv" Input: 19 145 145 65;
    Writev "writev" Output: 20 146 146 66;
    SchedYield "sched_yield" Other: 24 158 158 124;
    Nanosleep "nanosleep" Sleep: 35 162 162 101;
    ClockNanosleep "clock_nanosleep" Sleep: 230 [267 407] [265 407] 115;
    SendTo "sendto" Output: 44 369 290 206;
    SendMsg "sendmsg" Output: 46 370 296 211;
    RecvFrom "recvfrom" Input: 45 371 292 207;
    RecvMsg "recvmsg" Input: 47 372 297 212;
    Clone "clone" Create: 56 120 120 220;
    Clone3 "clone3" Create: 435 435 435 435;
    Fork "fork" Create: 57 2 2 -;
    Vfork "vfork" Create: 58 190 190 -;
    Execve "execve" Create: 59 11 11 221;
    ExitThread "exit" Other: 60 1 1 93;
    ExitGroup "exit_group" Other: 231 252 248 94;
    Fsync "fsync" Sync: 74 118 118 82;
    Fdatasync "fdatasync" Sync: 75 148 148 83;
    SchedSetparam "sched_setparam" Schedule: 142 154 154 118;
    SchedSetscheduler "sched_setscheduler" Schedule: 144 156 156 119;
    SchedSetattr "sched_setattr" Schedule: 314 351 380 274;
    Mlock "mlock" Lock: 149 150 150 228;
    Mlock2 "mlock2" Lock: 325 376 390 284;
    Mlockall "mlockall" Lock: 151 152 152 230;
    Futex "futex" Futex: 202 [240 422] [240 422] 98;
    RestartSyscall "restart_syscall" Other: 219 0 0 128;
    TimerCreate "timer_create" Timer: 222 259 257 107;
    TimerSettime "timer_settime" Timer: 223 [260 409] [258 409] 110;
    Setitimer "setitimer" Timer: 38 104 104 103;
    TimerfdCreate "timerfd_create" Timer: 283 322 350 85;
    TimerfdSettime "timerfd_settime" Timer: 286 [325 411] [353 411] 86;
}

/// How many numbers the quick table holds; no interface above has one beyond.
const NUMBERS: usize = 512;

impl Abi {
    /// The calls by their numbers, for [`Call::from_number`].
    #[must_use]
    pub fn table(self) -> Box<[Call]> {
        let column = match self {
            Self::X86_64 => 0,
            Self::I386 => 1,
            Self::Arm => 2,
            Self::Generic64 => 3,
        };
        let mut table: Vec<Call> =
            (0..NUMBERS).map(|number| Call::Other(u16::try_from(number).unwrap_or(u16::MAX))).collect();
        for (call, numbers) in TABLE {
            numbers[column].iter().for_each(|number| table[usize::from(*number)] = *call);
        }
        table.into_boxed_slice()
    }
}

impl Call {
    /// The call of a number, by an interface's [`table`](Abi::table).
    #[must_use]
    pub fn from_number(number: i64, table: &[Self]) -> Self {
        let known = usize::try_from(number).ok().and_then(|number| table.get(number).copied());
        known.unwrap_or_else(|| Self::Other(u16::try_from(number).unwrap_or(u16::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_means_two_calls() {
        for column in 0..4 {
            let mut numbers: Vec<u16> = TABLE.iter().flat_map(|(_, numbers)| numbers[column]).copied().collect();
            numbers.sort_unstable();
            let count = numbers.len();
            numbers.dedup();
            assert_eq!(numbers.len(), count, "column {column}");
        }
    }

    #[test]
    fn a_file_tells_its_interface() {
        let head = |class: u8, order: u8, machine: u16| {
            let mut head = vec![0x7f, b'E', b'L', b'F', class, order];
            head.resize(18, 0);
            head.extend(if order == 2 { machine.to_be_bytes() } else { machine.to_le_bytes() });
            head
        };
        assert_eq!(Abi::from_elf(&head(2, 1, 62)), Some(Abi::X86_64));
        assert_eq!(Abi::from_elf(&head(1, 1, 3)), Some(Abi::I386));
        assert_eq!(Abi::from_elf(&head(1, 2, 40)), Some(Abi::Arm));
        assert_eq!(Abi::from_elf(&head(2, 1, 183)), Some(Abi::Generic64));
        assert_eq!(Abi::from_elf(&head(1, 1, 62)), None, "x32");
        assert_eq!(Abi::from_elf(b"#!/bin/sh and more than that"), None);
    }

    #[test]
    fn unknown_numbers_keep_their_number() {
        let table = Abi::X86_64.table();
        assert_eq!(Call::from_number(230, &table), Call::ClockNanosleep);
        assert_eq!(Call::from_number(999, &table), Call::Other(999));
        assert_eq!(Call::from_number(-1, &table), Call::Other(u16::MAX));
        assert_eq!(Call::from_number(407, &Abi::I386.table()), Call::ClockNanosleep);
    }
}
