//! Functions over JSON text.
//!
//! Invariant: text that is not JSON gives defaults, as in ClickHouse; only `toJSONString` writes JSON.

mod document;
mod write;
mod values;
mod call_path;
mod extract;
mod simple;
mod path;
mod to_json;

use crate::kernel::registry::ScalarFunction;

pub(crate) fn functions() -> Vec<ScalarFunction> {
    // A dictionary of documents is no dictionary of what is in them.
    let mut out: Vec<ScalarFunction> =
        extract::functions().into_iter().map(ScalarFunction::unpacks_dictionaries).collect();
    out.extend(simple::functions());
    out.extend(path::functions());
    out.extend(to_json::functions());
    out
}
