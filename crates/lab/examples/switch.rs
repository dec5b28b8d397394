//! Connects guests through the switch that a TOML file describes, until SIGINT or SIGTERM; then prints the counters.
//!
//! Usage: `switch FILE`; the `-netdev` argument of each guest is printed at the start.

#![forbid(unsafe_code)]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;

use lab::switch::{BoundSwitch, SwitchConfig};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: switch FILE")?;
    let config: SwitchConfig = toml::from_str(&std::fs::read_to_string(&path)?)?;
    for (place, port) in config.port.iter().enumerate() {
        eprintln!("guest {place}: -netdev {}", port.netdev_argument("net0"));
    }
    let stop = Arc::new(AtomicBool::new(false));
    kernel::signals::register(&stop, &Arc::default())?;
    let (_no_orders, orders) = mpsc::channel();
    let outcome = BoundSwitch::bind(config)?.run(&stop, &orders)?;
    println!("{}", serde_json::to_string_pretty(&outcome)?);
    Ok(())
}
