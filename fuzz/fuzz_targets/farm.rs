//! What one node reads of another before and after it trusts it: tokens, policies, frames, greetings, jobs.
//!
//! Input: a byte that chooses what is read, then the text or the bytes.
#![no_main]

use farm::frame::{self, Frame, FrameError, FrameReader, MOST_AFTER_TRUST, MOST_BEFORE_TRUST};
use farm::{Answer, AskedRun, Job, Knock, Policy, Token};
use libfuzzer_sys::fuzz_target;
use record::RunRequest;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What is taken is written and read again unchanged.
fn reads_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(content: &[u8]) -> Option<T> {
    let read: T = match frame::decode(content) {
        Ok(read) => read,
        Err(error) => {
            // It is printed on a terminal.
            assert!(!error.to_string().chars().any(char::is_control), "{error}");
            return None;
        }
    };
    let frame = frame::encode(&read, MOST_AFTER_TRUST).expect("what was read has a form");
    let mut reader = FrameReader::new(MOST_AFTER_TRUST);
    reader.push(&frame);
    let Ok(Some(Frame::Content(again))) = reader.next_frame() else { panic!("a frame is read") };
    assert_eq!(frame::decode::<T>(&again).as_ref(), Ok(&read));
    Some(read)
}

/// All frames of the bytes, which come in pieces of these lengths.
fn frames(bytes: &[u8], mut pieces: impl Iterator<Item = usize>) -> (Vec<Frame>, Option<FrameError>) {
    let mut reader = FrameReader::new(MOST_BEFORE_TRUST);
    let (mut found, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(pieces.next().unwrap_or(usize::MAX)));
        reader.push(piece);
        rest = after;
        loop {
            let has_frame = reader.has_frame();
            match reader.next_frame() {
                Ok(Some(frame)) => {
                    assert!(has_frame);
                    assert!(!matches!(&frame, Frame::Content(content) if content.len() > MOST_BEFORE_TRUST));
                    found.push(frame);
                }
                Ok(None) => {
                    assert!(!has_frame);
                    break;
                }
                Err(error) => return (found, Some(error)),
            }
        }
    }
    (found, None)
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let text = std::str::from_utf8(data);
    match choice % 6 {
        0 => {
            let Ok(text) = text else { return };
            match text.parse::<Token>() {
                Ok(token) => assert_eq!(token.reveal().parse(), Ok(token)),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
        1 => {
            let Some(policy) = text.ok().and_then(|text| Policy::from_toml(text).ok()) else { return };
            let written = toml::to_string(&policy).expect("a policy has a form");
            assert_eq!(Policy::from_toml(&written), Ok(policy));
        }
        2 => {
            let Some((first, bytes)) = data.split_first() else { return };
            let at_once = frames(bytes, std::iter::empty());
            assert_eq!(frames(bytes, std::iter::repeat(usize::from(*first) + 1)), at_once);
            let written: Vec<u8> = at_once
                .0
                .iter()
                .flat_map(|frame| match frame {
                    Frame::Heartbeat => frame::HEARTBEAT.to_vec(),
                    Frame::Content(content) => {
                        let length = u32::try_from(content.len()).expect("it is bounded").to_be_bytes();
                        [&[frame::VERSION][..], &length, content].concat()
                    }
                })
                .collect();
            assert!(bytes.starts_with(&written));
        }
        3 => drop(reads_back::<Knock>(data)),
        4 => drop(reads_back::<Answer>(data)),
        _ => {
            let Some(job) = reads_back::<Job>(data) else { return };
            let everything = Policy { allow: farm::JobClass::ALL.to_vec(), ..Policy::default() };
            assert_eq!(everything.judge(&job), Ok(()));
            if let Job::Run(run) = job {
                // Nothing in it is what only the node's own user may say.
                let request = RunRequest::from(run.clone());
                assert!(request.load.as_ref().is_none_or(|load| load.command.is_none()) && request.partner.is_empty());
                assert_eq!(AskedRun::try_from(&request), Ok(run));
            }
        }
    }
});
