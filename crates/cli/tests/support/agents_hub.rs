//! A hub in memory, as an agent sees one: TLS 1.3, HTTP/1.1, signed marks. What it holds it holds by the rules of `farm`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use farm::monitor::{
    BatchBody, CommonBody, EnrolledBody, EnrolmentBody, Envelope, HubKey, Interval, MarkBody, MonitorEntry, PlacesBody,
    Purpose, RawEntry, Refused, RefusedBody, is_compressed,
};
use farm::stream::{
    Base, Common, ContentHash, Head, Held, Item, NodeKey, Place, Says, Span, StreamId, Taken, common, take,
};
use farm::{Secret, Token};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What is held of one stream.
#[derive(Clone, Debug)]
struct Memory {
    base: Base,
    shown: BTreeMap<u64, Item<RawEntry>>,
    aside: Vec<Item<RawEntry>>,
}

impl Held for Memory {
    type Entry = RawEntry;
    type Error = Infallible;

    fn end(&self) -> Result<(u64, Place), Infallible> {
        Ok(self
            .shown
            .values()
            .next_back()
            .map_or((self.base.sequence, self.base.place), |item| (item.span.last(), item.after)))
    }

    fn shown(&self, over: Span) -> Result<Vec<Head>, Infallible> {
        Ok(self.shown.values().filter(|item| item.span.overlaps(over)).map(Item::head).collect())
    }

    fn aside(&self, within: Span) -> Result<Vec<Head>, Infallible> {
        Ok(self.aside.iter().filter(|item| within.contains(item.span)).map(Item::head).collect())
    }

    fn show(&mut self, item: Item<RawEntry>) -> Result<(), Infallible> {
        let over = self.shown.values().find(|shown| shown.span.overlaps(item.span));
        assert!(over.is_none(), "{item:?} over {over:?}");
        self.shown.insert(item.span.first(), item);
        Ok(())
    }

    fn put_aside(&mut self, item: Item<RawEntry>) -> Result<(), Infallible> {
        self.aside.push(item);
        Ok(())
    }

    fn hide(&mut self, shown: &Head) -> Result<(), Infallible> {
        let item = self.shown.remove(&shown.span.first()).unwrap();
        self.aside.push(item);
        Ok(())
    }

    fn return_aside(&mut self, aside: &Head) -> Result<(), Infallible> {
        let at = self.aside.iter().position(|item| item.head() == *aside).unwrap();
        let item = self.aside.swap_remove(at);
        self.show(item)
    }

    fn gone(&self) -> Result<Vec<Span>, Infallible> {
        Ok(self.shown.values().filter(|item| item.body.says() == Says::Gone).map(|item| item.span).rev().collect())
    }

    fn cut(&mut self, shown: &Head, left: &[Head]) -> Result<(), Infallible> {
        assert!(shown.says < Says::Full);
        let item = self.shown.remove(&shown.span.first()).unwrap();
        left.iter().cloned().try_for_each(|Head { span, before, after, within, .. }| {
            self.show(Item { span, before, after, within, body: item.body.clone() })
        })
    }

    fn remove(&mut self, shown: &Head) -> Result<(), Infallible> {
        self.shown.remove(&shown.span.first()).unwrap();
        Ok(())
    }
}

/// What a hub remembers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) epoch: u64,
    nodes: Vec<NodeKey>,
    streams: BTreeMap<(NodeKey, StreamId), Memory>,
    /// Whether it answers nothing, as one that is away.
    pub(crate) is_away: bool,
}

impl Remembered {
    /// All entries, by stream, with their spans.
    pub(crate) fn entries(&self) -> Vec<(StreamId, Span, MonitorEntry)> {
        let of = |(key, memory): (&(NodeKey, StreamId), &Memory)| {
            let stream = key.1;
            let entry = move |item: &Item<RawEntry>| Some((stream, item.span, item.body.full()?.entry().unwrap()));
            memory.shown.values().filter_map(entry).collect::<Vec<_>>()
        };
        self.streams.iter().flat_map(of).collect()
    }

    /// All intervals.
    pub(crate) fn intervals(&self) -> Vec<Interval> {
        let interval = |(_, _, entry): (StreamId, Span, MonitorEntry)| match entry {
            MonitorEntry::Interval(interval) => Some(interval),
            _ => None,
        };
        self.entries().into_iter().filter_map(interval).collect()
    }
}

/// A hub on this machine. Its thread ends with the test program.
pub(crate) struct AgentsHub {
    pub(crate) address: SocketAddr,
    pub(crate) token: Token,
    remembered: Arc<Mutex<Remembered>>,
}

struct Keys {
    pair: Ed25519KeyPair,
    public: HubKey,
    secret: String,
}

impl AgentsHub {
    pub(crate) fn start() -> Self {
        let tls_key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        let params = rcgen::CertificateParams::new(["hub".to_owned()]).unwrap();
        let certificate: CertificateDer<'static> = params.self_signed(&tls_key).unwrap().der().clone();
        let digest = ring::digest::digest(&ring::digest::SHA256, &certificate);
        let token = Token::new(digest.as_ref().try_into().unwrap(), Secret::new([7; 32]));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], PrivatePkcs8KeyDer::from(tls_key.serialize_der()).into());
        let mut config = config.unwrap();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let config = Arc::new(config);
        let document = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let public = HubKey(pair.public_key().as_ref().try_into().unwrap());
        let keys = Arc::new(Keys { pair, public, secret: ContentHash(*token.secret().bytes()).to_string() });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let remembered = Arc::new(Mutex::new(Remembered { epoch: 1, ..Remembered::default() }));
        let of_thread = Arc::clone(&remembered);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, config) = (stream.unwrap(), Arc::clone(&config));
                let (keys, remembered) = (Arc::clone(&keys), Arc::clone(&of_thread));
                std::thread::spawn(move || serve(stream, config, &keys, &remembered));
            }
        });
        Self { address, token, remembered }
    }

    pub(crate) fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap()
    }
}

