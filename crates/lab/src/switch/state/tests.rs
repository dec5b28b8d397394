use proptest::prelude::*;
use units::Ns;

use super::*;
use crate::switch::{Impairment, MAX_WAITING_FRAMES, PortConfig};

const BROADCAST: Mac = [0xff; 6];
const PTP: Mac = [0x01, 0x1b, 0x19, 0, 0, 0];
const PTP_PEER_DELAY: Mac = [0x01, 0x80, 0xc2, 0, 0, 0x0e];

/// The MAC address of the guest at a port.
fn mac(port: usize) -> Mac {
    [2, 0, 0, 0, 0, u8::try_from(port).unwrap()]
}

fn frame(destination: Mac, source: Mac, number: u32) -> Vec<u8> {
    [&destination[..], &source[..], &[0x88, 0xf7], &number.to_be_bytes()[..]].concat()
}

fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[14..18].try_into().unwrap())
}

fn config(ports: usize, seed: u64, from_guest: &Impairment, to_guest: &Impairment) -> SwitchConfig {
    let port = |port| PortConfig {
        local: format!("s{port}").into(),
        remote: format!("g{port}").into(),
        from_guest: from_guest.clone(),
        to_guest: to_guest.clone(),
        ..PortConfig::default()
    };
    SwitchConfig { seed, port: (0..ports).map(port).collect() }
}

fn plain(ports: usize) -> Switch {
    Switch::new(&config(ports, 0, &Impairment::default(), &Impairment::default())).unwrap()
}

/// Two ports, with `impairment` only from port 0 to the switch, so that one direction is tested.
fn one_way(seed: u64, impairment: &Impairment) -> Switch {
    let mut config = config(2, seed, &Impairment::default(), &Impairment::default());
    config.port[0].from_guest = impairment.clone();
    Switch::new(&config).unwrap()
}

/// Sends `count` frames from port 0, one every `interval_ns`, and returns due time and number of all frames that leave
/// at port 1.
fn pass_through(switch: &mut Switch, count: u32, interval_ns: i64) -> Vec<(i64, u32)> {
    let mut out = Vec::new();
    let mut take = |deliveries: Vec<Delivery>| {
        out.extend(deliveries.iter().map(|delivery| (delivery.due_ns, number(&delivery.frame))));
    };
    for number in 0..count {
        let now_ns = i64::from(number) * interval_ns;
        take(switch.due(now_ns));
        switch.arrived(0, &frame(BROADCAST, mac(0), number), now_ns);
    }
    while let Some(due_ns) = switch.next_due_ns() {
        take(switch.due(due_ns));
    }
    for port in switch.counters() {
        for leg in [port.from_guest, port.to_guest] {
            assert_eq!(leg.entered + leg.duplicated, leg.dropped + leg.overflowed + leg.left + leg.waiting);
            assert_eq!(leg.waiting, 0);
        }
    }
    out
}

fn delivery_ports(deliveries: &[Delivery]) -> Vec<usize> {
    deliveries.iter().map(|delivery| delivery.port).collect()
}

#[test]
fn frames_to_a_learned_address_go_only_to_its_port() {
    let mut switch = plain(4);
    let mut send = |from: usize, destination: Mac| {
        switch.arrived(from, &frame(destination, mac(from), 0), 0);
        delivery_ports(&switch.due(0))
    };
    assert_eq!(send(0, mac(2)), [1, 2, 3], "unknown yet");
    assert_eq!(send(2, mac(0)), [0], "learned from the first frame");
    assert_eq!(send(0, mac(2)), [2]);
    assert_eq!(send(2, mac(3)), [0, 1, 3]);
    for group in [BROADCAST, PTP, PTP_PEER_DELAY] {
        assert_eq!(send(1, group), [0, 2, 3]);
    }
}

