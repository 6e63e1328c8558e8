//! Functions over text, by what they are about.
//!
//! Invariant: functions named UTF8 count characters, all others bytes; a result is always valid UTF-8: bytes that
//! are none are carried as `model::raw_text` does.

mod basic;
mod encode;
mod join;
mod part;
mod pattern;
mod readable;
mod replace;
mod search;
mod split;
mod url;
mod url_host;
mod find_many;
mod groups;
mod similar;
mod bases;
mod network;
mod address_ranges;
mod shape;
mod printf;
mod any_case;
mod ids;
mod grams;
mod words;
mod key_values;

use crate::kernel::registry::ScalarFunction;

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let mut out = basic::functions();
    out.extend(join::functions());
    out.extend(part::functions());
    out.extend(encode::functions());
    out.extend(search::functions());
    out.extend(replace::functions());
    out.extend(split::functions());
    out.extend(readable::functions());
    out.extend(url::functions());
    out.extend(url_host::functions());
    out.extend(find_many::functions());
    out.extend(groups::functions());
    out.extend(similar::functions());
    out.extend(bases::functions());
    out.extend(network::functions());
    out.extend(address_ranges::functions());
    out.extend(shape::functions());
    out.extend(printf::functions());
    out.extend(any_case::functions());
    out.extend(ids::functions());
    out.extend(grams::functions());
    out.extend(words::functions());
    out.extend(key_values::functions());
    out
}
