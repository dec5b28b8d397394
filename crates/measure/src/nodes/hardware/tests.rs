use kernel::ethtool::TsInfo;

use super::*;

const BOTH: StampedDirections = StampedDirections { sends: true, receives: true };

fn interface(state: Option<HardwareStamping>, rx_filters: u32) -> Interface {
    let mut offered = TsInfo::default();
    (offered.phc_index, offered.tx_types, offered.rx_filters) = (0, 0b11, rx_filters);
    Interface {
        index: 2,
        name: "eth7".to_owned(),
        mac: None,
        mtu_bytes: 1_500,
        is_up: true,
        has_carrier: true,
        kind: None,
        vlan: None,
        addresses: Vec::new(),
        rx_queue_count: 1,
        driver: None,
        xdp_program: None,
        stamping: Some(offered),
        hardware_stamping: state,
    }
}

fn decided(
    interface: &Interface,
    mode: HardwareMode,
    wanted: StampedDirections,
) -> (bool, bool, Option<[i32; 3]>, String) {
    let Decided { sent, received, set, without } = decide(interface, mode, wanted);
    (sent, received, set, without.join("; "))
}

#[test]
fn an_interface_that_somebody_has_set_is_never_set_otherwise() {
    let all = HardwareStamping { sends: true, receives: ReceivedStamped::All };
    for mode in [HardwareMode::Auto, HardwareMode::On] {
        assert_eq!(decided(&interface(Some(all), 0b11), mode, BOTH), (true, true, None, String::new()));
        let ptp = interface(Some(HardwareStamping { receives: ReceivedStamped::Some, ..all }), 0b11);
        let (sent, received, set, words) = decided(&ptp, mode, BOTH);
        assert_eq!((sent, received, set), (true, false, None));
        assert!(words.contains("PTP alone") && words.contains("left alone"), "{words}");
        // What is not sent here need not be stamped here.
        let only = StampedDirections { sends: false, receives: true };
        assert_eq!(decided(&interface(Some(all), 0b11), mode, only), (false, true, None, String::new()));
    }
}

#[test]
fn an_interface_that_stamps_nothing_is_set_where_that_was_asked_for_and_only_to_what_is_needed() {
    let off = interface(Some(HardwareStamping::OFF), 0b11);
    let (sent, received, set, words) = decided(&off, HardwareMode::Auto, BOTH);
    assert_eq!((sent, received, set), (false, false, None));
    assert!(words.contains("--hardware-stamps on"), "{words}");
    assert_eq!(decided(&off, HardwareMode::On, BOTH), (true, true, Some([0, 1, 1]), String::new()));
    let only = StampedDirections { sends: false, receives: true };
    assert_eq!(decided(&off, HardwareMode::On, only), (false, true, Some([0, 0, 1]), String::new()));
    // Hardware that recognizes PTP alone.
    let (sent, received, set, words) =
        decided(&interface(Some(HardwareStamping::OFF), 1 << 12), HardwareMode::On, BOTH);
    assert_eq!((sent, received, set), (true, false, Some([0, 1, 0])));
    assert!(words.contains("those of PTP at most"), "{words}");
}

#[test]
fn what_has_no_clock_or_hides_behind_others_stamps_nothing() {
    let bare = Interface { stamping: None, ..interface(Some(HardwareStamping::OFF), 0b11) };
    let silent = interface(None, 0b11);
    let bond = Interface { kind: Some("bond".to_owned()), ..interface(Some(HardwareStamping::OFF), 0b11) };
    for (interface, words) in [(bare, "no clock"), (silent, "SIOCGHWTSTAMP"), (bond, "is a bond")] {
        let (sent, received, set, said) = decided(&interface, HardwareMode::On, BOTH);
        assert_eq!((sent, received, set), (false, false, None));
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn on_a_machine_without_such_an_interface_auto_goes_on_and_on_says_why_not() {
    let reaches: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let found = |mode, path| Hardware::find(mode, path, reaches, BOTH);
    assert!(found(HardwareMode::Off, PacketPath::Udp).unwrap().is_none());
    for (path, words) in [(PacketPath::Udp, "within this machine"), (PacketPath::Xdp, "'xdp'")] {
        let auto = found(HardwareMode::Auto, path).unwrap().unwrap();
        assert!(!auto.stamps_sent() && !auto.stamps_received() && auto.receiving_scale().is_none());
        let said = auto.describe("a").in_words();
        assert!(said.contains("stamped no packet") && said.contains(words), "{said}");
        let Err(refused) = found(HardwareMode::On, path) else { panic!("it has no such interface") };
        assert!(refused.to_string().contains(words) && refused.to_string().contains("auto"), "{refused}");
    }
}
