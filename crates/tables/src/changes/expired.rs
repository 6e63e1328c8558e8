//! TTL as changes of rows: what is too old now is deleted, or takes the default of its column.
//!
//! A moment of 0 is never: ClickHouse knows no TTL of rows without a time. Invariant: what is not too old is not touched.
//! Must not know: parts, and when this happens.

use std::collections::BTreeSet;

use boundary::error::Error;
use model::TableDef;
use sql::definition::ttl::{TtlRule, lasting_moment, ttl_rules};

use super::change::{Change, Kind, Within, default_of};

/// Whether rows go with their whole part only.
const ONLY_WHOLE_PARTS: &str = "ttl_only_drop_parts";

/// The changes that the TTLs of a table ask for now; `is_forced` of single rows, whatever the table says.
pub(super) fn changes(def: &TableDef, within: &Within, is_forced: bool) -> Result<Vec<Change>, Error> {
    let only_whole = !is_forced
        && def.settings.get(ONLY_WHOLE_PARTS).is_some_and(|value| ["1", "true"].contains(&&**value));
    let rules = ttl_rules(def)?;
    let kinds = rules.iter().map(|rule| kind(def, rule, only_whole));
    kinds.map(|kind| Ok(Change { kind: kind?, within: within.clone() })).collect()
}

fn kind(def: &TableDef, rule: &TtlRule, only_whole: bool) -> Result<Kind, Error> {
    // As it is written, so that what says "never" to ClickHouse does so here; and in types that do not wrap.
    let moments = [rule.expression.clone(), lasting_moment(rule, def)?];
    let passed = |moment: &String| {
        let time = sql::named_expression(moment, def);
        format!("({time}) <= now() AND toInt64({time}) != 0")
    };
    let mut condition = moments.iter().map(passed).collect::<Vec<_>>().join(" AND ");
    if let Some(asked) = &rule.condition {
        condition = format!("{condition} AND ({})", sql::named_expression(asked, def));
    }
    let Some(column) = rule.column.and_then(|id| def.column_by_id(id)) else {
        return Ok(Kind::Delete {
            condition: sql::parse_expression(&condition)?,
            only_whole: only_whole && rule.condition.is_none(),
        });
    };
    let default = default_of(def, column)?;
    // Rows that have it already are left alone: a part is written anew once.
    let name = sql::escape::always_quote_name(&column.name);
    let condition = format!("{condition} AND {name} IS DISTINCT FROM ({default})");
    Ok(Kind::Update {
        values: vec![(column.id, default)],
        condition: sql::parse_expression(&condition)?,
        // What was computed from the value stays, as in ClickHouse.
        computed: BTreeSet::new(),
        is_checked: false,
    })
}