#[test]
fn an_address_that_moved_is_followed() {
    let mut switch = plain(3);
    switch.arrived(0, &frame(BROADCAST, mac(9), 0), 0);
    switch.arrived(1, &frame(BROADCAST, mac(9), 0), 1);
    switch.due(1);
    switch.arrived(2, &frame(mac(9), mac(2), 0), 2);
    assert_eq!(delivery_ports(&switch.due(2)), [1]);
}

#[test]
fn a_frame_for_its_own_port_is_not_forwarded() {
    let mut switch = plain(2);
    switch.arrived(0, &frame(BROADCAST, mac(7), 0), 0);
    switch.due(0);
    switch.arrived(0, &frame(mac(7), mac(0), 0), 1);
    assert_eq!(switch.due(1), []);
    assert_eq!(switch.counters()[0].local, 1);
}

#[test]
fn a_group_address_is_never_learned() {
    let mut switch = plain(3);
    switch.arrived(0, &frame(mac(1), PTP, 0), 0);
    switch.due(0);
    switch.arrived(1, &frame(PTP, mac(1), 0), 1);
    assert_eq!(delivery_ports(&switch.due(1)), [0, 2]);
}

#[test]
fn a_full_table_of_addresses_floods() {
    let mut switch = plain(3);
    for number in 0..u32::try_from(MAX_ADDRESSES).unwrap() {
        let [a, b, c, d] = number.to_be_bytes();
        switch.arrived(0, &frame(mac(0), [4, 0, a, b, c, d], number), 0);
        switch.due(0);
    }
    switch.arrived(1, &frame(BROADCAST, mac(1), 0), 1);
    switch.due(1);
    switch.arrived(0, &frame(mac(1), mac(0), 0), 2);
    assert_eq!(delivery_ports(&switch.due(2)), [1, 2]);
    assert_eq!(switch.learned.len(), MAX_ADDRESSES);
}

#[test]
fn odd_lengths_are_counted_and_dropped() {
    let mut switch = plain(2);
    for length in [0, 13, 65_537, 100_000] {
        switch.arrived(0, &vec![0xff; length], 0);
    }
    assert_eq!((switch.next_due_ns(), switch.counters()[0].odd_length), (None, 4));
    for length in [14, 65_536] {
        switch.arrived(0, &vec![0xff; length], 0);
    }
    assert_eq!(switch.due(0).len(), 2);
    let counters = switch.counters();
    assert_eq!((counters[0].received, counters[0].odd_length, counters[1].to_guest.left), (6, 4, 2));
}

#[test]
fn delays_add_up_and_each_direction_has_its_own() {
    let delay = |ms| Impairment { delay: Ns::from_ms(ms), ..Impairment::default() };
    let mut config = config(2, 0, &delay(1), &delay(2));
    config.port[1] = PortConfig { from_guest: delay(30), to_guest: delay(40), ..config.port[1].clone() };
    let mut switch = Switch::new(&config).unwrap();
    switch.arrived(0, &frame(mac(1), mac(0), 0), 5);
    switch.arrived(1, &frame(mac(0), mac(1), 0), 7);
    // Called far too late: the second leg still begins when the first one ended.
    let due: Vec<_> = switch.due(1_000_000_000).iter().map(|delivery| (delivery.port, delivery.due_ns)).collect();
    assert_eq!(due, [(0, 32_000_007), (1, 41_000_005)]);
}

#[test]
fn losses_and_copies_occur_at_the_stated_rate() {
    for (seed, part) in [(1, 0.01), (2, 0.2), (3, 0.5)] {
        let impairment = Impairment { drop: part, duplicate: part, ..Impairment::default() };
        let mut switch = one_way(seed, &impairment);
        let out = pass_through(&mut switch, 100_000, 1_000);
        let counted = switch.counters()[0].from_guest;
        // Six standard deviations of a binomial count; the seed is fixed, so this passes always or never.
        let about = |count: u64, of: f64| {
            let wide = 6.0 * (of * part * (1.0 - part)).sqrt();
            assert!((units::approx_f64(count) - of * part).abs() < wide, "{count} of {of} at {part}");
        };
        about(counted.dropped, 100_000.0);
        about(counted.duplicated, units::approx_f64(100_000 - counted.dropped));
        assert_eq!(u64::try_from(out.len()).unwrap(), 100_000 - counted.dropped + counted.duplicated);
        let copies = out.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert_eq!(u64::try_from(copies).unwrap(), counted.duplicated, "a copy directly follows");
    }
}

