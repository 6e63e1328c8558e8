//! Whether several servers work on a query, which, and on what.
//!
//! Every server makes the plan from the statement's text. Invariant: without a port for peers nothing of this runs; what cannot be shared stays here, and EXPLAIN says why.
//! Must not know: how rows come from another server.

use std::sync::Arc;

use boundary::error::Error;
use boundary::limits::row_limits;
use boundary::secrets::text::masked;
use cluster::{Peer, PieceOfPart, ReadOrder, Setting, WorkOrder};
use datafusion::physical_plan::ExecutionPlan;
use model::ByteSize;
use physical::nodes::row_limits::RowLimits;
use physical::spread::dealing::dealt;
use physical::spread::digest::digest;
use physical::spread::fragment::{Fragment, Leaves, bytes_read};
use physical::spread::leaf::PartPiece;
use physical::spread::node::{OtherServer, SpreadExec};
use physical::spread::share::{Share, files_to_share, over, parts_to_share, rows_to_share};
use physical::spread::units::{OfThisServer, SharedUnits};

use crate::context::execution::Execution;
use crate::context::servers::{active, given_settings};
use crate::context::services::Services;
use crate::query::elsewhere::Elsewhere;

/// Bytes of files for each server that takes part, unless all shall: below, asking takes longer than reading.
const BYTES_EACH: u64 = 32 << 20;

/// The settings that say so, the newer word first.
const WISHES: [&str; 2] = ["enable_parallel_replicas", "allow_experimental_parallel_reading_from_replicas"];

/// What the statement says of servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wish {
    /// This one alone.
    Alone,
    /// As many as there is work for.
    BySize,
    /// All that there are.
    All,
}

/// What is shared, and with whom.
struct Chosen {
    fragment: Fragment,
    peers: Vec<Peer>,
}

