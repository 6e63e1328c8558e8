//! Other servers of the root: which there are, what they are told of a statement, and what they say of its errors.
//!
//! Must not know: what they are asked for.

use boundary::error::{Error, ErrorKind};
use cluster::{Peer, Setting, WorkFailed};
use model::ErrorCode;

use crate::context::execution::Execution;
use crate::context::services::Services;

/// Other servers that work, and have a port.
pub(crate) fn active(services: &Services) -> Vec<Peer> {
    let Some(sharing) = &services.sharing else { return Vec::new() };
    let nodes = sharing.member.nodes().into_iter();
    nodes
        .filter(|node| node.is_active && !node.is_me && node.report.works && !node.report.peer.is_empty())
        .filter(|node| node.report.version == env!("CARGO_PKG_VERSION"))
        .map(|node| Peer { id: node.id.0, address: node.report.peer })
        .collect()
}

/// Settings that were given, as text.
pub(crate) fn given_settings(execution: &Execution) -> Vec<Setting> {
    let changed = execution.settings.changed();
    changed.map(|(name, value)| Setting { name: name.to_owned(), value: value.to_string() }).collect()
}

pub(crate) fn error_of(failed: &WorkFailed, peer: &str) -> Error {
    let code = u16::try_from(failed.code).map_or(ErrorCode::UNKNOWN_EXCEPTION, ErrorCode::of);
    let message = format!("{} (on server {peer})", failed.message);
    let error = Error::new(ErrorKind::BadInput, code, message);
    match &failed.hint {
        Some(hint) => error.with_hint(hint.clone()),
        None => error,
    }
}

/// What a helper says of its error; `reads`: it had begun to read.
pub(crate) fn failure(error: &Error, reads: bool) -> WorkFailed {
    WorkFailed {
        is_about_rows: reads && matches!(error.kind, ErrorKind::BadInput | ErrorKind::Syntax),
        code: u32::from(error.code.number()),
        message: error.message.clone(),
        hint: error.hint.clone(),
    }
}