#[test]
fn the_same_seed_repeats_and_another_does_not() {
    let impairment =
        Impairment { jitter: Ns::from_us(50), drop: 0.1, duplicate: 0.1, reorder: 0.1, ..Impairment::default() };
    let run = |seed| pass_through(&mut one_way(seed, &impairment), 1_000, 10_000);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn one_impairment_does_not_affect_another() {
    let fates = |impairment: &Impairment| {
        let mut numbers: Vec<u32> =
            pass_through(&mut one_way(4, impairment), 1_000, 10_000).iter().map(|out| out.1).collect();
        numbers.sort_unstable();
        (0..1_000).map(|number| numbers.iter().filter(|out| **out == number).count()).collect::<Vec<_>>()
    };
    let drop = Impairment { drop: 0.1, ..Impairment::default() };
    let duplicate = Impairment { duplicate: 0.3, ..Impairment::default() };
    let late = Impairment { jitter: Ns::from_us(5), delay: Ns::from_ms(1), reorder: 0.2, ..Impairment::default() };
    let all = Impairment { drop: drop.drop, duplicate: duplicate.duplicate, ..late };
    // How often each frame arrived: 0 if it was lost, 2 if it was duplicated.
    let expected: Vec<_> = fates(&drop).iter().zip(fates(&duplicate)).map(|(lost, doubled)| lost * doubled).collect();
    assert_eq!(fates(&all), expected);
    assert!((0..3).all(|times| expected.contains(&times)));
}

#[test]
fn each_direction_has_its_own_random_stream() {
    let impairment = Impairment { drop: 0.5, ..Impairment::default() };
    let mut switch = Switch::new(&config(3, 1, &Impairment::default(), &impairment)).unwrap();
    let mut seen = [Vec::new(), Vec::new(), Vec::new()];
    for number in 0..200 {
        switch.arrived(0, &frame(BROADCAST, mac(0), number), i64::from(number));
        for delivery in switch.due(i64::from(number)) {
            seen[delivery.port].push(number);
        }
    }
    assert_ne!(seen[1], seen[2]);
}

#[test]
fn a_reordered_frame_directly_follows_the_one_that_overtook_it() {
    let mut switch = one_way(5, &Impairment { delay: Ns::from_us(20), reorder: 0.2, ..Impairment::default() });
    let out = pass_through(&mut switch, 10_000, 1_000);
    let counted = switch.counters()[0].from_guest;
    assert_eq!(out.len(), 10_000);
    assert!(counted.held_in_vain < 5, "only the very last ones: {}", counted.held_in_vain);
    assert!((1_700..2_300).contains(&counted.reordered), "{}", counted.reordered);
    let mut sorted: Vec<u32> = out.iter().map(|out| out.1).collect();
    let late = sorted.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert!(late > 1_200, "{late}");
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..10_000));
}

#[test]
fn a_frame_that_nothing_overtakes_is_held_for_the_stated_time() {
    let mut switch = one_way(6, &Impairment { reorder: 0.5, ..Impairment::default() });
    let interval_ns = REORDER_HOLD_NS + 1;
    let out = pass_through(&mut switch, 100, interval_ns);
    assert!(out.iter().map(|out| out.1).eq(0..100), "too rare to be overtaken");
    let late =
        out.iter().filter(|(due_ns, number)| due_ns - i64::from(*number) * interval_ns == REORDER_HOLD_NS).count();
    let counted = switch.counters()[0].from_guest;
    assert_eq!((u64::try_from(late).unwrap(), counted.reordered), (counted.held_in_vain, 0));
    assert!(late > 20);
}

