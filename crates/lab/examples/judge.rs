//! Judges what guests of the calibration left: `cargo run -p punctual-lab --example judge -- idle=FOLDER load=FOLDER …`
//!
//! Prints the table, or with `--json` first everything; fails where the instrument is not calibrated.

use std::path::Path;
use std::process::ExitCode;

use lab::calibrate::{Condition, Evidence, calibrate};

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let as_json = arguments.first().is_some_and(|argument| argument == "--json");
    if as_json {
        arguments.remove(0);
    }
    let mut boots = Vec::new();
    for argument in &arguments {
        let (condition, folder) = match argument.split_once('=') {
            Some(("idle", folder)) => (Condition::Idle, folder),
            Some(("load", folder)) => (Condition::Load, folder),
            _ => {
                eprintln!("'{argument}' is neither idle=FOLDER nor load=FOLDER");
                return ExitCode::from(2);
            }
        };
        match Evidence::read(Path::new(folder), folder, condition) {
            Ok(boot) => boots.push(boot),
            Err(error) => {
                eprintln!("{folder}: {error}");
                return ExitCode::from(2);
            }
        }
    }
    let calibration = calibrate(&boots);
    if as_json {
        match serde_json::to_string_pretty(&calibration) {
            Ok(text) => println!("{text}"),
            Err(error) => eprintln!("{error}"),
        }
    } else {
        println!("{calibration}");
    }
    if calibration.passes() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