/// The plan with a piece of it shared among servers, if one can be and it is worth while. `titles` are the calls of table functions.
pub(crate) fn spread(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    titles: &[String],
    plan: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>, Error> {
    match chosen(services, execution, titles, &plan) {
        Ok(chosen) => shared(services, execution, &chosen, &plan),
        Err(_) => Ok(plan),
    }
}

/// What EXPLAIN says of servers where the plan does not name them.
pub(crate) fn explained(
    services: &Services,
    execution: &Execution,
    titles: &[String],
    plan: &Arc<dyn ExecutionPlan>,
) -> Option<String> {
    services.peers.get()?;
    let why = chosen(services, execution, titles, plan).err()?;
    Some(format!("Servers: this one; {why}"))
}

fn chosen(
    services: &Services,
    execution: &Execution,
    titles: &[String],
    plan: &Arc<dyn ExecutionPlan>,
) -> Result<Chosen, String> {
    let Some(peers) = services.peers.get() else { return Err("no port for peers is open".to_owned()) };
    let wish = wish(execution, titles);
    if wish == Wish::Alone {
        return Err("enable_parallel_replicas is 0".to_owned());
    }
    if execution.helping.is_some() || execution.rewritten.is_some() || !execution.is_query {
        return Err("it is a part of another statement".to_owned());
    }
    if !execution.temporary.is_empty() {
        return Err("the session has temporary tables".to_owned());
    }
    if row_limits(&execution.settings) != RowLimits::default() {
        return Err("rows are counted by one server".to_owned());
    }
    let servers = active(services);
    if servers.is_empty() {
        return Err("no other server has a port for peers".to_owned());
    }
    let few = |bytes: u64| format!("it reads {}, too little for more", ByteSize(bytes));
    let bytes = bytes_read(plan.as_ref());
    if wish == Wish::BySize && bytes < 2 * BYTES_EACH {
        return Err(few(bytes));
    }
    let fragment = Fragment::of(plan)?;
    let sends_much = match fragment.leaves {
        Leaves::Few => false,
        // Files are read from afar anyway; pages of parts may be kept here.
        Leaves::Some => !fragment.reads_files,
        Leaves::All => true,
    };
    if wish == Wish::BySize && sends_much {
        return Err("most of the rows it reads might be sent".to_owned());
    }
    let has_secrets = masked(&execution.logged) != *execution.logged;
    let most = usize::try_from(execution.settings.get_u64("max_parallel_replicas")).unwrap_or(usize::MAX);
    let enough = match wish {
        Wish::All => usize::MAX,
        _ => usize::try_from(fragment.bytes / BYTES_EACH).unwrap_or(usize::MAX),
    };
    let may_hear = |peer: &Peer| !has_secrets || peers.is_private(peer);
    let others = most.min(enough).saturating_sub(1);
    let units = files_to_share(&fragment.plan).map_or(usize::MAX, |scan| scan.units_expected());
    let mut reached: Vec<Peer> = servers.into_iter().filter(may_hear).collect();
    if reached.is_empty() {
        return Err("it has credentials, and the servers have no TLS between them".to_owned());
    }
    reached.retain(|peer| !peers.is_avoided(peer));
    if reached.is_empty() {
        return Err("the other servers were lost a moment ago".to_owned());
    }
    reached.truncate(others.min(units.saturating_sub(1)));
    match reached.is_empty() {
        true if most <= 1 => Err("max_parallel_replicas is 1".to_owned()),
        true if units <= 1 => Err("one file is one unit".to_owned()),
        true => Err(few(fragment.bytes)),
        false => Ok(Chosen { fragment, peers: reached }),
    }
}

fn wish(execution: &Execution, titles: &[String]) -> Wish {
    let names_cluster = |title: &String| {
        let name = title.split('(').next().unwrap_or_default();
        name.to_ascii_lowercase().ends_with("cluster")
    };
    if titles.iter().any(names_cluster) {
        return Wish::All;
    }
    let given = |name: &&&str| execution.settings.is_changed(name);
    let Some(name) = WISHES.iter().find(given) else { return Wish::BySize };
    match execution.settings.get_u64(name) {
        0 => Wish::Alone,
        1 => Wish::BySize,
        _ => Wish::All,
    }
}

fn shared(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    Chosen { fragment, peers }: &Chosen,
    plan: &Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>, Error> {
    let whole = &fragment.plan;
    let mut names = vec![services.sharing.as_ref().map_or(0, |sharing| sharing.member.id().0)];
    names.extend(peers.iter().map(|peer| peer.id));
    let mut dealt = dealt(&parts_to_share(whole), &names).into_iter();
    let pieces = dealt.next().unwrap_or_default();
    let units = files_to_share(whole).map(|scan| Arc::new(SharedUnits::of(scan, names.len())));
    let digest = digest(whole)?;
    let others_bytes: u64 = dealt.as_slice().iter().flatten().map(|piece| piece.end - piece.begin).sum();
    execution.progress.expect(rows_to_share(whole), others_bytes);
    let here = Share {
        pieces,
        has_inline: true,
        feed: units.clone().map(|units| Arc::new(OfThisServer(units)) as _),
    };
    let others = peers.iter().zip(1..).zip(dealt).filter(|(_, pieces)| units.is_some() || !pieces.is_empty());
    let others = others.map(|((peer, place), pieces)| {
        let read = ReadOrder { digest, pieces: pieces.iter().map(wire_of).collect(), units: Vec::new() };
        Arc::new(Elsewhere {
            services: Arc::clone(services),
            execution: Arc::clone(execution),
            peer: peer.clone(),
            place,
            order: order_of(services, execution, names.len(), read),
            whole: Arc::clone(whole),
            share: Share { pieces, has_inline: false, feed: None },
            units: units.clone(),
        }) as Arc<dyn OtherServer>
    });
    let others = others.collect();
    let spread = SpreadExec::over(whole, over(whole, &here)?, others);
    Ok(fragment.replaced(plan, spread)?)
}

fn order_of(services: &Services, execution: &Execution, servers: usize, read: ReadOrder) -> WorkOrder {
    let mut settings = given_settings(execution);
    // Plans are alike only with the same number of threads.
    settings.retain(|setting| setting.name != "max_threads");
    let threads = services.threads_of(&execution.settings).to_string();
    settings.push(Setting { name: "max_threads".to_owned(), value: threads });
    WorkOrder {
        load: Vec::new(),
        statement: execution.logged.to_string(),
        user: execution.user.to_string(),
        query_id: execution.query_id.clone(),
        settings,
        seq: execution.snapshot.seq().0,
        servers: u32::try_from(servers).unwrap_or(u32::MAX),
        database: execution.current_database.clone(),
        now_ms: execution.now_ms,
        read: Some(read),
    }
}

fn wire_of(piece: &PartPiece) -> PieceOfPart {
    let PartPiece { leaf, part, begin, end } = *piece;
    PieceOfPart { leaf, part: part.as_bytes().to_vec(), begin, end }
}
