//! Events that are written here.

use super::*;

#[test]
fn an_unknown_form_is_refused_by_name() {
    let text = "name: sched_waking\nID: 7\nformat:\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:2;\tsigned:1;\n";
    let error = Decoder::new(Endian::Little).learn(EventKind::Waking, &Format::parse(text).unwrap()).unwrap_err();
    assert_eq!(error, FormatError::Field { event: "sched_waking".to_owned(), field: "pid" });
}

/// A description of `sched_switch` as 64-bit kernels give it, from `offset` on.
fn switch_format() -> Format {
    let field = |declaration: &str, offset: usize, size: usize, signed: u8| {
        format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n")
    };
    let text = [
        "name: sched_switch\nID: 9\nformat:\n".to_owned(),
        field("unsigned char common_flags", 2, 1, 0),
        field("int common_pid", 4, 4, 1),
        field("char prev_comm[16]", 8, 16, 0),
        field("pid_t prev_pid", 24, 4, 1),
        field("int prev_prio", 28, 4, 1),
        field("long prev_state", 32, 8, 1),
        field("char next_comm[16]", 40, 16, 0),
        field("pid_t next_pid", 56, 4, 1),
        field("int next_prio", 60, 4, 1),
    ];
    Format::parse(&text.concat()).unwrap()
}

fn enter_format(size: usize) -> Format {
    let args = 8 + size / 6;
    Format::parse(&format!(
        "name: sys_enter\nID: 10\nformat:\n\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
         \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
         \tfield:long id;\toffset:8;\tsize:{};\tsigned:1;\n\
         \tfield:unsigned long args[6];\toffset:{args};\tsize:{size};\tsigned:0;\n",
        size / 6
    ))
    .unwrap()
}

proptest::proptest! {
    #[test]
    fn an_event_reads_the_same_through_its_window_and_without(
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), WINDOW),
        length in 0_usize..=WINDOW, is_switch in proptest::prelude::any::<bool>(), wide in proptest::prelude::any::<bool>(),
    ) {
        let mut decoder = Decoder::new(Endian::Little);
        decoder.learn(EventKind::Switch, &switch_format()).unwrap();
        decoder.learn(EventKind::Enter, &enter_format(if wide { 48 } else { 24 })).unwrap();
        proptest::prop_assert!(decoder.known.iter().flatten().all(|known| known.end.is_some()));
        let mut bytes = bytes;
        bytes[..2].copy_from_slice(&(if is_switch { 9_u16 } else { 10 }).to_le_bytes());
        let window = <&[u8; WINDOW]>::try_from(bytes.as_slice()).unwrap();
        let with = Record { time_ns: 5, data: &bytes[..length], window: Some(window) };
        let without = Record { window: None, ..with };
        proptest::prop_assert_eq!(decoder.decode(&with), decoder.decode(&without));
    }
}

#[test]
fn names_end_at_their_zero() {
    assert_eq!(Name::from_bytes(b"motor\0junk").text(), "motor");
    assert_eq!(Name::new("a name that is far too long").text(), "a name that is ");
    assert_eq!(Name::from_bytes(&[0xff, 0]).text(), "\u{fffd}");
    assert_eq!(Name::from_bytes(b"motor\0junk\0\0\0\0\0\0"), Name::new("motor"));
    assert_eq!(Name::from_bytes(b"\0otorjunkandmore"), Name::new(""));
    assert_eq!(Name::from_bytes(b"sixteen bytes of"), Name::new("sixteen bytes o"));
}
