//! The dialog with a witness: it is asked to measure, says something each second, and is told when to end.
//!
//! It has faults that a run must not inherit. One that gives an answer up may stop measuring without a word: where no edge comes any
//! more, it is told to end, so that it says what it has, and asked anew. It counts what it takes for a warm-up in its histogram, and
//! does not say which frames it could not send: what is in the histogram alone is counted apart. A frame that its last run left in its
//! queue comes first: it is told by the edges, of which there cannot have been enough.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::time::{Duration, Instant};

use codecs::latmon::{self, Message, Reader, Request};
use record::{ANNOUNCED, AnswerRequest, AnswerWitness, WitnessSecond};
use units::format;

use super::plan::AnswerPlan;
use crate::stop::Stop;

/// Between two looks at whether the run is over.
pub(super) const LOOK: Duration = Duration::from_millis(50);
/// How long a connection may take.
const CONNECTING: Duration = Duration::from_secs(5);
/// How long an announcement is waited for: it comes each five seconds.
const ANNOUNCING: Duration = Duration::from_secs(12);
/// How long it may take from its end to what it says of it.
const ENDING_NS: i64 = 3_000_000_000;
/// Without an edge for so long, and for so many periods, it has stopped.
const QUIET_NS: i64 = 2_000_000_000;
const QUIET_PERIODS: i64 = 20;
/// A frame can be here before the edges are counted whose answers it tells of: each is counted right after its answer, by a thread of
/// high priority.
const COUNTED: Duration = Duration::from_millis(20);
/// Between two looks at whether somebody wants the run to end.
const STOP_LOOK: Duration = Duration::from_secs(1);

/// Why there is no witness; each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// Nobody is there.
    #[error(
        "no witness at {address}: {error}; look whether the board runs latmon, has this address (--witness announced finds it), and serves nobody else"
    )]
    Connect {
        /// Where it was looked for.
        address: String,
        /// The reason.
        error: io::Error,
    },
    /// No announcement came.
    #[error(
        "no witness announced itself within {}: one that runs latmon in this network does so each 5 s while nobody is connected to it; name its address if broadcasts do not come through",
        format::span(u64::try_from(ANNOUNCING.as_nanos()).unwrap_or(0))
    )]
    Unannounced,
    /// Somebody ended it meanwhile.
    #[error("ended before a witness was connected")]
    Ended,
    /// Announcements cannot be heard.
    #[error(
        "announcements of witnesses cannot be heard at UDP port {}: {error}; name the witness's address",
        latmon::PORT
    )]
    Listen {
        /// The reason.
        error: io::Error,
    },
}

/// A witness that is connected.
#[derive(Debug)]
pub(super) struct Dialog {
    stream: TcpStream,
    request: Request,
    reader: Reader,
    said: AnswerWitness,
    /// How many answers took so many microseconds.
    cells: Vec<u64>,
    /// Answers in the frames of this session.
    in_frames: u64,
    /// Edges that had been answered when it was asked last, and what was seen of their number since.
    asked_at_edges: u64,
    progress: (u64, i64),
    state: State,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is to measure.
    Measuring,
    /// It was told to end (ns).
    Ending { since_ns: i64 },
    /// It has said all.
    Over,
}

/// What it said, with its histogram: how many answers took so many microseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) witness: AnswerWitness,
    pub(super) cells: Vec<u64>,
}

/// What the dialog is held against.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    /// The time from the start of the run (ns).
    pub(super) now_ns: &'a dyn Fn() -> i64,
    /// Edges that were answered.
    pub(super) answered: &'a dyn Fn() -> u64,
}

/// How long a run whose witness makes an edge each so many nanoseconds can be without one, and go on: until it is noticed, and the
/// witness has ended and begun anew.
pub(super) fn longest_quiet(period_ns: i64) -> Duration {
    let quiet_ns = quiet_ns(period_ns).saturating_add(ENDING_NS).saturating_add(period_ns);
    Duration::from_nanos(quiet_ns.unsigned_abs())
}

fn quiet_ns(period_ns: i64) -> i64 {
    QUIET_NS.max(QUIET_PERIODS.saturating_mul(period_ns))
}

