//! What a hub reads of a node that it knows: the envelope, and the batch in it with its entries.
//!
//! Input: a byte that chooses what is read, then the bytes; or, of the second form, what changes a batch that is right.
#![no_main]

use farm::monitor::{BatchBody, Envelope, HubKey, KnownCertificates, MonitorEntry, News, Purpose};
use farm::stream::{ContentHash, NodeKey};
use libfuzzer_sys::fuzz_target;
use punctual_fuzz::arbitrary::Unstructured;
use punctual_fuzz::edited;
use store::ReadyBatch;

/// A batch as an agent writes it.
const BATCH: &str = include_str!("../seeds/hub/batch");

/// What is taken holds whatever else is held.
fn read_batch(json: &[u8]) {
    match BatchBody::with_entries(json) {
        Ok((batch, entries)) => {
            assert_eq!(batch.items.len(), entries.len());
            for (item, entry) in batch.items.iter().zip(&entries) {
                let raw = item.body.full();
                assert_eq!(raw.is_some(), entry.is_some());
                // Read in one go it is what it is the long way, which refuses more of what nobody knows.
                let long = raw.and_then(|raw| MonitorEntry::from_json(raw.0.get()).ok());
                assert!(long.is_none() || long == *entry, "{long:?} {entry:?}");
            }
            let ready = ReadyBatch::from_json(json).expect("it was read before");
            assert_eq!(ready.stream(), batch.stream);
            let written = serde_json::to_vec(&batch).expect("a batch has a form");
            assert_eq!(BatchBody::from_json(&written), Ok(batch));
        }
        // It is printed on a terminal.
        Err(error) => assert!(!error.to_string().chars().any(char::is_control), "{error}"),
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    match choice % 4 {
        0 => {
            for purpose in Purpose::ALL {
                let Ok(envelope) = Envelope::from_bytes(data, purpose) else { continue };
                assert_eq!(envelope.to_bytes(), data, "one text for one message");
                // Nothing is signed for another hub, or by another key.
                assert!(envelope.verify(HubKey([7; 32]), |_, _, _| envelope.node == NodeKey([1; 32])).is_err());
                assert!(envelope.verify(envelope.hub, |_, _, _| false).is_err());
            }
        }
        1 => read_batch(data),
        // What whoever answers at a hub's address says of certificates: without the next one's signature it leads nowhere.
        2 => {
            let Ok(news) = serde_json::from_slice::<News>(data) else { return };
            let known = KnownCertificates { present: ContentHash([1; 32]), next: Some(ContentHash([2; 32])) };
            assert_eq!(known.after(HubKey([7; 32]), &news.certificates, |_, _, _| false), known);
            let led = known.after(HubKey([7; 32]), &news.certificates, |_, _, _| true);
            assert!(led == known || news.certificates.iter().any(|step| led.next == Some(step.next)));
            assert_eq!(news.hash(), news.clone().hash());
        }
        _ => {
            if let Ok(json) = edited(BATCH.get(1..).unwrap_or_default(), &mut Unstructured::new(data)) {
                read_batch(json.as_bytes());
            }
        }
    }
});
