//! The agents' port changes its certificate: to the one that nodes have been told of, whose key was kept apart, and the one that comes
//! after it is announced by that key.
//!
//! A change is written whole into a folder of its own, which gets its name when all of it is on the disk. From then on it is carried
//! out by whoever opens the hub's keys, however often that is ended in between. A copy lies in the folder kept apart: a hub restored
//! from a backup of before has the certificate that its nodes know.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use farm::monitor::{CertificateStep, HubKey, SIGNATURE_BYTES};
use farm::stream::ContentHash;
use kernel::file_lock::FileLock;
use rcgen::{CertificateParams, KeyPair as CertificateKey, PKCS_ED25519, PublicKeyData as _, SignatureAlgorithm};
use ring::signature::Ed25519KeyPair;
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;
use serde::{Deserialize, Serialize};

use crate::apart::APART;
use crate::folder::{self, Folder, FolderError};

/// The certificate of the agents' port, and its key.
pub(crate) const PRESENT: [&str; 2] = ["agents.certificate", "agents.key"];
/// The certificate that comes after it.
pub(crate) const NEXT: &str = "agents-next.certificate";
/// What a change replaces in the hub's folder.
pub(crate) const CHANGED: [&str; 4] = [PRESENT[0], PRESENT[1], NEXT, STEPS];
/// The key of the next certificate, in the folder kept apart.
pub(crate) const NEXT_KEY: &str = "agents-next.key";
/// The steps from certificate to certificate.
pub(crate) const STEPS: &str = "certificates.json";
/// The key of the certificate after the next one, in the folder kept apart, until the change is carried out.
const AFTER_NEXT_KEY: &str = "agents-after-next.key";
/// A change that is whole, and one that is being written.
const CHANGE: [&str; 2] = ["certificate-change", "certificate-change.part"];
/// The copy of the last change, in the folder kept apart.
const COPY: &str = "certificates";
/// Held while a change is made.
const LOCK: &str = "certificate-change.lock";

/// Why a hub has no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A file.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The kernel gave no random bytes.
    #[error("the kernel gives no random bytes (getrandom): wait until it has started, then try again")]
    NoRandomness,
    /// The library failed.
    #[error("no certificate could be made: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A key that nobody can use.
    #[error("{0} holds no key that this program can use: put the right file there, from a copy of the hub's folder")]
    NoKey(String),
    /// The steps from certificate to certificate cannot be read.
    #[error(
        "{0} holds no steps from certificate to certificate: put the right file there, from a copy of the hub's folder"
    )]
    NoSteps(String),
    /// A part is missing.
    #[error(
        "{missing} is missing where {there} is there: put it back from a copy of the hub's folder; nodes know the hub by it"
    )]
    Missing {
        /// What is missing.
        missing: String,
        /// What is there.
        there: String,
    },
}

/// A certificate and its key. Its dates are 1975 and 4096: the fingerprint alone counts.
pub(crate) fn make_certificate(algorithm: &'static SignatureAlgorithm) -> Result<(Vec<u8>, Vec<u8>), rcgen::Error> {
    let key = CertificateKey::generate_for(algorithm)?;
    let certificate = CertificateParams::new(["punctual-hub".to_owned(), "localhost".to_owned()])?.self_signed(&key)?;
    Ok((certificate.der().to_vec(), key.serialize_der()))
}

/// The steps that a hub has taken.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Steps {
    steps: Vec<CertificateStep>,
}

/// Why the certificate was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeCertificateError {
    /// The hub's folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Its keys.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The next certificate's key is not there.
    #[error("{}: the key of the next certificate is not there: name the file that it was moved to (--key)", .0.display())]
    NoKey(PathBuf),
    /// Another key is there.
    #[error(
        "{} is not the key of the next certificate, which nodes were told of: name the file of that key (--key)", .0.display()
    )]
    OtherKey(PathBuf),
    /// Two changes at once.
    #[error("another change of the certificate is being made just now: wait until it is done")]
    Busy,
}

/// What came of a change.
#[derive(Debug)]
pub struct Changed {
    /// SHA-256 of the certificate that the agents' port has from the next start on.
    pub present: ContentHash,
    /// SHA-256 of the one that comes after it.
    pub next: ContentHash,
    /// Where the key of that one lies.
    pub next_key: PathBuf,
}

/// The steps that the hub of a folder has taken.
///
/// # Errors
/// Where they cannot be read.
pub(crate) fn steps(folder: &Folder) -> Result<Vec<CertificateStep>, KeyError> {
    read_steps(&folder.join(STEPS)).map(Option::unwrap_or_default)
}

fn read_steps(path: &Path) -> Result<Option<Vec<CertificateStep>>, KeyError> {
    folder::read(path)?.map(|text| steps_of(&text, &path.display().to_string())).transpose()
}

fn steps_of(text: &[u8], name: &str) -> Result<Vec<CertificateStep>, KeyError> {
    let steps = serde_json::from_slice::<Steps>(text).map_err(|_| KeyError::NoSteps(name.to_owned()))?;
    Ok(steps.steps)
}

