//! `punctual measure sync`.

use record::{Request, RunLength, RunRequest, SourceChoice, SyncRequest};
use units::Ns;

use super::claim::ClaimArgs;
use crate::begin::AnywayArgs;
use crate::destination::OutputArgs;
use crate::exit::Exit;
use crate::session::{Asked, LabelArgs, carry_out};

#[derive(clap::Args)]
pub(crate) struct SyncArgs {
    /// Which sources of time to follow
    #[arg(long, value_name = "SOURCE", default_value = "auto", value_parser = source())]
    source: SourceChoice,
    /// How long to follow them; `unlimited` follows until Ctrl-C
    #[arg(long, visible_alias = "time", value_name = "D", default_value = "60s")]
    duration: RunLength,
    /// How far apart the clocks may be, within the hard bound; exit 1 where they are farther, 3 where the bound is too wide to tell
    #[arg(long, visible_alias = "deadline", value_name = "D")]
    limit: Option<Ns>,
    /// How much an uncorrected clock drifts from the reference at most: hard bounds grow with it between two exchanges
    #[arg(long, value_name = "PPM", default_value = "100ppm", value_parser = drift_ppb)]
    max_drift: u32,
    /// ptp4l's management socket [default: that of the running ptp4l]
    #[arg(long, value_name = "PATH")]
    ptp_socket: Option<String>,
    /// The socket that ptp4l sends its time stamps to: slave_event_monitor in its configuration [default: read from there]
    #[arg(long, value_name = "PATH")]
    ptp_events: Option<String>,
    /// Address of chronyd's command port [default: 127.0.0.1:323]
    #[arg(long, value_name = "ADDRESS:PORT")]
    chrony: Option<String>,
    /// The memory that ClockBound's daemon shares [default: /var/run/clockbound/shm0, then shm]
    #[arg(long, value_name = "FILE")]
    clockbound: Option<String>,
    /// The memory that an fbclock daemon shares [default: /run/fbclock_data_v2, then _v1]
    #[arg(long, value_name = "FILE")]
    fbclock: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    label: LabelArgs,
}

/// The names of the sources.
fn source() -> impl clap::builder::TypedValueParser<Value = SourceChoice> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
    let names = [
        ("auto", "all that are found"),
        ("ptp", "ptp4l of linuxptp"),
        ("chrony", "chronyd"),
        ("kernel", "the kernel's clock discipline"),
        ("phc", "PTP hardware clocks against the system clock"),
        ("clockbound", "ClockBound's daemon"),
        ("fbclock", "the fbclock daemon"),
    ];
    PossibleValuesParser::new(names.map(|(name, help)| PossibleValue::new(name).help(help))).map(|name| {
        match name.as_str() {
            "ptp" => SourceChoice::Ptp,
            "chrony" => SourceChoice::Chrony,
            "kernel" => SourceChoice::Kernel,
            "phc" => SourceChoice::Phc,
            "clockbound" => SourceChoice::Clockbound,
            "fbclock" => SourceChoice::Fbclock,
            _ => SourceChoice::Auto,
        }
    })
}

/// `100ppm`, `0.5 ppm`, `200ppb` in parts per billion.
pub(crate) fn drift_ppb(text: &str) -> Result<u32, String> {
    let wanted =
        || format!("'{text}' is no drift: write it in parts per million or billion, for example 100ppm or 200ppb");
    let (number, factor) = match text.strip_suffix("ppm") {
        Some(number) => (number, 1_000.0),
        None => (text.strip_suffix("ppb").ok_or_else(wanted)?, 1.0),
    };
    let ppb: f64 = number.trim().parse::<f64>().map_err(|_| wanted())? * factor;
    if !(1.0..=1e8).contains(&ppb) {
        return Err(format!("'{text}' is out of range: 1ppb to 100000ppm"));
    }
    u32::try_from(units::round_u64(ppb)).map_err(|_| wanted())
}

impl SyncArgs {
    fn config(&self) -> SyncRequest {
        SyncRequest {
            source: self.source,
            duration: self.duration,
            limit: self.limit,
            max_drift_ppb: self.max_drift,
            ptp_socket: self.ptp_socket.clone().map(Into::into),
            ptp_events: self.ptp_events.clone().map(Into::into),
            chrony_address: self.chrony.clone().map(Into::into),
            clockbound_memory: self.clockbound.clone().map(Into::into),
            fbclock_memory: self.fbclock.clone().map(Into::into),
        }
    }

    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let request = RunRequest { request: Request::Sync(self.config()), load: None, partner: Vec::new() };
        let Self { output, label, .. } = self;
        let asked = Asked { anyway: AnywayArgs::default(), output, label: &label.label, claim: &ClaimArgs::default() };
        carry_out(request, asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drift_has_a_unit_and_a_range() {
        assert_eq!(drift_ppb("100ppm"), Ok(100_000));
        assert_eq!(drift_ppb("0.5 ppm"), Ok(500));
        assert_eq!(drift_ppb("200ppb"), Ok(200));
        for wrong in ["100", "ppm", "-1ppm", "0.0001ppb", "100001ppm", "nanppm", "infppm"] {
            assert!(drift_ppb(wrong).is_err(), "{wrong}");
        }
    }
}
