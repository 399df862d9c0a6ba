//! How a store is opened: refused with a reason when the servers cannot hold it, made when there is none.

use super::address::{Address, Host};
use super::info::{Info, info};
use super::keys::{self, Keys};
use super::net::{Net, Repeat, shown};
use super::queue::{Committer, WAITING_MAX};
use super::read::{bytes, list};
use super::script::{Call, alone};
use super::watch::{HINTS_KEPT, Listener};
use super::{Valkey, ValkeyState, fault};
use crate::layout::{self, LAYOUT};
use crate::{Clock, Error, ErrorKind, Home, Meta, Result};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::sync::CancellationToken;

/// How many partitions a new store gets unless its address says otherwise.
const PARTITIONS_DEFAULT: u16 = 64;
/// What the meta key of a store says it is.
const KIND: &str = "onward-store";

/// Opens or makes the store that an address names.
pub(super) async fn open(text: &str, clock: Option<Clock>) -> Result<Valkey> {
    let mut address = Address::parse(text)?;
    let first = Net::new(address.clone());
    let found = reach(&first).await?;
    // A server of a cluster knows that it is one.
    let member = found.is("cluster_enabled", "1");
    if address.cluster && !member {
        let message = "the server is not part of a cluster: name one host, and leave cluster=true out";
        return Err(Error::new(ErrorKind::Unsuitable, message).unwritten());
    }
    address.cluster = member;
    let net = Arc::new(Net::new(address));
    net.map().await?;
    for host in net.primaries() {
        suitable(&host, &info(&net, &host).await?)?;
    }
    let (meta, tags) = meta(&net).await.map_err(Error::unwritten)?;
    let keys = Arc::new(Keys::new(&net.address().prefix, meta.partitions, tags));
    probe(&net, &keys).await.map_err(Error::unwritten)?;
    start(net, keys, meta, clock).await.map_err(Error::unwritten)
}