fn steps_text(steps: Vec<CertificateStep>) -> Vec<u8> {
    // Digits alone: it cannot fail.
    serde_json::to_vec(&Steps { steps }).unwrap_or_default()
}

/// Writes that no step was taken, where nothing is known of steps.
pub(crate) fn begin(folder: &Folder) -> Result<(), KeyError> {
    if folder::read(&folder.join(STEPS))?.is_none() {
        folder::write_new(&folder.join(STEPS), &steps_text(Vec::new()))?;
    }
    Ok(())
}

/// Changes to the next certificate, by its key; whoever opens the keys next has it.
///
/// # Errors
/// Where the key is missing or another one, or something cannot be read or written. A change that is not whole leaves no trace.
pub fn change(folder: &Folder, hub: HubKey, key: Option<&Path>) -> Result<Changed, ChangeCertificateError> {
    let lock = folder.join(LOCK);
    let file = |path: &Path, error| FolderError::File { path: path.to_owned(), error };
    let held = FileLock::take(&lock).map_err(|error| file(&lock, error))?;
    let _held = held.ok_or(ChangeCertificateError::Busy)?;
    complete(folder)?;
    let changed = decide(folder, hub, key)?;
    complete(folder)?;
    Ok(changed)
}

/// Writes all of a change to the disk: from then on it is carried out.
fn decide(folder: &Folder, hub: HubKey, key: Option<&Path>) -> Result<Changed, ChangeCertificateError> {
    let file = |path: &Path, error| FolderError::File { path: path.to_owned(), error };
    let apart = folder.below(APART)?;
    let key_path = key.map_or_else(|| apart.join(NEXT_KEY), Path::to_owned);
    let key = folder::read(&key_path)?.ok_or_else(|| ChangeCertificateError::NoKey(key_path.clone()))?;
    let there = || KeyError::Missing { missing: NEXT.to_owned(), there: STEPS.to_owned() };
    let certificate = folder::read(&folder.join(NEXT))?.ok_or_else(there)?;
    if !is_key_of(&key, &certificate) {
        return Err(ChangeCertificateError::OtherKey(key_path));
    }
    let signing = Ed25519KeyPair::from_pkcs8(&key).map_err(|_| ChangeCertificateError::OtherKey(key_path.clone()))?;
    let (next_certificate, next_key) = make_certificate(&PKCS_ED25519).map_err(KeyError::from)?;
    let next = ContentHash::of_bytes(&next_certificate);
    let step = CertificateStep::new(&certificate, hub, next, |bytes| {
        let mut signature = [0; SIGNATURE_BYTES];
        signature.copy_from_slice(signing.sign(bytes).as_ref());
        signature
    });
    let mut steps = steps(folder)?;
    steps.push(step);
    let after_next = apart.join(AFTER_NEXT_KEY);
    // Left by a change that did not become whole.
    let _ = fs::remove_file(&after_next);
    folder::write_new(&after_next, &next_key)?;
    let present = ContentHash::of_bytes(&certificate);
    let files = [(PRESENT[0], certificate), (PRESENT[1], key), (NEXT, next_certificate), (STEPS, steps_text(steps))];
    let part = folder.join(CHANGE[1]);
    let _ = fs::remove_dir_all(&part);
    folder.below(CHANGE[1])?;
    for (name, bytes) in files {
        folder::write_new(&part.join(name), &bytes)?;
    }
    let whole = folder.join(CHANGE[0]);
    let named = fs::rename(&part, &whole).and_then(|()| kernel::whole_file::sync_folder(&whole));
    named.map_err(|error| file(&whole, error))?;
    Ok(Changed { present, next, next_key: apart.join(NEXT_KEY) })
}

/// Carries out a change that is whole: what of it was done before is done again, or is done already.
///
/// # Errors
/// Where the kernel refuses.
pub(crate) fn complete(folder: &Folder) -> Result<(), FolderError> {
    let change = folder.join(CHANGE[0]);
    if !change.exists() {
        return Ok(());
    }
    let apart = folder.below(APART)?;
    // First of all: the key is nowhere else.
    rename(&apart.join(AFTER_NEXT_KEY), &apart.join(NEXT_KEY))?;
    for name in CHANGED {
        copy(&change.join(name), &folder.join(name))?;
    }
    // Where the disk of what is kept apart refuses, the hub goes on: a backup of after the change has all of it too.
    let copies = folder.below(&format!("{APART}/{COPY}"));
    let copied =
        copies.and_then(|copies| CHANGED.into_iter().try_for_each(|name| copy(&change.join(name), &copies.join(name))));
    if let Err(error) = copied {
        terminal::output::warning(&format!("a hub restored from an older backup would lack the certificate: {error}"));
    }
    fs::remove_dir_all(&change).map_err(|error| FolderError::File { path: change, error })
}

