//! A machine that dies at every single operation of `apply` and of `revert`, by a kill or by a power cut, is as it was
//! before once `revert` has run.

mod sim;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use knobs::{Form, Owner, Place, Plan, Step, Value};

use self::sim::{Death, Process, Shared, SimMachine, SimStore, World};
use crate::{Application, ApplyError, Standing, Store, apply, revert, verify};

const CGROUP: &str = "/sys/fs/cgroup";
/// How many changes [`plan`] has.
const STEPS: u32 = 36;
const GOVERNOR: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
const PREFERENCE: &str = "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference";
const DROP_IN: &str = "/etc/default/grub.d/95-punctual.cfg";
const ENTRY: &str = "/boot/efi/loader/entries/punctual.conf";
const DEFAULT_ENTRY: &str = knobs::boot::efi::ENTRY_DEFAULT;
const ENVIRONMENT: &str = "/boot/armbianEnv.txt";
const TIME_UNIT: &str = "/run/systemd/system/punctual-ptp4l.service";
const TAI_OFFSET: &str = "CLOCK_TAI less CLOCK_REALTIME";
const SAVED: &str = "/boot/armbianEnv.punctual-original.txt";

fn fresh() -> World {
    let attributes = [
        ("/sys/fs/cgroup/cgroup.subtree_control", "cpu memory"),
        ("/proc/irq/9/smp_affinity_list", "0-3"),
        ("/proc/irq/10/smp_affinity_list", "0-3"),
        ("/proc/sys/vm/swappiness", "60"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
        ("/sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never"),
        (GOVERNOR, "powersave"),
        (PREFERENCE, "balance_performance"),
        ("/sys/devices/virtual/workqueue/cpumask", "00f"),
        ("/proc/sys/kernel/watchdog_cpumask", "0-3"),
        ("/sys/module/own/parameters/helps", "N"),
        ("/sys/block/sda/queue/scheduler", "[mq-deadline] none"),
        ("/sys/fs/cgroup/app/cpu.max", "max 100000"),
        ("/sys/fs/cgroup/app/cpuset.cpus", ""),
        ("irqbalance.service", "active"),
        ("chrony.service", "active"),
        ("punctual-ptp4l.service", "inactive"),
        (TAI_OFFSET, "0"),
        ("/sys/fs/cgroup/cpuset/cpuset.sched_load_balance", "1"),
        ("/sys/class/net/eth0#adaptive-rx", "1"),
        ("/sys/class/net/eth0#rx-usecs", "48"),
    ];
    let attributes = attributes.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    let files = [
        ("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"quiet\"\n"),
        ("/boot/efi/loader/entries/old.conf", "linux /linux"),
        (DEFAULT_ENTRY, "old.conf"),
        (ENVIRONMENT, "extraargs=x"),
        ("/etc/tuned/realtime-variables.conf", "isolated_cores=1\n"),
        ("/etc/tuned/active_profile", "auto balanced"),
    ];
    let files: BTreeMap<_, _> = files.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    World { attributes, boot_made_of: files.clone(), files, boot_id: "one".to_owned(), ..World::default() }
}

fn plan() -> Plan {
    let step = |knob: &str, place: Place, form: Form, before: Value, wanted: &str, group: u32| Step {
        knob: knob.to_owned(),
        of: String::new(),
        in_new_folder: place.path().starts_with(CGROUP)
            && place.path().contains("/punctual")
            && !matches!(place, Place::Folder { .. }),
        place,
        form,
        before,
        wanted: Value::text(wanted),
        group,
        why: "it helps".to_owned(),
        cost: String::new(),
        may_refuse: knob == "irq.cpus" || knob == "rx-usecs",
    };
    let kernel_file = |path: &str, form: Form, before: &str, wanted: &str| {
        step("file", Place::attribute(path), form, Value::text(before), wanted, 5)
    };
    let folder = format!("{CGROUP}/punctual");
    let inside = |name: &str| Place::attribute(format!("{folder}/{name}"));
    let word = Place::Word { path: format!("{CGROUP}/cgroup.subtree_control"), word: "cpuset".to_owned() };
    let others = "/sys/fs/cgroup/cpuset/punctual-others";
    let tasks = Place::Tasks { path: others.to_owned(), from: "/sys/fs/cgroup/cpuset".to_owned() };
    let others_mems = Place::attribute(format!("{others}/cpuset.mems"));
    let balance = Place::attribute("/sys/fs/cgroup/cpuset/cpuset.sched_load_balance");
    let irq = |number: u32| Place::attribute(format!("/proc/irq/{number}/smp_affinity_list"));
    let huge = Place::attribute("/sys/kernel/mm/transparent_hugepage/enabled");
    let file = |path: &str| Place::File { path: path.to_owned() };
    let entry = Place::EfiString { path: DEFAULT_ENTRY.to_owned() };
    let variables = file("/etc/tuned/realtime-variables.conf");
    let irqbalance = Place::Service { unit: "irqbalance.service".to_owned() };
    let chrony = Place::Service { unit: "chrony.service".to_owned() };
    let ptp4l = Place::Service { unit: "punctual-ptp4l.service".to_owned() };
    let held = Place::HeldOpen { path: "/dev/cpu_dma_latency".to_owned() };
    let nic = |field: &str| Place::Ethtool { path: "/sys/class/net/eth0".to_owned(), field: field.to_owned() };
    let steps = vec![
        step("service.irqbalance", irqbalance, Form::Text, Value::text("active"), "inactive", 9),
        step("service", chrony, Form::Text, Value::text("active"), "inactive", 9),
        step("tuned.variables", variables, Form::Text, Value::text("isolated_cores=1\n"), "isolated_cores=3\n", 8),
        step("tuned.profile", Place::TunedProfile, Form::Text, Value::text("auto balanced"), "manual realtime", 8),
        step("cpuset.controller", word, Form::Text, Value::Absent, "cpuset", 0),
        step("cpuset.group", Place::Folder { path: folder.clone() }, Form::Text, Value::Absent, "", 0),
        step("cpuset.cpus", inside("cpuset.cpus"), Form::CpuList, Value::Absent, "2-3", 0),
        step("cpuset.partition", inside("cpuset.cpus.partition"), Form::Partition, Value::Absent, "isolated", 0),
        step("cpuset-others.group", Place::Folder { path: others.to_owned() }, Form::Text, Value::Absent, "", 1),
        step("cpuset-others.mems", others_mems, Form::CpuList, Value::Absent, "0", 1),
        step("cpuset-others.tasks", tasks, Form::FirstWord, Value::Absent, "moved", 1),
        step("cpuset-root.balance", balance, Form::Integer, Value::text("1"), "0", 1),
        step("irq.cpus", irq(9), Form::CpuList, Value::text("0-3"), "0-1", 2),
        step("irq.cpus", irq(10), Form::CpuList, Value::text("0-3"), "0-1", 2),
        step("vm.swappiness", Place::attribute("/proc/sys/vm/swappiness"), Form::Integer, Value::text("60"), "10", 5),
        step("transparent-hugepage", huge, Form::Chosen, Value::text("always [madvise] never"), "never", 5),
        kernel_file(
            "/sys/kernel/mm/transparent_hugepage/defrag",
            Form::Chosen,
            "always defer defer+madvise [madvise] never",
            "defer+madvise",
        ),
        kernel_file(GOVERNOR, Form::Text, "powersave", "performance"),
        kernel_file(PREFERENCE, Form::Text, "balance_performance", "performance"),
        kernel_file("/sys/devices/virtual/workqueue/cpumask", Form::CpuMask, "00f", "3"),
        kernel_file("/proc/sys/kernel/watchdog_cpumask", Form::CpuList, "0-3", "0,1"),
        kernel_file("/sys/module/own/parameters/helps", Form::Switch, "N", "1"),
        kernel_file("/sys/block/sda/queue/scheduler", Form::AsShown, "[mq-deadline] none", "none"),
        kernel_file("/sys/fs/cgroup/app/cpu.max", Form::AsShown, "max 100000", "50000"),
        kernel_file("/sys/fs/cgroup/app/cpuset.cpus", Form::CpuList, "", "2,3"),
        step("adaptive-rx", nic("adaptive-rx"), Form::Integer, Value::text("1"), "0", 5),
        step("rx-usecs", nic("rx-usecs"), Form::Rounded, Value::text("48"), "10", 5),
        step("cpu.dma-latency-us", held, Form::FirstWord, Value::Absent, "0", 5),
        step("time.unit", file(TIME_UNIT), Form::Text, Value::Absent, "[Service]\nExecStart=/usr/sbin/ptp4l\n", 10),
        step("time.tai-less-utc", Place::TaiOffset, Form::Integer, Value::text("0"), "37", 11),
        step("time.service", ptp4l, Form::Text, Value::text("inactive"), "active", 12),
        step("boot.parameters", file(DROP_IN), Form::Text, Value::Absent, "isolcpus=3\n", 6),
        step("boot.parameters", file(ENTRY), Form::Text, Value::Absent, "linux /linux\noptions isolcpus=3\n", 6),
        step("boot.default-entry", entry, Form::Text, Value::text("old.conf"), "punctual.conf", 6),
        step("boot.saved-original", file(SAVED), Form::Text, Value::Absent, "extraargs=x", 6),
        step("boot.parameters", file(ENVIRONMENT), Form::Text, Value::text("extraargs=x"), "extraargs=x isolcpus=3", 6),
    ];
    Plan {
        schema: String::new(),
        schema_version: 1,
        steps,
        already: 0,
        absent: Vec::new(),
        withheld: Vec::new(),
        conflicts: Vec::new(),
        notes: Vec::new(),
    }
}

fn process(world: World, death: Option<Death>) -> Shared {
    let process = Process { world, death, operations: 0, is_dead: false, answers: BTreeMap::new() };
    Rc::new(RefCell::new(process))
}

fn machine(of: &Shared) -> SimMachine {
    let boot_id = of.borrow().world.boot_id.clone();
    SimMachine(Rc::clone(of), boot_id)
}

fn application() -> Application {
    Application { id: "t".to_owned(), realtime_ns: 1, intent: String::new(), keeps_going: false, owner: Owner::Tune }
}

fn run_apply(of: &Shared) -> Result<crate::Applied, ApplyError> {
    let stop = AtomicBool::new(false);
    apply(&plan(), &application(), &mut machine(of), &mut SimStore(Rc::clone(of)), &stop, &mut |_| {})
}

fn run_revert(of: &Shared, is_forced: bool) -> crate::Reverted {
    let reverted = revert(is_forced, &mut machine(of), &mut SimStore(Rc::clone(of)));
    reverted.unwrap_or_default()
}

/// What counts: all but the journal, every file of the kernel's as it is shown.
fn essence(world: &World) -> World {
    let mut essence = world.clone();
    essence.journal.clear();
    essence.synced = 0;
    essence
}

/// The machine after its power was cut: what was not on the disk is gone, the kernel's own is as at each start.
fn after_power_cut(world: &World) -> World {
    let mut next = fresh();
    // What is below /run is in memory.
    let is_on_disk = |path: &String| !path.starts_with("/run/");
    next.files = world.files.clone();
    next.files.retain(|path, _| is_on_disk(path));
    next.unfinished = world.unfinished.clone();
    next.unfinished.retain(is_on_disk);
    next.boot_made_of = world.boot_made_of.clone();
    next.journal = world.journal[..world.synced].to_vec();
    next.synced = world.synced;
    next.boot_id = "two".to_owned();
    next
}

/// Whatever is left to be reverted, the machine boots: what is the default is there, and where the only file is changed
/// its original is beside it.
fn assert_it_starts(world: &World, death: Death) {
    let default = &world.files[DEFAULT_ENTRY];
    assert!(world.files.contains_key(&format!("/boot/efi/loader/entries/{default}")), "{death:?}: no entry {default}");
    let is_changed = world.files[ENVIRONMENT] != fresh().files[ENVIRONMENT];
    assert!(!is_changed || world.files.get(SAVED) == fresh().files.get(ENVIRONMENT), "{death:?}: the original is lost");
}

fn deaths(operations: usize) -> impl Iterator<Item = Death> {
    (0..operations).flat_map(|at| [Death::Before(at), Death::After(at), Death::Within(at)])
}

#[test]
fn it_is_applied_verified_and_taken_back() {
    let one = process(fresh(), None);
    let applied = run_apply(&one).unwrap();
    assert_eq!((applied.made, applied.refused.len()), (STEPS, 0));
    assert_eq!(applied.adjusted.len(), 1);
    assert_eq!((&applied.adjusted[0].wanted, &applied.adjusted[0].found), (&Value::text("10"), &Value::text("8")));
    assert_ne!(essence(&one.borrow().world), essence(&fresh()));
    let transactions = SimStore(Rc::clone(&one)).transactions().unwrap();
    let standing = |in_force: bool| {
        let verified = verify(&transactions, &mut machine(&one), &|_| in_force);
        let is_fine = |one: &Standing| matches!(one, Standing::Effective | Standing::Adjusted(_));
        verified.into_iter().filter(|one| !is_fine(&one.standing)).collect::<Vec<_>>()
    };
    assert!(standing(true).is_empty());
    let pending = standing(false);
    assert_eq!(pending.len(), 7, "what is written for the boot loaders and for TuneD, and its profile");
    assert!(pending.iter().all(|one| matches!(one.standing, Standing::Pending(_))));
    let set = |path: &str, text: &str| one.borrow_mut().world.attributes.insert(path.to_owned(), text.to_owned());
    set("/proc/sys/vm/swappiness", "33");
    assert_eq!(standing(true)[0].standing, Standing::Changed(Value::text("33")));
    set("/proc/sys/vm/swappiness", "10");
    set("/proc/irq/9/effective_affinity_list", "3");
    assert!(matches!(standing(true)[0].standing, Standing::Pending(_)), "the interrupt has not moved yet");
    one.borrow_mut().world.attributes.remove("/proc/irq/9/effective_affinity_list");
    let held = one.borrow_mut().world.held.take();
    assert_eq!(standing(true)[0].standing, Standing::Ended, "the process was killed");
    one.borrow_mut().world.held = held;
    let reverted = run_revert(&one, false);
    assert!(reverted.left.is_empty() && reverted.failed.is_empty(), "{reverted}");
    assert_eq!(essence(&one.borrow().world), essence(&fresh()));
    assert!(one.borrow().world.journal.is_empty());
}

#[test]
fn killed_at_any_operation_of_apply_it_is_as_before() {
    let whole = process(fresh(), None);
    run_apply(&whole).unwrap();
    let operations = whole.borrow().operations;
    assert!(operations > 20);
    for death in deaths(operations) {
        let killed = process(fresh(), Some(death));
        assert!(run_apply(&killed).is_err() || death == Death::After(operations - 1), "{death:?}");
        let world = killed.borrow().world.clone();
        assert_it_starts(&world, death);
        let next = process(world.clone(), None);
        let reverted = run_revert(&next, false);
        assert!(reverted.left.is_empty() && reverted.failed.is_empty(), "{death:?}: {reverted}");
        assert_eq!(essence(&next.borrow().world), essence(&fresh()), "{death:?}");
        // The same with a power cut in its place.
        let next = process(after_power_cut(&world), None);
        let expected = World { boot_id: "two".to_owned(), ..fresh() };
        let reverted = run_revert(&next, false);
        assert!(reverted.left.is_empty() && reverted.failed.is_empty(), "{death:?}, power: {reverted}");
        assert_eq!(essence(&next.borrow().world), essence(&expected), "{death:?}, power");
    }
}

#[test]
fn killed_at_any_operation_of_revert_it_is_as_before_after_another() {
    let whole = process(fresh(), None);
    run_apply(&whole).unwrap();
    let applied = whole.borrow().world.clone();
    let counted = process(applied.clone(), None);
    run_revert(&counted, false);
    let operations = counted.borrow().operations;
    for death in deaths(operations) {
        let killed = process(applied.clone(), Some(death));
        run_revert(&killed, false);
        let world = killed.borrow().world.clone();
        assert_it_starts(&world, death);
        for (next, boot_id) in [(world.clone(), "one"), (after_power_cut(&world), "two")] {
            let next = process(next, None);
            let reverted = run_revert(&next, false);
            assert!(reverted.left.is_empty() && reverted.failed.is_empty(), "{death:?}: {reverted}");
            let expected = World { boot_id: boot_id.to_owned(), ..fresh() };
            assert_eq!(essence(&next.borrow().world), essence(&expected), "{death:?} {boot_id}");
        }
    }
}

#[test]
fn what_someone_else_wrote_is_told_and_left_unless_forced() {
    for is_forced in [false, true] {
        let one = process(fresh(), None);
        run_apply(&one).unwrap();
        one.borrow_mut().world.attributes.insert("/proc/sys/vm/swappiness".to_owned(), "33".to_owned());
        let reverted = run_revert(&one, is_forced);
        let now = one.borrow().world.attributes["/proc/sys/vm/swappiness"].clone();
        if is_forced {
            assert_eq!((now.as_str(), reverted.left.len()), ("60", 0));
        } else {
            assert_eq!(now, "33");
            assert!(reverted.to_string().contains("vm.swappiness was changed to 33"), "{reverted}");
        }
    }
}

#[test]
fn a_change_that_fails_takes_the_others_back() {
    let one = process(fresh(), None);
    let answer = Ok("isolated invalid (Parent is not a partition root)".to_owned());
    one.borrow_mut().answers.insert(format!("{CGROUP}/punctual/cpuset.cpus.partition"), answer);
    let failed = run_apply(&one).unwrap_err().to_string();
    assert!(
        failed.contains("cpuset.partition: isolated was written, isolated invalid")
            && failed.contains("all is as before"),
        "{failed}"
    );
    assert_eq!(essence(&one.borrow().world), essence(&fresh()));
}

#[test]
fn what_the_kernel_may_refuse_is_told_and_harms_nothing() {
    let one = process(fresh(), None);
    let refused = Err("Input/output error (os error 5)".to_owned());
    one.borrow_mut().answers.insert("/proc/irq/9/smp_affinity_list".to_owned(), refused);
    let applied = run_apply(&one).unwrap();
    assert_eq!((applied.made, applied.refused.len()), (STEPS - 1, 1));
    assert!(applied.refused[0].is_expected);
    one.borrow_mut().answers.clear();
    run_revert(&one, false);
    assert_eq!(essence(&one.borrow().world), essence(&fresh()));
}

#[test]
fn a_driver_that_does_not_give_back_what_stood_there_is_told() {
    let one = process(fresh(), None);
    run_apply(&one).unwrap();
    one.borrow_mut().answers.insert("/sys/class/net/eth0".to_owned(), Err("Device or resource busy".to_owned()));
    let reverted = run_revert(&one, false);
    assert_eq!(reverted.failed.len(), 2, "{reverted}");
    one.borrow_mut().answers.clear();
    // Nor one that says yes and keeps its own: it counts in steps of 4, and had something else.
    one.borrow_mut().world.attributes.insert("/sys/class/net/eth0#rx-usecs".to_owned(), "8".to_owned());
    let mut transactions = SimStore(Rc::clone(&one)).transactions().unwrap();
    let steps = transactions[0].taken.iter_mut().filter(|taken| taken.step.knob == "rx-usecs");
    steps.for_each(|taken| taken.step.before = Value::text("47"));
    SimStore(Rc::clone(&one)).replace(&transactions).unwrap();
    let reverted = run_revert(&one, false);
    assert!(reverted.to_string().contains("rx-usecs: 47 was written back, 44 is read"), "{reverted}");
}

#[test]
fn what_a_driver_takes_only_after_another_is_back_is_written_once_more() {
    let one = process(fresh(), None);
    run_apply(&one).unwrap();
    assert_eq!(one.borrow().world.attributes[PREFERENCE], "performance");
    let reverted = run_revert(&one, false);
    assert_eq!(reverted.failed, [], "with the governor performance the driver answers EBUSY");
    assert_eq!(one.borrow().world.attributes[PREFERENCE], "balance_performance");
    // Where the driver has given it back by itself nothing needs to be written; one that goes on refusing is told.
    let one = process(fresh(), None);
    run_apply(&one).unwrap();
    one.borrow_mut().answers.insert(GOVERNOR.to_owned(), Err("Input/output error (os error 5)".to_owned()));
    let failed = run_revert(&one, false).failed;
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(failed.iter().any(|(_, why)| why.contains("balance_performance could not be written back: Device")));
}

#[test]
fn a_journal_of_an_earlier_version_is_taken_back_too() {
    // It noted what the kernel had shown, by the forms of that time.
    let one = process(fresh(), None);
    run_apply(&one).unwrap();
    let mut transactions = SimStore(Rc::clone(&one)).transactions().unwrap();
    let partition = transactions[0].taken.iter_mut().find(|taken| taken.step.knob == "cpuset.partition").unwrap();
    partition.step.form = Form::Text;
    SimStore(Rc::clone(&one)).replace(&transactions).unwrap();
    assert_eq!(run_revert(&one, false).failed, []);
    assert_eq!(essence(&one.borrow().world), essence(&fresh()));
}

#[test]
fn a_second_intent_on_top_goes_first() {
    let one = process(fresh(), None);
    run_apply(&one).unwrap();
    let mut more = plan();
    more.steps.retain(|step| step.knob == "vm.swappiness");
    more.steps[0].before = Value::text("10");
    more.steps[0].wanted = Value::text("0");
    let stop = AtomicBool::new(false);
    apply(&more, &application(), &mut machine(&one), &mut SimStore(Rc::clone(&one)), &stop, &mut |_| {}).unwrap();
    assert_eq!(one.borrow().world.attributes["/proc/sys/vm/swappiness"], "0");
    run_revert(&one, false);
    assert_eq!(essence(&one.borrow().world), essence(&fresh()));
}

#[test]
fn a_revert_accounts_for_exactly_what_apply_has_made() {
    let shared = process(fresh(), None);
    let made = run_apply(&shared).unwrap().made;
    // One was taken over by someone else, one is as before already.
    shared.borrow_mut().world.attributes.insert("/proc/sys/vm/swappiness".to_owned(), "33".to_owned());
    shared.borrow_mut().world.attributes.insert("/proc/irq/9/smp_affinity_list".to_owned(), "0-3".to_owned());
    let reverted = run_revert(&shared, false);
    assert_eq!(reverted.changed(), made, "{reverted:?}");
    assert!(reverted.gone_with_group > 0 && reverted.as_before == 1 && reverted.left.len() == 1, "{reverted:?}");
    let words = reverted.sum_in_words();
    let numbers = words.split(", ").map(|part| part.split(' ').next().and_then(|word| word.parse::<u32>().ok()));
    let numbers: Vec<u32> = numbers.map(Option::unwrap_or_default).collect();
    assert_eq!((numbers[0], numbers[1..].iter().sum::<u32>()), (made, made), "{words}");
    // After a start of the machine the rest is gone, and still each is accounted for.
    let shared = process(fresh(), None);
    run_apply(&shared).unwrap();
    let started = process(after_power_cut(&shared.borrow().world), None);
    let reverted = run_revert(&started, false);
    assert_eq!(reverted.changed(), made, "{reverted:?}");
    assert!(reverted.gone_with_boot > 0, "{reverted:?}");
}

#[test]
fn one_of_two_is_taken_back_by_itself() {
    let shared = process(fresh(), None);
    run_apply(&shared).unwrap();
    let applied = essence(&shared.borrow().world);
    let place = Place::attribute("/sys/later");
    shared.borrow_mut().world.attributes.insert("/sys/later".to_owned(), "1".to_owned());
    let mut second = plan();
    second.steps.retain(|step| matches!(step.place, Place::Attribute { .. }));
    second.steps.truncate(1);
    (second.steps[0].place, second.steps[0].form) = (place, Form::Text);
    (second.steps[0].before, second.steps[0].wanted) = (Value::text("1"), Value::text("2"));
    second.steps[0].in_new_folder = false;
    let stop = AtomicBool::new(false);
    let on_top = Application { id: "second".to_owned(), ..application() };
    let (mut machine, mut store) = (machine(&shared), SimStore(Rc::clone(&shared)));
    apply(&second, &on_top, &mut machine, &mut store, &stop, &mut |_| {}).unwrap();

    let error = crate::revert_one("t", &mut machine, &mut store).unwrap_err();
    assert!(error.to_string().contains("second was applied after t"), "{error}");
    let reverted = crate::revert_one("second", &mut machine, &mut store).unwrap();
    assert_eq!((reverted.restored, reverted.left.len(), reverted.failed.len()), (1, 0, 0));
    let mut now = essence(&shared.borrow().world);
    assert_eq!(now.attributes.remove("/sys/later").as_deref(), Some("1"));
    assert_eq!(now, applied, "the other is still in force");
    assert_eq!(crate::revert_one("second", &mut machine, &mut store).unwrap(), crate::Reverted::default());
    run_revert(&shared, false);
    let mut now = essence(&shared.borrow().world);
    now.attributes.remove("/sys/later");
    assert_eq!(now, essence(&fresh()));
}

#[test]
fn what_went_with_a_start_of_the_machine_leaves_the_journal_at_the_next_apply() {
    let one = process(fresh(), None);
    run_apply(&one).unwrap();
    let mut run_time = plan();
    run_time.steps.retain(|step| step.knob == "vm.swappiness");
    let mut next = after_power_cut(&one.borrow().world);
    let mut lengths = Vec::new();
    for start in ["two", "three", "four"] {
        next.boot_id = start.to_owned();
        let now = process(next, None);
        let stop = AtomicBool::new(false);
        apply(&run_time, &application(), &mut machine(&now), &mut SimStore(Rc::clone(&now)), &stop, &mut |_| {})
            .unwrap();
        lengths.push(SimStore(Rc::clone(&now)).transactions().unwrap().len());
        next = after_power_cut(&now.borrow().world);
    }
    assert_eq!(lengths, [2, 2, 2], "the boot parameters' own, and this start's");
    let last = process(next, None);
    run_revert(&last, false);
    assert_eq!(essence(&last.borrow().world).files, fresh().files);
}

#[test]
fn told_to_stop_it_takes_back_what_it_did() {
    let one = process(fresh(), None);
    let stop = AtomicBool::new(false);
    let mut seen = 0;
    let stopped =
        apply(&plan(), &application(), &mut machine(&one), &mut SimStore(Rc::clone(&one)), &stop, &mut |_| {
            seen += 1;
            stop.store(seen == 5, std::sync::atomic::Ordering::Release);
        });
    assert!(matches!(stopped, Err(ApplyError::Stopped { .. })), "{stopped:?}");
    assert_eq!(essence(&one.borrow().world), essence(&fresh()));
}

/// The trees of captured machines show values as real kernels did: each value of each knob is written there, and then the
/// tree is as it was, to the byte.
#[test]
fn every_value_of_every_knob_is_taken_back_on_each_captured_machine() {
    let mut tried: BTreeMap<&str, u32> = BTreeMap::new();
    for host in fixtures::hosts() {
        let tree = tempfile::tempdir().unwrap();
        copy(&fixtures::host(&host), tree.path());
        let before = contents(tree.path());
        let root = host::Root::tree(tree.path()).unwrap();
        let site = crate::read_site(&root);
        let mut machine = crate::LiveMachine::below(tree.path()).unwrap();
        let mut store = SimStore(process(fresh(), None));
        // What a process holds needs the program itself.
        let is_file = |knob: &knobs::catalogue::Knob| knob.how != knobs::catalogue::How::HeldOpen;
        crate::try_all(&site, &is_file, 2, &mut machine, &mut store, &mut |trial| {
            assert!(!matches!(trial.outcome, crate::Outcome::Wrong(_)), "{host}: {trial:?}");
            *tried.entry(trial.knob).or_default() += u32::from(trial.outcome == crate::Outcome::TakenBack);
        });
        let mut after = contents(tree.path());
        after.retain(|path, _| before.contains_key(path));
        for (path, text) in &before {
            assert_eq!(after.get(path), Some(text), "{host}: {}", path.display());
        }
    }
    for knob in ["transparent-hugepage", "workqueue.cpus", "irq.cpus", "kernel.watchdog_cpumask", "cpu.governor"] {
        assert!(tried.get(knob).is_some_and(|count| *count > 0), "{knob}: {tried:?}");
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            all.extend(contents(&entry.path()));
        } else {
            all.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
    all
}