/// What the first server that answers says about itself.
async fn reach(net: &Net) -> Result<Info> {
    let mut failure = None;
    for host in &net.address().hosts {
        match info(net, host).await {
            Ok(found) => return Ok(found),
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.unwrap_or_else(|| Error::new(ErrorKind::Invalid, "the address names no server").unwritten()))
}

/// Whether a primary can hold a store.
fn suitable(host: &Host, found: &Info) -> Result<()> {
    let shown = shown(host);
    let unsuitable = |message: String| Err(Error::new(ErrorKind::Unsuitable, message).unwritten());
    let version = found.get("redis_version").unwrap_or("unknown");
    if found.major() < 7 {
        return unsuitable(fault::too_old(&shown, version));
    }
    if !found.is("role", "master") {
        let message = format!("{shown} is a replica and may only be read: name its primary in the address");
        return Err(Error::new(ErrorKind::ReadOnly, message).unwritten());
    }
    match found.get("maxmemory_policy") {
        None | Some("noeviction") => Ok(()),
        Some(policy) => unsuitable(format!(
            "{shown} throws keys away when its memory is full (maxmemory-policy {policy}): set it to noeviction"
        )),
    }
}

/// What the store under the prefix says it is, and how many tags it has; it is made when there is nothing.
async fn meta(net: &Net) -> Result<(Meta, u16)> {
    let address = net.address();
    let (name, wanted) = (keys::meta(&address.prefix), address.partitions);
    let mut command = Call::Initialise.with([name.as_str()].into_iter());
    let store_id = format!("{:016x}{:016x}", chance(), chance());
    command.arg("kind").arg(KIND).arg("layout").arg(LAYOUT).arg("store_id").arg(store_id);
    let partitions = wanted.unwrap_or(PARTITIONS_DEFAULT);
    command.arg("partitions").arg(partitions).arg("tags").arg(keys::tag_count(partitions, address.cluster));
    let answer = net.call(keys::slot(name.as_bytes()), &alone(command), Repeat::Freely).await?;
    let mut found = HashMap::new();
    let mut values = list(answer.into_iter().next().unwrap_or_default())?.into_iter();
    while let (Some(name), Some(value)) = (values.next(), values.next()) {
        found.insert(bytes(name)?, String::from_utf8_lossy(&bytes(value)?).into_owned());
    }
    let get = |name: &str| found.get(name.as_bytes()).map(String::as_str);
    if get("kind") != Some(KIND) {
        let message = format!("the key {name} belongs to another program: choose another prefix");
        return Err(Error::new(ErrorKind::Foreign, message).unwritten());
    }
    let number = |name| get(name).and_then(|text| text.parse::<u32>().ok());
    let small = |name| number(name).and_then(|number| u16::try_from(number).ok()).filter(|number| *number > 0);
    let store_id = get("store_id").and_then(|id| u128::from_str_radix(id, 16).ok());
    let (Some(layout), Some(partitions), Some(tags), Some(store_id)) =
        (number("layout"), small("partitions"), small("tags"), store_id)
    else {
        return Err(fault::corrupt(&format!("{name} does not say what the store is")).unwritten());
    };
    Ok((verify(&address.prefix, Meta { store_id, partitions, layout }, wanted)?, tags))
}

fn verify(prefix: &str, meta: Meta, wanted: Option<u16>) -> Result<Meta> {
    layout::check(&format!("the store {prefix}"), meta.layout)?;
    match wanted {
        Some(wanted) if wanted != meta.partitions => {
            let message = format!(
                "the store {prefix} was made with {} partitions, not {wanted}: the number is fixed for ever, so leave it out or choose another prefix",
                meta.partitions
            );
            Err(Error::new(ErrorKind::Unsuitable, message).unwritten())
        }
        _ => Ok(meta),
    }
}

/// Whether this user may do all that the store does.
async fn probe(net: &Net, keys: &Keys) -> Result<()> {
    let tag = &keys.tags()[0];
    let own = |end: &str| format!("{}:probe:{end}", tag.records);
    let (hash, set, stream) = (own("hash"), own("set"), own("stream"));
    let mut command = Call::Probe.with([hash.as_str(), &set, &stream].into_iter());
    command.arg(&tag.channel);
    net.call(tag.slot, &alone(command), Repeat::Freely).await?;
    Ok(())
}

async fn start(net: Arc<Net>, keys: Arc<Keys>, meta: Meta, clock: Option<Clock>) -> Result<Valkey> {
    let (hints, _) = broadcast::channel(HINTS_KEPT);
    let closed = CancellationToken::new();
    let state = Arc::new(ValkeyState { origin: chance(), clock, reads: 0.into(), written: Mutex::default() });
    let listener =
        Listener { net: Arc::clone(&net), keys: Arc::clone(&keys), origin: state.origin, hints: hints.clone() };
    let subscribed = listener.subscribe().await?;
    let mut tasks = vec![tokio::spawn(listener.serve(subscribed, closed.clone()))];
    let mut queues = Vec::with_capacity(keys.tags().len());
    for tag in 0..keys.tags().len() {
        let (queue, requests) = mpsc::channel(WAITING_MAX);
        // Waiting for replicas holds up a whole connection, so that each tag needs its own then.
        let own = if net.address().wait == 0 { Arc::clone(&net) } else { Arc::new(net.another()) };
        let committer =
            Committer { net: own, keys: Arc::clone(&keys), tag, state: Arc::clone(&state), hints: Mutex::default() };
        tasks.push(tokio::spawn(committer.serve(requests, closed.clone())));
        queues.push(queue);
    }
    let (home, _) = watch::channel(Home::ByMembership);
    Ok(Valkey { net, keys, meta, state, queues, hints, closed, home, tasks: Mutex::new(tasks) })
}

/// A number that nobody else has, as far as the keys of the standard library's maps are random.
fn chance() -> u64 {
    RandomState::new().build_hasher().finish()
}
