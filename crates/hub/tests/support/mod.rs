//! A hub on ports of loopback, nodes that sign, and a client that knows the hub by its fingerprint.

pub(crate) mod agent_node;

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use farm::monitor::{
    BatchBody, BootId, Cause, ContentKind, ContentOf, CpuInterval, EnrolledBody, EnrolmentBody, Envelope, Figures,
    HubKey, Interval, LeftTimes, ListenBody, MarkBody, MonitorEntry, NODE_LABEL, Purpose, RawEntry, SentAt,
    StreamBegin, WallTime,
};
use farm::stream::{ContentHash, Mark, NodeKey, Spool, StreamId};
use hub::keys::{hexadecimal, is_signed, new_secret, sha256};
use hub::limits::Limits;
use hub::serve::{Options, PeopleSpeak, Running};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use store::{By, NewToken, Quotas, SecretHash, Sqlite, Store as _};

/// Five minutes (ns).
pub(crate) const INTERVAL_NS: u64 = 300_000_000_000;
/// The condition of the intervals.
pub(crate) const CONDITION: &str = r#"{"kind": "wakeup", "interval-ns": 1000000, "limit-ns": 100000}"#;

/// A hub with its folder.
pub(crate) struct TestHub {
    pub(crate) running: Option<Running>,
    pub(crate) folder: PathBuf,
    pub(crate) options: Options,
    _place: Option<tempfile::TempDir>,
}

/// The hub's clock (ns since 1970).
pub(crate) fn now_ns() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_nanos()).unwrap()
}

impl TestHub {
    pub(crate) fn start() -> Self {
        Self::start_with(Limits::default(), false)
    }

    pub(crate) fn start_with(limits: Limits, is_public: bool) -> Self {
        let place = tempfile::tempdir().unwrap();
        let options = Options { limits, is_public, ..options(&place.path().join("hub"), any()) };
        let mut hub = Self::of(options);
        hub._place = Some(place);
        hub
    }

    /// A hub of a folder that stays, at a port for agents.
    pub(crate) fn start_in(folder: &Path, agents: SocketAddr) -> Self {
        Self::of(options(folder, agents))
    }

    fn of(options: Options) -> Self {
        let running = Running::start(&options).unwrap();
        Self { running: Some(running), folder: options.folder.clone(), options, _place: None }
    }

    /// As if its machine were switched off.
    pub(crate) fn stop(&mut self) {
        self.running.take().unwrap().stop();
    }

    pub(crate) fn restart(&mut self) {
        self.running.take().unwrap().stop();
        self.running = Some(Running::start(&self.options).unwrap());
    }

    pub(crate) fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    /// Its store, as a command beside it opens it.
    pub(crate) fn store(&self) -> Sqlite {
        Sqlite::open(&self.folder.join("store.sqlite"), Quotas::default(), now_ns()).unwrap()
    }

    /// The secret of a new token, in digits.
    pub(crate) fn token(&self, name: Option<&str>) -> String {
        let secret = new_secret().unwrap();
        let made_for = NewToken { name: name.map(str::to_owned), ..NewToken::default() };
        self.store().add_token(SecretHash::of(secret.bytes()), &made_for, &by()).unwrap();
        hexadecimal(*secret.bytes())
    }

    pub(crate) fn key(&self) -> HubKey {
        self.running().hub.keys.hub()
    }

    /// A connection of an agent.
    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.running().agents, self.running().hub.keys.agents.fingerprint())
    }

    /// A node that was enrolled.
    pub(crate) fn enrolled(&self, name: &str) -> TestNode {
        let node = TestNode::new();
        let answer = node.enrol(self, &self.token(None), name);
        assert_eq!(answer.status, 200, "{}", answer.text());
        node
    }

    /// What people get for a path, with a session's cookie or without.
    pub(crate) fn get(&self, path: &str, headers: &str) -> Answer {
        get(self.running().people, path, headers)
    }
}

/// Any port of this machine alone.
pub(crate) fn any() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

/// A port that nobody listens at.
pub(crate) fn free_port() -> SocketAddr {
    std::net::TcpListener::bind(any()).unwrap().local_addr().unwrap()
}

fn options(folder: &Path, agents: SocketAddr) -> Options {
    Options {
        folder: folder.to_owned(),
        agents,
        people: any(),
        people_speak: PeopleSpeak::Http,
        is_public: false,
        limits: Limits::default(),
        quotas: Quotas::default(),
    }
}

impl Drop for TestHub {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop();
        }
    }
}

pub(crate) fn by() -> By {
    By { who: "test".to_owned(), at_wall_ns: now_ns() }
}

