//! What the clauses of a CREATE TABLE make of a definition: its keys and what is kept as it is written; of a table like another
//! one, what it has from there.
//!
//! Invariant: what is written goes before what the other table has, and no clause is passed over. Pure. Must not know: engines'
//! arguments, settings.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use model::{ColumnDef, ErrorCode, KeptClause, TableDef, TableEngine};
use sql::{CreateTable, WRITTEN_PRIMARY_KEY};

/// The keyword of a TTL among the clauses that are kept.
pub const TTL: &str = "TTL";
const SAMPLE_BY: &str = "SAMPLE BY";

/// The clauses that are kept as they are written.
pub fn kept(create: &CreateTable, engine: TableEngine, keys: Vec<KeptClause>) -> Vec<KeptClause> {
    let clause = |(keyword, text): &(String, String)| KeptClause {
        keyword: keyword.as_str().into(),
        text: text.as_str().into(),
    };
    let is_keyed = create.primary_key.is_some() && engine == TableEngine::MergeTree;
    let primary = is_keyed.then(|| KeptClause { keyword: WRITTEN_PRIMARY_KEY.into(), text: "".into() });
    keys.into_iter().chain(primary).chain(create.kept.iter().map(clause)).collect()
}

/// SAMPLE BY, of columns that there are, and the text of keys where it is to be remembered.
pub fn written_keys(create: &CreateTable, columns: &[ColumnDef]) -> Result<Vec<KeptClause>, Error> {
    let mut kept = sql::kept_keys(&create.written_keys, columns)?;
    if let Some(expression) = &create.sample_by {
        sql::stored_expr(expression, columns)?;
        kept.insert(0, KeptClause { keyword: SAMPLE_BY.into(), text: sql::printed(expression).into() });
    }
    Ok(kept)
}

/// How many expressions of ORDER BY the primary key has: all of them where it is not written.
pub fn primary_key_length(order_by: &[Arc<str>], primary: Option<&[Arc<str>]>) -> Result<u32, Error> {
    let Some(primary) = primary else { return Ok(u32::try_from(order_by.len()).unwrap_or(u32::MAX)) };
    if order_by.starts_with(primary) {
        return Ok(u32::try_from(primary.len()).unwrap_or(u32::MAX));
    }
    Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, "PRIMARY KEY must be a prefix of ORDER BY"))
}

/// Keys and TTL that are written in the place of those of the other table.
pub fn copy_keys(def: &mut TableDef, create: &CreateTable, like: &TableDef) -> Result<(), Error> {
    // A key is of what is there to be sorted.
    let columns: Vec<_> = def.stored_columns().cloned().collect();
    let stored = |expressions: &[sql::Expr]| -> Result<Vec<Arc<str>>, Error> {
        let text = |expression| sql::stored_expr(expression, &columns).map(Arc::from).map_err(Error::from);
        expressions.iter().map(text).collect()
    };
    let begin = def.primary_key_len as usize;
    let has_own = begin < def.order_by.len() || def.kept_text(WRITTEN_PRIMARY_KEY).is_some();
    let primary = match &create.primary_key {
        Some(written) => Some(stored(written)?),
        None => has_own.then(|| def.order_by.iter().take(begin).cloned().collect()),
    };
    match (&create.order_by, &primary) {
        (Some(written), _) => def.order_by = stored(written)?,
        // There is no order that it could be the beginning of.
        (None, Some(primary)) if like.engine != TableEngine::MergeTree => def.order_by = primary.clone(),
        (None, _) => {}
    }
    def.primary_key_len = primary_key_length(&def.order_by, primary.as_deref())?;
    if create.unpartitioned || !create.partition_by.is_empty() {
        def.partition_by = stored(&create.partition_by)?;
    }
    let is_kept = |keyword: &str| match keyword {
        TTL => create.kept.is_empty(),
        SAMPLE_BY => create.sample_by.is_none(),
        WRITTEN_PRIMARY_KEY => create.primary_key.is_none(),
        other => match other.strip_prefix(sql::WRITTEN) {
            Some(WRITTEN_PRIMARY_KEY) => create.primary_key.is_none(),
            Some("ORDER BY") => create.order_by.is_none(),
            Some(_) => create.partition_by.is_empty() && !create.unpartitioned,
            None => true,
        },
    };
    def.kept.retain(|clause| is_kept(clause.keyword.as_ref()));
    let written = kept(create, def.engine, written_keys(create, &columns)?);
    def.kept.splice(0..0, written);
    // The order in which they are shown.
    def.kept.sort_by_key(|clause| match clause.keyword.as_ref() {
        SAMPLE_BY => 0,
        WRITTEN_PRIMARY_KEY => 1,
        TTL => 2,
        _ => 3,
    });
    Ok(())
}

/// Of an engine that has no keys; those outside may have partitions.
pub fn without_keys(def: &mut TableDef, create: &CreateTable) -> Result<(), Error> {
    let is_keyed = create.order_by.is_some() || create.primary_key.is_some() || create.sample_by.is_some();
    let is_written = is_keyed || !create.kept.is_empty() || !create.partition_by.is_empty();
    // What is written behind an ENGINE was looked at where it was read.
    if is_written && create.engine.is_none() {
        let message = format!(
            "table engine {} takes no PARTITION BY, ORDER BY, PRIMARY KEY, SAMPLE BY or TTL",
            def.engine.name()
        );
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message));
    }
    let columns: Vec<_> = def.stored_columns().cloned().collect();
    let by = create.partition_by.iter().map(|by| sql::stored_expr(by, &columns).map(Arc::from));
    let by = by.collect::<Result<Vec<Arc<str>>, _>>().map_err(Error::from)?;
    let is_outside = def.engine.is_external();
    def.partition_by = match (is_outside, by.is_empty() && !create.unpartitioned) {
        (true, true) => std::mem::take(&mut def.partition_by),
        (true, false) => by,
        (false, _) => Vec::new(),
    };
    (def.order_by, def.primary_key_len) = (Vec::new(), 0);
    def.kept.clear();
    Ok(())
}
