//! The command `fault-proxy`: stands in front of a store and breaks some of its answers, to see what a load does then.
//!
//! Must not know the database. `proxy` and `kinds` are compiled into the tests of `sources`, too.

mod kinds;
mod proxy;

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex};

use clap::Args;
use host::Runtimes;

use crate::failure::Failure;
use kinds::{FaultKind, Faults, KINDS};
use proxy::FaultProxy;

#[derive(Args, Debug)]
pub struct FaultProxyArgs {
    /// The store, such as http://127.0.0.1:9090
    #[arg(long)]
    to: String,
    /// Port on the loopback address; 0 takes a free one
    #[arg(long, default_value_t = 9091)]
    port: u16,
    /// The same seed breaks the same requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Part of the requests that are broken, 0 to 1
    #[arg(long, default_value = "0.1", value_parser = per_mille)]
    rate: u64,
    /// What goes wrong, comma-separated; everything when not given
    #[arg(long, value_delimiter = ',', value_parser = kind)]
    kinds: Vec<FaultKind>,
    /// Milliseconds added to every answer
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
}

fn kind(name: &str) -> Result<FaultKind, String> {
    let names = || KINDS.map(|(name, _)| name).join(", ");
    let found = KINDS.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind).ok_or_else(|| format!("there are {}", names()))
}

/// Thousandths, so that the rest of the program counts in whole numbers.
fn per_mille(text: &str) -> Result<u64, String> {
    let rate: f64 = text.parse().map_err(|_| "a number from 0 to 1".to_owned())?;
    (0..=1000_u16)
        .rev()
        .find(|mille| f64::from(*mille) <= rate * 1000.0 + 1e-9)
        .map(u64::from)
        .filter(|_| rate <= 1.0)
        .ok_or_else(|| "a number from 0 to 1".to_owned())
}

fn address(url: &str) -> Result<SocketAddr, Failure> {
    let failed = |why: String| Failure::new(format!("--to {url}: {why}"));
    let host = url.strip_prefix("http://").ok_or_else(|| failed("only http:// can be broken".to_owned()))?;
    let mut found =
        host.trim_end_matches('/').to_socket_addrs().map_err(|error| failed(error.to_string()))?;
    found.next().ok_or_else(|| failed("no such host".to_owned()))
}

/// The command: serves until interrupted. Call from outside the runtimes.
pub fn run(args: &FaultProxyArgs, runtimes: &Runtimes) -> Result<(), Failure> {
    let kinds = match args.kinds.is_empty() {
        true => KINDS.iter().map(|(_, kind)| *kind).collect(),
        false => args.kinds.clone(),
    };
    let faults = Faults { seed: args.seed, per_mille: args.rate, kinds, latency_ms: args.latency_ms };
    let proxy = FaultProxy::start(runtimes, address(&args.to)?, args.port, Arc::new(Mutex::new(faults)))?;
    crate::terminal::line(&format!("{} breaks {}", proxy.url(), args.to))?;
    runtimes.block_on(tokio::signal::ctrl_c())?;
    let (requests, faulty, connections) = proxy.counts();
    crate::terminal::line(&format!("{requests} requests, {faulty} broken, {connections} connections"))?;
    Ok(())
}