impl Dialog {
    /// Connects to the witness that was asked for.
    ///
    /// # Errors
    /// Where there is none, or somebody ends it.
    pub(super) fn open(plan: &AnswerPlan, stop: &Stop) -> Result<Option<Self>, WitnessError> {
        let AnswerRequest { witness, witness_cost, .. } = &plan.request;
        let Some(named) = witness.as_deref() else { return Ok(None) };
        let address = if named == ANNOUNCED { heard(ANNOUNCING, stop)?.to_string() } else { named.to_owned() };
        let with_port = if address.contains(':') { address } else { format!("{address}:{}", latmon::PORT) };
        let stream = match connect(&with_port, stop) {
            Ok(stream) => stream,
            Err(_) if stop.ended_early() => return Err(WitnessError::Ended),
            Err(error) => return Err(WitnessError::Connect { address: with_port, error }),
        };
        let request = plan.of_witness();
        let period_ns = plan.length.interval_ns.unsigned_abs();
        let said = AnswerWitness {
            address: with_port,
            period_ns,
            overrun_ns: period_ns.min(latmon::GIVEN_UP_AFTER_NS),
            cost_ns: witness_cost.map(units::Ns::unsigned),
            ..AnswerWitness::default()
        };
        Ok(Some(Self::new(stream, request, said)))
    }

    fn new(stream: TcpStream, request: Request, said: AnswerWitness) -> Self {
        Self {
            stream,
            request,
            reader: Reader::new(request),
            said,
            cells: vec![0; usize::try_from(request.cells).unwrap_or(0)],
            in_frames: 0,
            asked_at_edges: 0,
            progress: (0, 0),
            state: State::Over,
        }
    }

    /// What it has said so far.
    pub(super) fn said(&self) -> Said {
        let mut witness = self.said.clone();
        if witness.overruns > 0 && witness.has_given_all_up() {
            witness.overrun_ns = latmon::GIVEN_UP_AFTER_NS;
        }
        Said { witness, cells: self.cells.clone() }
    }

    /// Talks until the run is over and it has said all, or is lost; `tell` hears each time what it has said so far.
    pub(super) fn run(mut self, counted: &Counted<'_>, is_time: &dyn Fn() -> bool, tell: &dyn Fn(Said)) -> Said {
        if let Err(why) = self.talk(counted, is_time, tell) {
            self.said.lost = Some(why);
        }
        self.said()
    }

    fn talk(&mut self, counted: &Counted<'_>, is_time: &dyn Fn() -> bool, tell: &dyn Fn(Said)) -> Result<(), String> {
        let Counted { now_ns, answered } = counted;
        self.ask(now_ns(), answered())?;
        loop {
            if self.listen(counted)? {
                tell(self.said());
            }
            let (now_ns, edges) = (now_ns(), answered());
            match self.state {
                State::Measuring if is_time() => self.end(now_ns)?,
                State::Measuring => self.look_whether_it_stopped(now_ns, edges)?,
                State::Ending { since_ns } if now_ns.saturating_sub(since_ns) > ENDING_NS => {
                    return Err("it did not say what it had when it was told to end".to_owned());
                }
                State::Ending { .. } => {}
                State::Over if is_time() => return Ok(()),
                // It had ended before it was told.
                State::Over => self.ask(now_ns, edges)?,
            }
        }
    }

    fn ask(&mut self, now_ns: i64, edges: u64) -> Result<(), String> {
        self.said.sessions += 1;
        (self.reader, self.in_frames, self.state) = (Reader::new(self.request), 0, State::Measuring);
        (self.asked_at_edges, self.progress) = (edges, (edges, now_ns));
        self.send(self.request.bytes())
    }

    fn end(&mut self, now_ns: i64) -> Result<(), String> {
        self.state = State::Ending { since_ns: now_ns };
        self.send(Request::END)
    }

    fn send(&mut self, bytes: [u8; 8]) -> Result<(), String> {
        self.stream.write_all(&bytes).map_err(|error| format!("its connection was lost: {error}"))
    }

