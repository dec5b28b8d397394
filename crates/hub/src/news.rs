//! What the hub tells its nodes, and who waits for it.

use std::sync::Arc;
use std::time::Duration;

use farm::monitor::{CertificateStep, MOST_ADDRESSES, MOST_STEPS, News};
use farm::stream::ContentHash;
use peer::Endpoint;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::folder::{self, Folder};

/// The addresses that the hub's user has announced.
const ANNOUNCED: &str = "announced.json";
/// How often it is looked at: a command beside the hub writes it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The longest that a node waits for news: after this long it asks again, and by that the hub knows that it is there.
const MOST_WAIT: Duration = Duration::from_secs(120);

/// The addresses at which nodes find the hub, beside those that their users named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Announced {
    /// Each HOST or HOST:PORT, in the order in which nodes try them.
    pub addresses: Vec<String>,
}

impl Announced {
    /// Those of a hub's folder.
    ///
    /// # Errors
    /// Where they cannot be read, or are none.
    pub fn read(folder: &Folder) -> anyhow::Result<Self> {
        let Some(text) = folder::read(&folder.join(ANNOUNCED))? else { return Ok(Self::default()) };
        let announced: Self = serde_json::from_slice(&text)?;
        announced.check()?;
        Ok(announced)
    }

    /// Keeps them; a hub that serves tells them within a second or two.
    ///
    /// # Errors
    /// Where one is none, there are too many, or the disk refuses.
    pub fn write(&self, folder: &Folder) -> anyhow::Result<()> {
        self.check()?;
        folder::replace(&folder.join(ANNOUNCED), &serde_json::to_vec(self)?)?;
        Ok(())
    }

    fn check(&self) -> anyhow::Result<()> {
        let found = self.addresses.len();
        anyhow::ensure!(found <= MOST_ADDRESSES, "{found} addresses, and at most {MOST_ADDRESSES} can be announced");
        self.addresses.iter().try_for_each(|address| Endpoint::parse(address).map(drop))?;
        Ok(())
    }
}

/// The news, and those who wait for them.
#[derive(Debug)]
pub struct Newsroom {
    news: watch::Sender<Arc<(News, ContentHash)>>,
    /// Whether the hub ends.
    ends: watch::Sender<bool>,
    certificates: Vec<CertificateStep>,
    folder: Folder,
}

impl Newsroom {
    /// The news of a hub that starts with these steps behind it.
    #[must_use]
    pub fn new(folder: &Folder, steps: &[CertificateStep]) -> Self {
        let certificates = steps[steps.len().saturating_sub(MOST_STEPS)..].to_vec();
        let nothing = Arc::new((News::default(), News::default().hash()));
        let (news, ends) = (watch::Sender::new(nothing), watch::Sender::new(false));
        let room = Self { news, ends, certificates, folder: folder.clone() };
        room.look();
        room
    }

    /// What is told just now.
    #[must_use]
    pub fn news(&self) -> News {
        self.news.borrow().0.clone()
    }

    /// Reads what was announced; what cannot be read is said, and what was told before stays.
    fn look(&self) {
        match Announced::read(&self.folder) {
            Ok(Announced { addresses }) => self.tell(News { addresses, certificates: self.certificates.clone() }),
            Err(error) => terminal::output::warning(&format!(
                "{} cannot be read ({error}): say again where nodes find the hub ('punctual-hub announce')",
                self.folder.join(ANNOUNCED).display()
            )),
        }
    }

    fn tell(&self, news: News) {
        let hash = news.hash();
        self.news.send_if_modified(|told| {
            let is_new = told.1 != hash;
            if is_new {
                *told = Arc::new((news, hash));
            }
            is_new
        });
    }

    /// Looks again and again, until it is dropped.
    pub async fn keep_looking(self: Arc<Self>) {
        let (path, mut seen) = (self.folder.join(ANNOUNCED), None);
        loop {
            let found = std::fs::metadata(&path).and_then(|file| Ok((file.modified()?, file.len()))).ok();
            if found != seen {
                seen = found;
                self.look();
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Nobody waits any longer: the hub ends.
    pub fn close(&self) {
        self.ends.send_replace(true);
    }

    /// The news that a node does not know, as soon as there are any; `None` where there are none in that time.
    pub async fn wait(&self, knows: Option<ContentHash>, at_most: Duration) -> Option<News> {
        let mut told = self.news.subscribe();
        let mut ends = self.ends.subscribe();
        let is_new = |told: &Arc<(News, ContentHash)>| knows != Some(told.1);
        tokio::select! {
            found = timeout(at_most.min(MOST_WAIT), told.wait_for(is_new)) => {
                found.ok()?.ok().map(|told| told.0.clone())
            }
            _ = ends.wait_for(|ends| *ends) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced(addresses: &[&str]) -> Announced {
        Announced { addresses: addresses.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn who_knows_the_news_waits_for_others_and_who_does_not_is_told_at_once() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(&place.path().join("hub")).unwrap();
        announced(&["old.example"]).write(&folder).unwrap();
        let room = Arc::new(Newsroom::new(&folder, &[]));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let told = room.wait(None, Duration::ZERO).await.unwrap();
            assert_eq!(told.addresses, ["old.example"]);
            let knows = Some(told.hash());
            assert_eq!(room.wait(knows, Duration::from_millis(1)).await, None);
            let (looking, writing) = (Arc::clone(&room), folder.clone());
            let looking = tokio::spawn(looking.keep_looking());
            let waiting = room.wait(knows, Duration::from_secs(60));
            announced(&["new.example:5400", "192.0.2.7"]).write(&writing).unwrap();
            assert_eq!(waiting.await.unwrap().addresses, ["new.example:5400", "192.0.2.7"]);
            looking.abort();
        });
        // What is damaged takes nothing away.
        std::fs::write(folder.join(ANNOUNCED), b"{").unwrap();
        room.look();
        assert_eq!(room.news().addresses, ["new.example:5400", "192.0.2.7"]);
    }

    #[test]
    fn what_is_no_address_is_not_announced() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(&place.path().join("hub")).unwrap();
        for wrong in [&[":5378"][..], &["hub:port"], &["a"; 9]] {
            assert!(announced(wrong).write(&folder).is_err(), "{wrong:?}");
        }
        assert_eq!(Announced::read(&folder).unwrap(), Announced::default());
    }
}