/// One connection, until the other end is gone.
fn serve(stream: TcpStream, config: Arc<ServerConfig>, keys: &Keys, remembered: &Mutex<Remembered>) -> Option<()> {
    let mut stream = StreamOwned::new(ServerConnection::new(config).ok()?, stream);
    loop {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            read_more(&mut stream, &mut bytes)?;
        };
        let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
        let field =
            |name: &str| head.lines().find_map(|line| line.strip_prefix(name).map(str::trim).map(str::to_owned));
        let length: usize = field("Content-Length:").map_or(0, |length| length.parse().unwrap());
        while bytes.len() < end + length {
            read_more(&mut stream, &mut bytes)?;
        }
        let body = bytes[end..].to_vec();
        let (status, answer) = {
            let mut remembered = remembered.lock().ok()?;
            if remembered.is_away {
                return None;
            }
            answer(head.split(' ').nth(1)?, &body, keys, &mut remembered)
        };
        let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n\r\n", answer.len());
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(&answer).ok()?;
        stream.flush().ok()?;
    }
}

fn read_more(stream: &mut StreamOwned<ServerConnection, TcpStream>, bytes: &mut Vec<u8>) -> Option<()> {
    let mut part = [0; 65_536];
    let length = stream.read(&mut part).ok().filter(|length| *length > 0)?;
    bytes.extend_from_slice(&part[..length]);
    Some(())
}

fn refused(status: u16, refused: Refused) -> (u16, Vec<u8>) {
    (status, serde_json::to_vec(&RefusedBody { refused, why: format!("{refused:?}") }).unwrap())
}

fn answer(path: &str, body: &[u8], keys: &Keys, hub: &mut Remembered) -> (u16, Vec<u8>) {
    if path == "/v1/hub" {
        let about = format!("{{\"hub\": \"{}\", \"epoch\": {}, \"version\": \"0\"}}", keys.public, hub.epoch);
        return (200, about.into_bytes());
    }
    if path == "/v1/listen" {
        // As a hub of before it had news: agents go on without.
        return refused(404, Refused::Malformed);
    }
    let (purpose, to) = match path {
        "/v1/enrol" => (Purpose::Enrolment, Purpose::Enrolled),
        "/v1/batch" => (Purpose::Batch, Purpose::Mark),
        _ => (Purpose::Places, Purpose::Common),
    };
    let envelope = Envelope::from_bytes(body, purpose).unwrap();
    let is_signed = |key: &[u8; 32], bytes: &[u8], signature: &[u8; 64]| {
        UnparsedPublicKey::new(&ED25519, key).verify(bytes, signature).is_ok()
    };
    let Ok(message) = envelope.verify(keys.public, is_signed) else { return refused(401, Refused::NotSigned) };
    let mut plain = message.to_vec();
    if is_compressed(message) {
        plain.clear();
        flate2::read::ZlibDecoder::new(message).read_to_end(&mut plain).unwrap();
    }
    let (node, message) = (envelope.node, &plain[..]);
    let message = match purpose {
        Purpose::Enrolment => {
            let asked: EnrolmentBody = serde_json::from_slice(message).unwrap();
            if asked.secret != keys.secret {
                return refused(403, Refused::Token);
            }
            hub.nodes.push(node);
            let enrolled = EnrolledBody { node, name: asked.name, epoch: hub.epoch, next_certificate: None };
            serde_json::to_vec(&enrolled)
        }
        _ if !hub.nodes.contains(&node) => return refused(403, Refused::NotEnrolled),
        Purpose::Batch => {
            let batch = BatchBody::from_json(message).unwrap();
            let memory = memory(hub, node, batch.stream, batch.base);
            let taken = take(memory, batch.items).unwrap();
            assert!(taken != Taken::Diverged || memory.end().unwrap().0 > 0);
            let (sequence, hash) = memory.end().unwrap();
            let lacks = memory.gone().unwrap();
            serde_json::to_vec(&MarkBody { stream: batch.stream, sequence, hash, epoch: hub.epoch, lacks })
        }
        _ => {
            let places: PlacesBody = serde_json::from_slice(message).unwrap();
            let base = Base::of_start(&node, places.stream);
            let Common { sequence, end, of } = common(memory(hub, node, places.stream, base), &places.places).unwrap();
            serde_json::to_vec(&CommonBody { stream: places.stream, sequence, end, of, epoch: hub.epoch })
        }
    };
    let sign = |bytes: &[u8]| keys.pair.sign(bytes).as_ref().try_into().unwrap();
    (200, Envelope::sign(to, node, keys.public, message.unwrap(), sign).to_bytes())
}

fn memory(hub: &mut Remembered, node: NodeKey, stream: StreamId, base: Base) -> &mut Memory {
    let fresh = || Memory { base, shown: BTreeMap::new(), aside: Vec::new() };
    hub.streams.entry((node, stream)).or_insert_with(fresh)
}