    fn look_whether_it_stopped(&mut self, now_ns: i64, edges: u64) -> Result<(), String> {
        if edges != self.progress.0 {
            self.progress = (edges, now_ns);
        }
        let quiet_ns = quiet_ns(1_000 * i64::from(self.request.period_us));
        if now_ns.saturating_sub(self.progress.1) <= quiet_ns {
            return Ok(());
        }
        if edges == self.asked_at_edges {
            let quiet = format::span(quiet_ns.unsigned_abs());
            return Err(format!("it was asked to measure, and for {quiet} no edge of its pulse came"));
        }
        self.end(now_ns)
    }

    /// Takes over what arrived within a short time; whether it said anything.
    fn listen(&mut self, counted: &Counted<'_>) -> Result<bool, String> {
        let mut bytes = [0; 4_096];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err("it closed the connection".to_owned()),
            Ok(read) => self.reader.push(bytes.get(..read).unwrap_or_default()),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(error) => return Err(format!("its connection was lost: {error}")),
        }
        let mut has_spoken = false;
        while let Some(message) = self.reader.next_message().map_err(|error| error.to_string())? {
            has_spoken = true;
            match message {
                Message::Frame(frame) if self.is_left_over(frame, counted.answered) => self.said.left_over_frames += 1,
                Message::Frame(frame) => self.add_frame(frame, (counted.now_ns)()),
                Message::Histogram(cells) => self.add_histogram(&cells),
            }
        }
        Ok(has_spoken)
    }

    /// Whether a frame is of an earlier run: one of a whole second has at least as many edges before it, since it was asked, as it and
    /// the warm-up take. What is left of a second comes at the end alone, and from no queue.
    fn is_left_over(&self, frame: latmon::Frame, answered: &dyn Fn() -> u64) -> bool {
        let of_second = u64::from(self.request.answers_a_frame());
        let has_too_few = || answered().saturating_sub(self.asked_at_edges) < 2 * of_second;
        u64::from(frame.samples) >= of_second && has_too_few() && {
            std::thread::sleep(COUNTED);
            has_too_few()
        }
    }

    fn add_frame(&mut self, frame: latmon::Frame, now_ns: i64) {
        if frame.samples == 0 && frame.overruns == 0 {
            return;
        }
        self.in_frames += u64::from(frame.samples);
        self.said.add(WitnessSecond {
            at_offset_ns: now_ns.max(0).unsigned_abs(),
            frames: 1,
            samples: frame.samples.into(),
            overruns: frame.overruns.into(),
            min_ns: frame.min_ns,
            max_ns: frame.max_ns,
            sum_ns: frame.sum_ns,
        });
    }

    fn add_histogram(&mut self, cells: &[u32]) {
        self.cells.iter_mut().zip(cells).for_each(|(all, of_session)| *all += u64::from(*of_session));
        let total: u64 = cells.iter().map(|count| u64::from(*count)).sum();
        let beside = total.saturating_sub(self.in_frames);
        let warm_up = beside.min(self.request.answers_a_frame().into());
        self.said.in_histogram += total;
        self.said.warm_up += warm_up;
        self.said.unsent += beside - warm_up;
        self.state = State::Over;
    }
}

/// Tries each address, a second at a time: a signal does not end the wait for one.
fn connect(address: &str, stop: &Stop) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        let until = Instant::now() + CONNECTING;
        let connected = loop {
            let connected = TcpStream::connect_timeout(&address, STOP_LOOK);
            let is_late = connected.as_ref().is_err_and(|error| error.kind() == ErrorKind::TimedOut);
            if !is_late || stop.ended_early() || Instant::now() >= until {
                break connected;
            }
        };
        match connected {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(LOOK))?;
                stream.set_write_timeout(Some(CONNECTING))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The address of the first witness that announces itself.
