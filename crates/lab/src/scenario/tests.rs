//! What a scenario may say, and what is refused.

use proptest::prelude::*;

use super::*;

#[test]
fn every_built_in_scenario_can_be_read_and_found_by_its_name() {
    assert_eq!(Scenario::all_built_in().count(), BUILT_IN.len());
    for scenario in Scenario::all_built_in() {
        assert!(Scenario::built_in_text(&scenario.name).is_some());
    }
}

#[test]
fn errors_name_the_bound() {
    let node = "[[node]]\nname = \"a\"\nkernel = \"6.12-rt\"\n";
    let check = |text: &str, part: &str| {
        let error = Scenario::parse(text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let head = "name = \"x\"\nabout = \"\"\n";
    check(&format!("{head}{node}cpus = 17\n"), "1 to 16 are possible");
    check(&format!("{head}{node}memory-mib = 1\n"), "128 to 16384");
    let board = node.replace("6.12-rt", "6.1-rt-armhf");
    check(&format!("{head}{board}cpus = 9\n"), "1 to 8 are possible");
    check(&format!("{head}{board}memory-mib = 4096\n"), "128 to 3072");
    check(&format!("{head}{board}analyzer = true\n"), "not amd64: analyzer");
    check(&format!("{head}{board}frequency-offset-ppm = 10\n"), "not amd64: frequency-offset-ppm");
    check(&format!("{head}{board}deterministic = true\n"), "not amd64: deterministic");
    check(&format!("{head}{board}proof = true\n"), "not amd64: proof");
    assert!(Scenario::parse(&format!("{head}{board}trace = ['pl061_set_output']\n")).is_ok());
    check(&format!("{head}{board}trace = ['pl061_*']\n"), "node a traces 'pl061_*'");
    check(&format!("{head}{node}analyzer = true\ntrace = ['cpu_reset']\n"), "QEMU has one log");
    let injects = "[[step]]\nabout = \"s\"\nrun = \"punctual-proof inject\"\n";
    check(&format!("{head}{node}{injects}"), "which node a gets with 'proof = true' alone");
    assert!(Scenario::parse(&format!("{head}{node}proof = true\n{injects}")).is_ok());
    check(&format!("{head}{node}deterministic = true\ncpus = 2\n"), "it must have one CPU");
    check(&format!("{head}{node}{node}"), "two nodes are named a");
    check(&format!("{head}node = []\n"), "nothing to boot");
    check(&format!("{head}{node}cpu = 1\n"), "line 6");
    check(&format!("{head}{node}frequency-offset-ppm = -10001\n"), "-10000 to 10000");
    let disk = "[[node]]\nname = \"a\"\ndisk = \"debian-13\"\n";
    check(&format!("{head}{disk}kernel = \"6.12-rt\"\n"), "debian-13 boots its own kernel");
    check(&format!("{head}{disk}memory-mib = 383\n"), "needs at least 384");
    check(&format!("{head}{disk}frequency-offset-ppm = 1\n"), "only a node with a kernel can have one");
    check(&format!("{head}{disk}proof = true\n"), "only for nodes with a kernel");
    check(&format!("{head}{disk}boot = 'a=\"b\"'\n"), "has '\"' in its boot parameters");
    check(&format!("{head}[[node]]\nname = \"a\"\n"), "neither a kernel nor a disk");
    check(&format!("{head}{}", disk.replace("13", "11")), "debian-12");
    assert!(Scenario::parse(&format!("{head}{disk}boot = 'isolcpus=1'\n")).is_ok());
    check("name = \"../x\"\nabout = \"\"\nnode = []\n", "not a valid name");
}

#[test]
fn a_step_passes_or_names_the_fault() {
    let step = Step {
        about: String::new(),
        node: None,
        run: String::new(),
        lab: None,
        reboot: None,
        within_s: None,
        exit: vec![0, 1],
        contains: vec!["isolated".to_owned()],
        lacks: vec!["problem".to_owned()],
        keep: Vec::new(),
    };
    assert_eq!(step.fault(1, "isolated 2-3"), None);
    assert_eq!(step.fault(3, "isolated 2-3").unwrap(), "the exit code is 3 instead of [0, 1]");
    assert_eq!(step.fault(0, "").unwrap(), "the output lacks 'isolated'");
    assert_eq!(step.fault(0, "isolated, a problem").unwrap(), "the output contains 'problem'");
    let text = "name = \"x\"\nabout = \"\"\n[[node]]\nname = \"a\"\nkernel = \"6.12-rt\"\n\
                [[step]]\nabout = \"s\"\nnode = \"b\"\nrun = \"true\"\n";
    assert!(Scenario::parse(text).unwrap_err().to_string().contains("node b, which the scenario does not have"));
}

#[test]
fn a_step_does_one_thing() {
    let check = |node: &str, step: &str, part: &str| {
        let text =
            format!("name = \"x\"\nabout = \"\"\n[[node]]\nname = \"a\"\n{node}\n[[step]]\nabout = \"s\"\n{step}\n");
        match Scenario::parse(&text) {
            Ok(_) => assert_eq!(part, ""),
            Err(error) => assert!(!part.is_empty() && error.to_string().contains(part), "{error}"),
        }
    };
    let (kernel, disk) = ("kernel = \"6.12-rt\"", "disk = \"debian-13\"");
    check(disk, "reboot = \"power-cut\"\nwithin-s = 60", "");
    check(disk, "reboot = \"orderly\"\nrun = \"true\"", "more than one of");
    check(disk, "reboot = \"later\"", "power-cut");
    check(disk, "", "nor 'reboot': name one of them");
    check(disk, "run = \"true\"\nwithin-s = 60", "");
    check(disk, "lab = \"link\"\nwithin-s = 60", "both 'within-s'");
    check(kernel, "reboot = \"orderly\"", "reboots node a, which has no disk");
    check(kernel, "lab = \"analyzer --between a b\"", "");
    check(kernel, "run = \"true\"\nlab = \"link\"", "more than one of");
    check(kernel, "node = \"a\"\nlab = \"link\"", "and 'node'");
    check(kernel, "lab = \"down\"", "'lab down': allowed are analyzer, link, trace");
    check(kernel, "lab = \"\"", "allowed are");
    check(kernel, "run = \"true\"\nkeep = [\"/run/a.html\"]", "");
    check(kernel, "lab = \"link\"\nkeep = [\"/run/a.html\"]", "only for 'run'");
    check(kernel, "run = \"true\"\nkeep = [\"a.html\"]", "does not begin with '/'");
}

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(text in ".{0,200}") {
        let _ = Scenario::parse(&text);
    }
}

#[test]
fn what_is_more_than_a_name_to_qemu_is_none() {
    assert!(is_event("pl061_set_output"));
    for word in ["", "pl061_*", "pl061_read,file=/etc/passwd", "-pl061_read", "Pl061"] {
        assert!(!is_event(word), "{word}");
    }
}