#[test]
fn a_flood_is_bounded_and_counted() {
    let mut switch = one_way(0, &Impairment { delay: Ns::from_s(1), ..Impairment::default() });
    let out = pass_through(&mut switch, 5_000, 1);
    assert_eq!(u64::try_from(out.len()).unwrap(), MAX_WAITING_FRAMES);
    assert_eq!(switch.counters()[0].from_guest.overflowed, 5_000 - MAX_WAITING_FRAMES);
}

/// Frames as (from, to, nanoseconds since the previous one); a `to` beyond the ports means all.
fn traffic() -> impl Strategy<Value = Vec<(usize, usize, i64)>> {
    prop::collection::vec((0..4_usize, 0..6_usize, 0..2_000_i64), 0..200)
}

/// Any link that neither loses nor duplicates frames.
fn delays() -> impl Strategy<Value = Impairment> {
    (0..5_000_i64, 0..5_000_i64).prop_map(|(delay_ns, jitter_ns)| Impairment {
        delay: Ns(delay_ns),
        jitter: Ns(jitter_ns),
        ..Impairment::default()
    })
}

proptest! {
    #[test]
    fn no_frame_is_lost_or_duplicated_and_order_and_delay_are_kept(
        frames in traffic(),
        from_guest in delays(),
        to_guest in delays(),
        seed: u64,
        step_ns in 1..3_000_i64,
    ) {
        let mut switch = Switch::new(&config(4, seed, &from_guest, &to_guest)).unwrap();
        let mut sent_ns = Vec::new();
        let (mut now_ns, mut looked_ns) = (0, 0);
        let mut out = Vec::new();
        for (number, (from, to, gap_ns)) in frames.iter().enumerate() {
            now_ns += gap_ns;
            // Calling `due` late and seldom must not change anything.
            if now_ns >= looked_ns + step_ns {
                looked_ns = now_ns;
                out.extend(switch.due(now_ns));
            }
            let destination = if *to < 4 { mac(*to) } else { PTP };
            switch.arrived(*from, &frame(destination, mac(*from), u32::try_from(number).unwrap()), now_ns);
            sent_ns.push(now_ns);
        }
        while let Some(due_ns) = switch.next_due_ns() {
            out.extend(switch.due(due_ns));
        }
        let least_ns = from_guest.delay.0 + to_guest.delay.0;
        let most_ns = least_ns + from_guest.jitter.0 + to_guest.jitter.0;
        // The receivers of each frame, and the order within each flow.
        let mut to_whom = vec![Vec::new(); frames.len()];
        let mut last: HashMap<(usize, usize), (usize, i64)> = HashMap::new();
        for delivery in &out {
            let number = usize::try_from(number(&delivery.frame)).unwrap();
            let (from, _, _) = frames[number];
            to_whom[number].push(delivery.port);
            let took_ns = delivery.due_ns - sent_ns[number];
            prop_assert!((least_ns..=most_ns).contains(&took_ns), "{took_ns} of {least_ns} to {most_ns}");
            let before = last.insert((from, delivery.port), (number, delivery.due_ns));
            prop_assert!(before.is_none_or(|before| before < (number, delivery.due_ns) && before.1 <= delivery.due_ns));
        }
        for (&(from, to, _), mut reached) in frames.iter().zip(to_whom) {
            reached.sort_unstable();
            let others: Vec<usize> = (0..4).filter(|port| *port != from).collect();
            if to == from {
                // The frame itself has just taught the switch this address.
                prop_assert!(reached.is_empty());
            } else {
                // Once to the addressee, or once to everybody but the sender.
                prop_assert!(reached == [to] || reached == others, "{from} to {to}: {reached:?}");
                prop_assert!(to < 4 || reached == others);
            }
        }
    }

    #[test]
    fn every_frame_is_accounted_for(
        frames in traffic(),
        seed: u64,
        (drop, duplicate, reorder) in (0.0..1.0, 0.0..1.0, 0.0..0.99),
        late_ns in 0..20_000_000_i64,
    ) {
        let impairment = Impairment { delay: Ns(1_000), jitter: Ns(3_000), drop, duplicate, reorder, only: None };
        let mut switch = Switch::new(&config(4, seed, &impairment, &impairment)).unwrap();
        let mut now_ns = 0;
        let mut out = 0;
        for (from, to, gap_ns) in frames {
            now_ns += gap_ns;
            switch.arrived(from, &frame(mac(to), mac(from), 0), now_ns);
            let deliveries = switch.due(now_ns);
            prop_assert!(deliveries.is_sorted_by_key(|delivery| delivery.due_ns));
            out += deliveries.len();
        }
        out += switch.due(now_ns + late_ns).len();
        let mut left = 0;
        for port in switch.counters() {
            for leg in [port.from_guest, port.to_guest] {
                prop_assert_eq!(leg.entered + leg.duplicated, leg.dropped + leg.overflowed + leg.left + leg.waiting);
            }
            prop_assert_eq!(port.received, port.odd_length + port.from_guest.entered);
            left += port.to_guest.left;
        }
        prop_assert_eq!(left, u64::try_from(out).unwrap());
    }
}