/// What a server answers to a request over plain HTTP.
pub(crate) fn get(from: SocketAddr, path: &str, headers: &str) -> Answer {
    let mut connection = TcpStream::connect(from).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(connection, "GET {path} HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n{headers}\r\n").unwrap();
    Answer::read(&mut connection).unwrap()
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Reads one, by its length; `None` where the connection ended instead.
    pub(crate) fn read(from: &mut impl std::io::Read) -> Option<Self> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            if from.read(&mut byte).ok()? == 0 {
                return None;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Self { status, head, body: Vec::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        answer.body = vec![0; length];
        from.read_exact(&mut answer.body).ok()?;
        Some(answer)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}\n{}", self.head, self.text()))
    }

    /// The word of a refusal.
    pub(crate) fn refused(&self) -> (u16, String) {
        (self.status, self.json()["refused"].as_str().unwrap_or_default().to_owned())
    }

    /// What the hub has signed.
    pub(crate) fn signed<T: serde::de::DeserializeOwned>(&self, purpose: Purpose, hub: HubKey) -> T {
        assert_eq!(self.status, 200, "{}", self.text());
        let envelope = Envelope::from_bytes(&self.body, purpose).unwrap();
        serde_json::from_slice(envelope.verify(hub, is_signed).unwrap()).unwrap()
    }
}

/// A connection of an agent.
pub(crate) struct Client {
    pub(crate) tls: StreamOwned<ClientConnection, TcpStream>,
}

impl Client {
    pub(crate) fn connect(to: SocketAddr, fingerprint: [u8; 32]) -> Self {
        let socket = TcpStream::connect(to).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.set_nodelay(true).unwrap();
        Self { tls: StreamOwned::new(client(fingerprint), socket) }
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(&mut self, head: &str, body: &[u8]) -> Option<Answer> {
        let request = format!("{head} HTTP/1.1\r\nHost: hub\r\nContent-Length: {}\r\n\r\n", body.len());
        self.send(request.as_bytes(), body)
    }

    pub(crate) fn post(&mut self, path: &str, body: &[u8]) -> Answer {
        self.ask(&format!("POST {path}"), body).unwrap()
    }

    /// The connection's own value for a hub.
    pub(crate) fn own_value(&mut self, hub: HubKey) -> ContentHash {
        while self.tls.conn.is_handshaking() {
            self.tls.conn.complete_io(&mut self.tls.sock).unwrap();
        }
        ContentHash(self.tls.conn.export_keying_material([0; 32], NODE_LABEL, Some(&hub.0)).unwrap())
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, head: &[u8], body: &[u8]) -> Option<Answer> {
        self.tls.write_all(head).ok()?;
        // The hub may have refused by the head alone.
        let _ = self.tls.write_all(body).and_then(|()| self.tls.flush());
        Answer::read(&mut self.tls)
    }
}

pub(crate) fn client(fingerprint: [u8; 32]) -> ClientConnection {
    let provider = Arc::new(default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned { fingerprint, provider }))
        .with_no_client_auth();
    ClientConnection::new(Arc::new(config), ServerName::try_from("hub").unwrap()).unwrap()
}

#[derive(Debug)]
struct Pinned {
    fingerprint: [u8; 32],
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        assert_eq!(sha256(certificate), self.fingerprint);
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        unreachable!("TLS 1.3 alone")
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// What a stream begins with.
pub(crate) fn beginning(host: &str, start_ns: i64, wall: Option<WallTime>) -> [MonitorEntry; 2] {
    let boot = BootId("boot-1".to_owned());
    let begin = MonitorEntry::Begin(StreamBegin {
        boot: boot.clone(),
        start_ns,
        wall,
        version: "0.1.0".to_owned(),
        host: host.to_owned(),
        hardware: Vec::new(),
        earlier: Vec::new(),
        isolated_and_not_monitored: Vec::new(),
    });
    let (kind, text, since_ns) = (ContentKind::Condition, CONDITION.to_owned(), start_ns);
    [begin, MonitorEntry::Content(ContentOf { kind, text, since_ns, boot })]
}

/// An interval with the maximum of each CPU.
pub(crate) fn interval(start_ns: i64, wall: Option<WallTime>, maxima_ns: &[i64], cause: Option<&str>) -> MonitorEntry {
    let cpu = |(cpu, maximum_ns): (u32, &i64)| CpuInterval {
        cpu,
        valid: Some(Figures {
            maximum_ns: *maximum_ns,
            maximum_at_ns: 1_000_000,
            samples: 300_000,
            cause: cause.map(|name| Cause {
                class: "thread".to_owned(),
                name: name.to_owned(),
                is_shown: true,
                covers_percent: Some(90),
            }),
            ..Figures::default()
        }),
        ..CpuInterval::default()
    };
    MonitorEntry::Interval(Interval {
        times: LeftTimes { boot: BootId("boot-1".to_owned()), start_ns, length_ns: INTERVAL_NS, wall },
        condition: ContentHash::of(CONDITION),
        made_of: 1,
        cut_short: None,
        cpus: (0..).zip(maxima_ns).map(cpu).collect(),
        sources: Vec::new(),
    })
}

/// A node.
pub(crate) struct TestNode {
    own: Ed25519KeyPair,
    pub(crate) spool: Spool<RawEntry>,
    pub(crate) stream: StreamId,
    /// When the next entry begins (ns, CLOCK_BOOTTIME).
    next_ns: i64,
    /// UTC at CLOCK_BOOTTIME 0.
    utc_ns: i64,
}

impl TestNode {
    /// A node whose monitoring began a day ago.
    pub(crate) fn new() -> Self {
        let own = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let own = Ed25519KeyPair::from_pkcs8(own.as_ref()).unwrap();
        let key = NodeKey(own.public_key().as_ref().try_into().unwrap());
        let stream = StreamId { start: 1, random: u64::from_le_bytes(key.0[..8].try_into().unwrap()) };
        let mut spool = Spool::new(key);
        spool.begin(stream);
        Self { own, spool, stream, next_ns: 0, utc_ns: now_ns() - 86_400 * 1_000_000_000 }
    }

