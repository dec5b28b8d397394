//! Files of boot loaders, as any user or program may have left them: each loader refuses them, or what it writes reads
//! back, the same wish is the same plan, and taken back every byte is as before. The text is a tree: a line `=== PATH`
//! before each file.
#![no_main]

use std::collections::BTreeMap;

use knobs::Place;
use knobs::boot::{self, BootFiles, BootPlan, Loader, Wish, efi};
use libfuzzer_sys::fuzz_target;

type Tree = BTreeMap<String, Vec<u8>>;

fn tree(text: &str) -> Tree {
    let mut files = Tree::new();
    let mut rest = text.strip_prefix("=== ").unwrap_or(text);
    loop {
        let (file, more) = rest.split_once("\n=== ").map_or((rest, None), |(file, more)| (file, Some(more)));
        let (path, content) = file.split_once('\n').unwrap_or((file, ""));
        let bytes = if path.starts_with("/sys/firmware/") { efi::encode(content) } else { content.into() };
        files.insert(path.to_owned(), bytes);
        match more {
            Some(more) => rest = more,
            None => return files,
        }
    }
}

fn files(tree: &Tree) -> BootFiles {
    let mut files = BootFiles::default();
    tree.iter().for_each(|(path, bytes)| files.add_read(path.clone(), Ok(bytes.clone())));
    files
}

fn carry_out(tree: &mut Tree, planned: &BootPlan) -> Tree {
    let before = tree.clone();
    for change in &planned.changes {
        assert!(change.place.is_known(), "{}", change.place);
        let bytes = match &change.place {
            Place::EfiString { .. } => efi::encode(&change.content),
            _ => change.content.clone().into_bytes(),
        };
        tree.insert(change.place.path().to_owned(), bytes);
    }
    before
}

fn holds(loader: &dyn Loader, tree: &Tree) {
    let first = ["isolcpus=managed_irq,domain,2-3".to_owned(), "threadirqs".to_owned()];
    let second = ["idle=poll".to_owned()];
    let found = files(tree);
    let _ = loader.standing(&found);
    for release in found.kernels() {
        let _ = loader.plan(&found, &Wish { parameters: &[], kernel: Some(release) });
    }
    let wish = |parameters| Wish { parameters, kernel: None };
    let Ok(planned) = loader.plan(&found, &wish(&first)) else { return };
    let others = loader.standing(&found).expect("it was planned").others;
    let mut now = tree.clone();
    let before = carry_out(&mut now, &planned);
    let standing = loader.standing(&files(&now)).expect("what was written is read");
    assert_eq!((&standing.ours[..], &standing.others), (&first[..], &others), "{}", loader.name());
    assert_eq!(loader.plan(&files(&now), &wish(&first)).as_ref(), Ok(&planned), "the same wish is the same plan");
    // What is not ours to write stays to the byte.
    for (path, bytes) in &before {
        let is_ours = planned.changes.iter().any(|change| change.place.path() == path);
        assert!(is_ours || now.get(path) == Some(bytes), "{path}");
    }
    assert_eq!(loader.plan(&files(&now), &wish(&second)), loader.plan(&found, &wish(&second)));
}

fuzz_target!(|bytes: &[u8]| {
    let _ = efi::decode(bytes).inspect(|text| assert_eq!(efi::encode(text), bytes));
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let tree = tree(text);
    let _ = boot::find(&files(&tree));
    for loader in boot::LOADERS {
        holds(*loader, &tree);
    }
});
