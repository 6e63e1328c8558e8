//! ClickHouse's queries on DataFusion's planner: its functions, operators, joins and clauses, with its types and labels.
//!
//! A query passes twice: the crate `rewrite` turns its syntax tree into one that DataFusion reads, `analyzer` what DataFusion
//! made of it into a plan with ClickHouse's meaning. Between the two stand calls under names that only these know (`words`).
//! From below: `types`, `nodes` and the adapters of functions (`scalar`, `aggregate`, `window`); `coercion`, `relations` and
//! `analyzer` use them; `install` puts all of it into a session.
//!
//! Invariant: a query that is planned means what ClickHouse means, or is refused with its code. Must not know: storage,
//! tables, sessions, how a step is carried out.

pub mod chains;
mod session;
mod shown;
mod reading;
mod types;
pub mod nodes;
mod scalar;
mod aggregate;
mod lookup;
mod coercion;
mod window;
mod relations;
mod analyzer;
mod install;
pub mod columns;
pub mod filters;
pub mod user_functions;
pub mod words;

pub use aggregates::states::{StateCheck, check_states, combiner};
pub use aggregates::typing::scalar_at;
pub use analyzer::rules::typed_expression;
pub use analyzer::whole_blocks::sees_blocks;
pub use install::configure;
pub use lookup::called::named_functions;
pub use lookup::documentation::{DocumentedFunction, documented_functions};
pub use lookup::refused::of_function;
pub use reading::is_query;
pub use scalar::dict_get::{
    AskedDictionaries, AskedDictionary, DICT_DESCENDANTS, DICT_GET, DICT_GET_OR_NULL, DICT_HAS,
    DICT_HIERARCHY, DICT_IS_IN, DICT_KEYS, DictionaryKey, DictionaryRows, functions_of_dictionaries,
};
pub use scalar::dict_names::{TYPED, asks_dictionary};
pub use scalar::join_get::{AskedTable, AskedTables, functions_over};
pub use scalar::lookup::{Lookup, LookupBuilder};
pub use scalar::normalized::normalized_query_hash;
pub use scalar::prewhere::prewhere_of;
pub use session::{QueryRules, session_time_zone, with_query_rules, with_session_values};
pub use shown::lines_of_plan;