/// Takes the certificates of a later change than the folder has from a copy kept apart: beside the log, or in the folder itself.
/// Whether there were any.
///
/// # Errors
/// Where something cannot be read or written.
pub(crate) fn take_later(folder: &Folder, apart: &Path) -> Result<bool, KeyError> {
    let copies = apart.join(COPY);
    let Some(kept) = read_steps(&copies.join(STEPS))? else { return Ok(false) };
    if kept.len() <= steps(folder)?.len() {
        return Ok(false);
    }
    for name in CHANGED {
        copy(&copies.join(name), &folder.join(name))?;
    }
    Ok(true)
}

/// Whether a key (PKCS #8) is a certificate's.
fn is_key_of(key: &[u8], certificate: &[u8]) -> bool {
    let Ok(key) = CertificateKey::try_from(key) else { return false };
    let certificate = CertificateDer::from(certificate);
    let parsed = ParsedCertificate::try_from(&certificate);
    parsed.is_ok_and(|parsed| parsed.subject_public_key_info().as_ref() == key.subject_public_key_info())
}

/// Gives a file another name; one that has it already is left.
fn rename(from: &Path, to: &Path) -> Result<(), FolderError> {
    let renamed = match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        renamed => renamed,
    };
    renamed
        .and_then(|()| kernel::whole_file::sync_folder(to))
        .map_err(|error| FolderError::File { path: to.to_owned(), error })
}

/// Puts a copy of a file into the place of another one, whole.
fn copy(from: &Path, to: &Path) -> Result<(), FolderError> {
    let none = || FolderError::File { path: from.to_owned(), error: io::ErrorKind::NotFound.into() };
    let bytes = folder::read(from)?.ok_or_else(none)?;
    folder::replace(to, &bytes)
}

#[cfg(test)]
mod tests {
    use farm::monitor::KnownCertificates;
    use peer::has_certificate_signed;

    use super::*;
    use crate::keys::Keys;

    fn known(keys: &Keys) -> KnownCertificates {
        KnownCertificates { present: ContentHash(keys.agents.fingerprint()), next: Some(ContentHash(keys.next)) }
    }

    fn check(before: KnownCertificates, keys: &Keys, steps: usize) {
        assert_eq!(
            (before.after(keys.hub(), &keys.steps, has_certificate_signed), keys.steps.len()),
            (known(keys), steps)
        );
        assert!(is_key_of(keys.agents.key().secret_der(), &keys.agents.certificate));
    }

    #[test]
    fn a_change_that_was_decided_is_carried_out_wherever_it_was_ended() {
        let place = tempfile::tempdir().unwrap();
        // So many of its steps were done when it was killed.
        for done in 0_usize..=6 {
            let folder = Folder::make(&place.path().join(format!("after-{done}"))).unwrap();
            let before = known(&Keys::load_or_make(&folder).unwrap());
            let hub = Keys::load_or_make(&folder).unwrap().hub();
            let changed = decide(&folder, hub, None).unwrap();
            let apart = folder.join(APART);
            if done > 0 {
                rename(&apart.join(AFTER_NEXT_KEY), &apart.join(NEXT_KEY)).unwrap();
            }
            for name in CHANGED.into_iter().take(done.saturating_sub(1)) {
                copy(&folder.join(CHANGE[0]).join(name), &folder.join(name)).unwrap();
            }
            if done == 6 {
                complete(&folder).unwrap();
            }
            let keys = Keys::load_or_make(&folder).unwrap();
            check(before, &keys, 1);
            assert_eq!(known(&keys), KnownCertificates { present: changed.present, next: Some(changed.next) });
            assert!(!folder.join(CHANGE[0]).exists() && !apart.join(AFTER_NEXT_KEY).exists());
            // It can be changed again: the next one's key is there.
            change(&folder, hub, None).unwrap();
            check(before, &Keys::load_or_make(&folder).unwrap(), 2);
        }
    }

    #[test]
    fn a_change_that_was_not_decided_leaves_all_as_it_was_and_another_key_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(&place.path().join("hub")).unwrap();
        let keys = Keys::load_or_make(&folder).unwrap();
        let (before, hub) = (known(&keys), keys.hub());
        fs::write(folder.join(APART).join(AFTER_NEXT_KEY), b"begun").unwrap();
        folder.below(CHANGE[1]).unwrap();
        fs::write(folder.join(CHANGE[1]).join(PRESENT[0]), b"begun").unwrap();
        assert_eq!(known(&Keys::load_or_make(&folder).unwrap()), before);
        let present = folder.join(PRESENT[1]);
        assert!(matches!(change(&folder, hub, Some(&present)), Err(ChangeCertificateError::OtherKey(_))));
        let moved = place.path().join("moved.key");
        fs::rename(folder.join(APART).join(NEXT_KEY), &moved).unwrap();
        assert!(matches!(change(&folder, hub, None), Err(ChangeCertificateError::NoKey(_))));
        assert_eq!(known(&Keys::load_or_make(&folder).unwrap()), before);
        change(&folder, hub, Some(&moved)).unwrap();
        check(before, &Keys::load_or_make(&folder).unwrap(), 1);
        let held = FileLock::take(&folder.join(LOCK)).unwrap().unwrap();
        assert!(matches!(change(&folder, hub, None), Err(ChangeCertificateError::Busy)));
        drop(held);
    }
}