    pub(crate) fn key(&self) -> NodeKey {
        NodeKey(self.own.public_key().as_ref().try_into().unwrap())
    }

    pub(crate) fn append(&mut self, entry: &MonitorEntry) {
        self.spool.append(RawEntry::new(entry).unwrap());
    }

    fn wall(&self) -> Option<WallTime> {
        Some(WallTime { ns: self.utc_ns + self.next_ns, is_synchronized: true, error_ns: Some(1_000) })
    }

    /// What a stream begins with.
    pub(crate) fn begin(&mut self, host: &str) {
        for entry in beginning(host, self.next_ns, self.wall()) {
            self.append(&entry);
        }
    }

    /// An interval with the maximum of each CPU.
    pub(crate) fn interval(&mut self, maxima_ns: &[i64], cause: Option<&str>) {
        let entry = interval(self.next_ns, self.wall(), maxima_ns, cause);
        self.append(&entry);
        self.next_ns += i64::try_from(INTERVAL_NS).unwrap();
    }

    /// So many intervals from here on end just now; before anything is written.
    pub(crate) fn ends_now_after(&mut self, intervals: i64) {
        self.utc_ns = now_ns() - self.next_ns - intervals * i64::try_from(INTERVAL_NS).unwrap();
    }

    pub(crate) fn signed(&self, purpose: Purpose, hub: HubKey, message: Vec<u8>) -> Vec<u8> {
        let sign = |bytes: &[u8]| self.own.sign(bytes).as_ref().try_into().unwrap();
        Envelope::sign(purpose, self.key(), hub, message, sign).to_bytes()
    }

    pub(crate) fn enrol(&self, hub: &TestHub, secret: &str, name: &str) -> Answer {
        let body = EnrolmentBody { secret: secret.to_owned(), name: name.to_owned(), version: "0.1.0".to_owned() };
        let message = self.signed(Purpose::Enrolment, hub.key(), serde_json::to_vec(&body).unwrap());
        hub.connect().post("/v1/enrol", &message)
    }

    pub(crate) fn enrolled_as(&self, hub: &TestHub, secret: &str, name: &str) -> EnrolledBody {
        self.enrol(hub, secret, name).signed(Purpose::Enrolled, hub.key())
    }

    /// Says that a connection is its own, and waits for news.
    pub(crate) fn listen(
        &self,
        hub: &TestHub,
        client: &mut Client,
        connection: ContentHash,
        knows: Option<ContentHash>,
    ) -> Answer {
        let body = ListenBody { connection, knows, for_s: 15, version: "0.1.0".to_owned() };
        client.post("/v1/listen", &self.signed(Purpose::Listen, hub.key(), serde_json::to_vec(&body).unwrap()))
    }

    /// What is sent next.
    pub(crate) fn batch(&self, hub: HubKey) -> Vec<u8> {
        let batch = self.spool.batch(1_000).unwrap();
        let sent = SentAt { boot: BootId("boot-1".to_owned()), at_ns: self.next_ns };
        let body = BatchBody {
            stream: batch.stream,
            base: batch.base,
            items: batch.items,
            version: "0.1.0".to_owned(),
            sent: Some(sent),
        };
        self.signed(Purpose::Batch, hub, serde_json::to_vec(&body).unwrap())
    }

    /// Sends all of it, and takes the mark.
    pub(crate) fn send(&mut self, hub: &TestHub) -> MarkBody {
        let answer = hub.connect().post("/v1/batch", &self.batch(hub.key()));
        let mark: MarkBody = answer.signed(Purpose::Mark, hub.key());
        let MarkBody { stream, sequence, hash, epoch, lacks } = mark.clone();
        self.spool.take_mark(&Mark { stream, sequence, hash, epoch, lacks });
        mark
    }
}

/// The program.
pub(crate) fn punctual_hub(folder: &Path, words: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_punctual-hub"));
    command.arg("--folder").arg(folder).args(words).output().unwrap()
}

/// What a hub says that is started where it must not serve; one that serves all the same is ended.
pub(crate) fn serve_in_vain(folder: &Path) -> (i32, String, String) {
    let mut serve = std::process::Command::new("timeout");
    serve.args(["20", env!("CARGO_BIN_EXE_punctual-hub"), "--folder"]).arg(folder);
    text(
        &serve
            .args(["serve", "--no-own-machine", "--agents", "127.0.0.1:0", "--people", "127.0.0.1:0"])
            .output()
            .unwrap(),
    )
}

/// The exit code of a program, and what it printed.
pub(crate) fn text(output: &std::process::Output) -> (i32, String, String) {
    let of = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), of(&output.stdout), of(&output.stderr))
}
