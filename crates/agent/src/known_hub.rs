//! The hub as the node knows it just now: its addresses and certificates, which it changes by what it tells. Shared by all who connect.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use farm::monitor::{CertificateStep, HubKey, KnownCertificates, News};
use farm::stream::ContentHash;
use peer::{Endpoint, has_certificate_signed};
use rustls::ClientConfig;

use crate::enrolment::Enrolment;
use crate::hub::{address_text, tls};
use crate::signals::SendError;
use crate::state::{State, StateError};

/// The hub as it is known.
#[derive(Debug)]
pub(crate) struct KnownHub {
    state: State,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    enrolment: Enrolment,
    endpoints: Vec<Endpoint>,
    config: Arc<ClientConfig>,
    /// What was told last.
    told: Option<ContentHash>,
}

impl Known {
    fn new(enrolment: Enrolment) -> Result<Self, SendError> {
        let endpoints = enrolment.endpoints().map_err(|error| SendError::Start(error.to_string()))?;
        let config = tls(&enrolment.fingerprints()).map_err(|error| SendError::Start(error.to_string()))?;
        Ok(Self { enrolment, endpoints, config, told: None })
    }
}

impl KnownHub {
    /// The hub at which a node is enrolled.
    ///
    /// # Errors
    /// Where it is enrolled nowhere, an address is none, or TLS cannot be set up.
    pub(crate) fn of(state: State) -> Result<Self, SendError> {
        let enrolment = state.enrolment()?.ok_or(StateError::NotEnrolled)?;
        Ok(Self { state, known: Mutex::new(Known::new(enrolment)?) })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its key, which never changes.
    pub(crate) fn key(&self) -> HubKey {
        self.known().enrolment.hub_key()
    }

    /// The enrolment as it is kept.
    pub(crate) fn enrolment(&self) -> Enrolment {
        self.known().enrolment.clone()
    }

    /// Where it may be, in the order in which they are tried.
    pub(crate) fn endpoints(&self) -> Vec<Endpoint> {
        self.known().endpoints.clone()
    }

    /// How to speak TLS with it.
    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.known().config)
    }

    /// The same addresses, as people write them.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.known().endpoints.iter().map(address_text).collect()
    }

    /// What it told last.
    pub(crate) fn told(&self) -> Option<ContentHash> {
        self.known().told
    }

    /// Keeps what the hub, which has signed it, tells of itself.
    ///
    /// # Errors
    /// Where the disk refuses: then nothing has changed.
    pub(crate) fn take(&self, news: &News) -> Result<(), SendError> {
        let told = news.hash();
        // One that this program cannot use is left out, and the others are good.
        let is_usable = |address: &&String| Endpoint::parse(address).is_ok();
        let announced = news.addresses.iter().filter(is_usable).cloned().collect();
        self.change(|enrolment| {
            enrolment.announced = announced;
            follow(enrolment, &news.certificates);
        })?;
        self.known().told = Some(told);
        Ok(())
    }

    /// Follows certificates that somebody shows: those that the node's next one announces count, whoever shows them. Whether there
    /// were any.
    ///
    /// # Errors
    /// Where the disk refuses: then nothing has changed.
    pub(crate) fn follow(&self, steps: &[CertificateStep]) -> Result<bool, SendError> {
        let before = self.enrolment().certificates;
        self.change(|enrolment| follow(enrolment, steps))?;
        Ok(self.enrolment().certificates != before)
    }

    /// Changes the enrolment, where that changes something.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Enrolment)) -> Result<(), SendError> {
        let mut known = self.known();
        let mut enrolment = known.enrolment.clone();
        change(&mut enrolment);
        if enrolment == known.enrolment {
            return Ok(());
        }
        let told = known.told;
        let changed = Known { told, ..Known::new(enrolment)? };
        self.state.keep_enrolment(&changed.enrolment)?;
        *known = changed;
        Ok(())
    }
}

fn follow(enrolment: &mut Enrolment, steps: &[CertificateStep]) {
    let Some(present) = enrolment.certificates.first().copied() else { return };
    let next = enrolment.certificates.get(1).copied();
    let before = KnownCertificates { present, next };
    let after = before.after(enrolment.hub_key(), steps, has_certificate_signed);
    if after != before {
        enrolment.certificates = std::iter::once(after.present).chain(after.next).collect();
    }
}