#[test]
fn one_flow_is_delayed_and_the_rest_passes_at_once() {
    let mut impairment: Impairment = "delay=30ms,only=ptp/sync".parse().unwrap();
    let mut switch = one_way(0, &impairment);
    // The first byte behind the EtherType is 0 in a Sync, and 1 in a Delay_Req.
    let message = |kind: u8, number: u8| [&PTP[..], &mac(0), &[0x88, 0xf7, kind, number]].concat();
    let times: Vec<(u8, u8)> = vec![(0, 1), (1, 2), (0, 3), (1, 4)];
    for (at_ns, (kind, number)) in (0..).zip(times) {
        switch.arrived(0, &message(kind, number), at_ns * 1_000_000);
    }
    let out: Vec<(i64, u8)> =
        switch.due(100_000_000).iter().map(|delivery| (delivery.due_ns / 1_000_000, delivery.frame[15])).collect();
    assert_eq!(out, [(1, 2), (3, 4), (30, 1), (32, 3)]);
    let counters = switch.counters()[0].from_guest;
    assert_eq!((counters.entered, counters.spared, counters.left, counters.waiting), (4, 2, 4, 0));
    // The flow's own frames keep their order when the delay shrinks; the others still pass.
    switch.arrived(0, &message(0, 5), 200_000_000);
    impairment.delay = Ns::from_ms(1);
    switch.set_link(0, impairment, Impairment::default());
    switch.arrived(0, &message(0, 6), 201_000_000);
    switch.arrived(0, &message(1, 7), 202_000_000);
    let out: Vec<(i64, u8)> =
        switch.due(300_000_000).iter().map(|delivery| (delivery.due_ns / 1_000_000, delivery.frame[15])).collect();
    assert_eq!(out, [(202, 7), (230, 5), (230, 6)]);
}

#[test]
fn other_flows_do_not_change_the_fate_of_the_impaired_one() {
    let impairment = Impairment { drop: 0.5, only: Some("ptp/sync".parse().unwrap()), ..Impairment::default() };
    let survivors = |beside: u8| {
        let mut switch = one_way(9, &impairment);
        let mut out = Vec::new();
        for number in 0..100_u8 {
            for _ in 0..beside {
                switch.arrived(0, &[&PTP[..], &mac(0), &[0x88, 0xf7, 1, number]].concat(), i64::from(number));
            }
            switch.arrived(0, &[&PTP[..], &mac(0), &[0x88, 0xf7, 0, number]].concat(), i64::from(number));
        }
        out.extend(switch.due(1_000).iter().filter(|of| of.frame[14] == 0).map(|of| of.frame[15]));
        out
    };
    let alone = survivors(0);
    assert!((20..80).contains(&alone.len()), "{}", alone.len());
    assert_eq!(survivors(3), alone);
}
