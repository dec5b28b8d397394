//! Files that claim to be programs or libraries: where their functions stand is found or not, none makes a panic, and a place is
//! within what the file says of itself.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let mut asked = 0_u64;
    let mut read = |offset: u64, length: usize| {
        asked += 1;
        let start = usize::try_from(offset).ok()?;
        file.get(start..start.checked_add(length)?).map(<[u8]>::to_vec)
    };
    let functions = trace::functions(&mut read, &|name| !name.is_empty());
    for (at, function) in functions.iter().flatten().enumerate() {
        assert!(!function.name.is_empty() && function.name.len() <= 256);
        let same = functions.iter().flatten().filter(|other| other.offset == function.offset).count();
        assert_eq!(same, 1, "function {at} stands twice");
    }
    // Two reads for each table of symbols, of which there are at most as many as sections.
    assert!(asked <= 4 + 2 * 4_096);
});