fn heard(within: Duration, stop: &Stop) -> Result<Ipv4Addr, WitnessError> {
    if stop.ended_early() {
        return Err(WitnessError::Ended);
    }
    let socket =
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, latmon::PORT)).map_err(|error| WitnessError::Listen { error })?;
    let until = Instant::now() + within;
    let mut bytes = [0; 64];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(WitnessError::Unannounced);
        }
        if stop.ended_early() {
            return Err(WitnessError::Ended);
        }
        socket.set_read_timeout(Some(left.min(STOP_LOOK))).map_err(|error| WitnessError::Listen { error })?;
        match socket.recv(&mut bytes) {
            Ok(length) => {
                if let Some(address) = latmon::announced(bytes.get(..length).unwrap_or_default()) {
                    return Ok(address);
                }
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(error) => return Err(WitnessError::Listen { error }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// One that measures, asked before any edge came.
    fn measuring(period_us: u32) -> (Dialog, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = connect(&listener.local_addr().unwrap().to_string(), &Stop::new()).unwrap();
        let mut dialog = Dialog::new(stream, Request { period_us, cells: 3 }, AnswerWitness::default());
        dialog.ask(0, 0).unwrap();
        (dialog, listener)
    }

    #[test]
    fn it_has_stopped_where_no_edge_came_for_two_seconds_and_twenty_periods() {
        for (period_us, quiet_ns) in [(1_000, 2_000_000_000), (500_000, 10_000_000_000)] {
            let (mut dialog, _listener) = measuring(period_us);
            // An edge at 3 s; none from then on.
            dialog.look_whether_it_stopped(3_000_000_000, 1).unwrap();
            dialog.look_whether_it_stopped(3_000_000_000 + quiet_ns, 1).unwrap();
            assert_eq!(dialog.state, State::Measuring, "{period_us}");
            dialog.look_whether_it_stopped(3_000_000_001 + quiet_ns, 1).unwrap();
            assert!(matches!(dialog.state, State::Ending { .. }), "{period_us}");
        }
    }

    #[test]
    fn whoever_waits_for_a_witness_can_be_told_to_end() {
        let stop = Stop::new();
        stop.end_early();
        let began = Instant::now();
        assert!(matches!(heard(Duration::from_secs(3_600), &stop), Err(WitnessError::Ended)));
        assert!(began.elapsed() < Duration::from_secs(600));
    }

    #[test]
    fn a_frame_is_of_this_run_where_there_were_edges_enough_for_it_and_the_warm_up() {
        let (dialog, _listener) = measuring(250_000);
        let is_left_over =
            |samples, edges| dialog.is_left_over(latmon::Frame { samples, ..latmon::Frame::default() }, &|| edges);
        assert!(is_left_over(4, 0) && is_left_over(4, 7));
        assert!(!is_left_over(4, 8), "four of the warm-up, and its own");
        assert!(!is_left_over(3, 3), "what was left of a second, as it was told to end");
        let looks = std::cell::Cell::new(0);
        let counted_late = || {
            looks.set(looks.get() + 1);
            if looks.get() == 1 { 7 } else { 8 }
        };
        let frame = latmon::Frame { samples: 4, ..latmon::Frame::default() };
        assert!(!dialog.is_left_over(frame, &counted_late), "its last edge was counted after it came");
    }

    #[test]
    fn what_frames_and_histograms_say_is_counted_once_over_all_sessions() {
        let (mut dialog, _listener) = measuring(250_000);
        let frame = |samples, overruns| latmon::Frame {
            sum_ns: u64::from(samples) * 500,
            min_ns: (samples > 0).then_some(500),
            max_ns: (samples > 0).then_some(500),
            overruns,
            samples,
        };
        // Four answers are a frame, and those of the first one a warm-up; a frame of four is not sent.
        dialog.add_frame(frame(4, 0), 2_000_000_000);
        dialog.add_frame(frame(0, 1), 4_000_000_000);
        dialog.add_frame(frame(0, 0), 4_000_000_000);
        dialog.add_histogram(&[12, 0, 0]);
        dialog.ask(5_000_000_000, 13).unwrap();
        dialog.add_frame(frame(3, 0), 7_000_000_000);
        dialog.add_histogram(&[5, 0, 2]);
        let said = &dialog.said;
        assert_eq!((said.sessions, said.samples, said.overruns), (2, 7, 1));
        assert_eq!((said.in_histogram, said.warm_up, said.unsent), (19, 8, 4));
        assert_eq!(dialog.cells, [17, 0, 2]);
        let seconds: Vec<(u64, u64, u64)> =
            said.seconds.iter().map(|one| (one.at_offset_ns, one.samples, one.overruns)).collect();
        assert_eq!(seconds, [(2_000_000_000, 4, 0), (4_000_000_000, 0, 1), (7_000_000_000, 3, 0)]);
    }
}
