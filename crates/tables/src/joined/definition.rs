//! What a table of engine Join says: of which joins it is the right side, by which columns, and which rows of a key there are.
//!
//! Invariant: a definition that was stored was checked. Must not know: queries.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use datafusion::catalog::TableProvider;
use model::{ErrorCode, TableDef, TableEngine};
use physical::nodes::join_table::one_of_key::OfKey;
use physical::nodes::join_table::rows::JoinRows;
use sql::escape::always_quote_name;
use sql::reader::clauses::{Side, Strictness};
use sql::{CallValue, Expr, TableName};

/// Settings that only these tables have.
const SETTINGS: &[&str] = &[
    "join_use_nulls",
    "join_any_take_last_row",
    "any_join_distinct_right_table_keys",
    "max_rows_in_join",
    "max_bytes_in_join",
    "join_overflow_mode",
];

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinTable {
    /// `None`: ALL.
    pub strictness: Option<Strictness>,
    pub side: Side,
    pub keys: Vec<String>,
    /// `join_use_nulls`.
    pub use_nulls: bool,
    /// `any_join_distinct_right_table_keys`.
    pub keeps_left: bool,
    takes_last: bool,
}

impl JoinTable {
    /// What the definition says; `None` of another engine's.
    ///
    /// # Errors
    /// The engine's arguments are not what they should be.
    pub fn of(def: &TableDef) -> Result<Option<JoinTable>, Error> {
        if def.engine != TableEngine::Join {
            return Ok(None);
        }
        let (arguments, _) = sql::arguments_of_text("Join", def.engine_arguments.text())?;
        let words: Vec<Option<String>> = arguments
            .into_iter()
            .map(|argument| match argument.value {
                CallValue::Word(word) if argument.name.is_none() => Some(word),
                _ => None,
            })
            .collect();
        let [strictness, side, keys @ ..] = words.as_slice() else { return Err(too_few()) };
        if keys.is_empty() {
            return Err(too_few());
        }
        let (strictness, side) = kind(strictness.as_deref(), side.as_deref())?;
        let keys = keys.iter().cloned().collect::<Option<Vec<String>>>();
        let keys = keys.ok_or_else(|| bad("needs names of columns behind its first two arguments"))?;
        let is_on =
            |name: &str| def.setting::<String>(name).is_some_and(|on| ["1", "true"].contains(&on.as_str()));
        Ok(Some(JoinTable {
            strictness,
            side,
            keys,
            use_nulls: is_on("join_use_nulls"),
            keeps_left: is_on("any_join_distinct_right_table_keys"),
            takes_last: is_on("join_any_take_last_row"),
        }))
    }

    /// Which rows of a key there are; `None`: all that are stored, with NULLs in their keys, too.
    pub fn of_key(&self) -> Option<OfKey> {
        match (self.strictness, self.side) {
            (_, Side::Right | Side::Full) => None,
            (None, _) => Some(OfKey::Each),
            _ if self.takes_last => Some(OfKey::Last),
            _ => Some(OfKey::First),
        }
    }

    /// As it is written: `ANY LEFT`.
    pub fn shown(&self) -> String {
        shown(self.strictness, self.side)
    }
}

/// A kind of join as it is written.
pub(super) fn shown(strictness: Option<Strictness>, side: Side) -> String {
    let strictness = strictness.map_or_else(|| "All".to_owned(), |strictness| format!("{strictness:?}"));
    format!("{strictness} {side:?}").to_uppercase()
}

fn kind(strictness: Option<&str>, side: Option<&str>) -> Result<(Option<Strictness>, Side), Error> {
    let upper = |word: Option<&str>| word.unwrap_or_default().to_ascii_uppercase();
    let (strictness, side) = (upper(strictness), upper(side));
    let strictness = match strictness.as_str() {
        "ALL" => None,
        "ANY" => Some(Strictness::Any),
        "SEMI" => Some(Strictness::Semi),
        "ANTI" => Some(Strictness::Anti),
        _ => return Err(bad("needs ANY, ALL, SEMI or ANTI, without quotes, as its first argument")),
    };
    let side = match side.as_str() {
        "LEFT" => Side::Left,
        "RIGHT" => Side::Right,
        "INNER" => Side::Inner,
        "FULL" => Side::Full,
        _ => return Err(bad("needs LEFT, INNER, RIGHT or FULL, without quotes, as its second argument")),
    };
    match (strictness, side) {
        (Some(Strictness::Any), Side::Full) => Err(Error::unsupported("table engine Join(ANY, FULL, ..)")),
        (Some(Strictness::Semi | Strictness::Anti), Side::Inner | Side::Full) => {
            Err(bad("is LEFT or RIGHT where it is SEMI or ANTI"))
        }
        known => Ok(known),
    }
}

fn bad(what: &str) -> Error {
    Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, format!("table engine Join {what}"))
}

fn too_few() -> Error {
    let message =
        "table engine Join needs ANY, ALL, SEMI or ANTI, then LEFT, INNER, RIGHT or FULL, then key columns";
    Error::new(ErrorKind::BadInput, ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)
}

/// Refuses a new table whose engine's arguments or settings say what cannot be.
///
/// # Errors
/// Of engine Join: arguments that are none, keys that are no columns, settings of other engines. Of another: settings of Join.
pub fn check_definition(def: &TableDef) -> Result<(), Error> {
    let Some(table) = JoinTable::of(def)? else {
        return match def.settings.iter().find(|(name, _)| SETTINGS.contains(&name.as_ref())) {
            Some((name, _)) => {
                let message = format!("unknown setting \"{name}\" of engine {}", def.engine_name());
                Err(Error::new(ErrorKind::BadInput, ErrorCode::UNKNOWN_SETTING, message))
            }
            None => Ok(()),
        };
    };
    let is_known = |name: &str| name == "persistent" || SETTINGS.contains(&name);
    if let Some((name, _)) = def.settings.iter().find(|(name, _)| !is_known(name)) {
        return Err(bad(&format!("has no setting {name}")));
    }
    let is_stored = |key: &&String| def.column(key).is_some_and(|column| column.is_stored());
    if let Some(key) = table.keys.iter().find(|key| !is_stored(key)) {
        let message = format!("key column {key} of table \"{}\" does not exist", def.name);
        return Err(Error::new(ErrorKind::UnknownObject, ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message));
    }
    if table.keeps_left && (table.strictness, table.side) == (Some(Strictness::Any), Side::Right) {
        let what = "table engine Join(ANY, RIGHT, ..) with any_join_distinct_right_table_keys";
        return Err(Error::unsupported(what));
    }
    Ok(())
}

/// Whether fewer rows are read than are stored.
pub fn hides_rows(def: &TableDef) -> bool {
    match JoinTable::of(def) {
        Ok(Some(table)) => match table.of_key() {
            None => false,
            Some(OfKey::Each) => keys_of(def, &table).any(|key| def.columns[key].column_type.is_nullable()),
            Some(OfKey::First | OfKey::Last) => true,
        },
        _ => false,
    }
}

/// Places of the key's columns in the definition.
fn keys_of<'a>(def: &'a TableDef, table: &'a JoinTable) -> impl Iterator<Item = usize> + 'a {
    table.keys.iter().filter_map(|key| def.columns.iter().position(|column| *column.name == **key))
}

/// The rows that there are, of those that are stored.
///
/// # Errors
/// The definition cannot be read.
pub fn read(def: &TableDef, stored: Arc<dyn TableProvider>) -> Result<Arc<dyn TableProvider>, Error> {
    if !hides_rows(def) {
        return Ok(stored);
    }
    let Some((table, of_key)) = JoinTable::of(def)?.and_then(|table| table.of_key().map(|of| (table, of)))
    else {
        return Ok(stored);
    };
    let schema = stored.schema();
    let mut keys: Vec<usize> = table.keys.iter().filter_map(|key| schema.index_of(key).ok()).collect();
    keys.sort_unstable();
    keys.dedup();
    Ok(Arc::new(JoinRows::new(stored, keys, of_key)))
}

/// What a DELETE asks of stored rows: those that are hidden go with the row of their key that is not.
///
/// # Errors
/// The condition cannot be put into another.
pub fn condition_of(def: &TableDef, name: &TableName, condition: Expr) -> Result<Expr, Error> {
    let Some(table) = JoinTable::of(def)?.filter(|_| hides_rows(def)) else { return Ok(condition) };
    if table.of_key() == Some(OfKey::Each) {
        return Ok(condition);
    }
    let keys: Vec<String> = table.keys.iter().map(|key| always_quote_name(key)).collect();
    let database = name.database.as_deref().map(|name| always_quote_name(name) + ".").unwrap_or_default();
    let (keys, from) = (keys.join(", "), always_quote_name(&name.table));
    let text = format!("({keys}) IN (SELECT {keys} FROM {database}{from} WHERE 1)");
    let mut chosen = sql::parse_expression(&text)?;
    if let Expr::InSubquery { subquery, .. } = &mut chosen
        && let datafusion::sql::sqlparser::ast::SetExpr::Select(select) = subquery.body.as_mut()
    {
        select.selection = Some(condition);
        return Ok(chosen);
    }
    Err(Error::internal("a condition was read as something else"))
}

#[cfg(test)]
mod tests {
    use model::{ColumnDef, ColumnType, EngineArguments, TableId};

    use super::*;

    fn table(arguments: &str) -> TableDef {
        let columns =
            vec![ColumnDef::plain(1, "k", ColumnType::UInt64), ColumnDef::plain(2, "v", ColumnType::String)];
        let def = TableDef::plain(TableId::from_bytes([1; 16]), "t", TableEngine::Join, columns);
        TableDef { engine_arguments: EngineArguments::new(arguments), ..def }
    }

    #[test]
    fn arguments_say_which_rows_there_are() {
        let of_key = |arguments: &str| JoinTable::of(&table(arguments)).unwrap().unwrap().of_key();
        assert_eq!(of_key("ANY, LEFT, k"), Some(OfKey::First));
        assert_eq!(of_key("any, inner, `k`"), Some(OfKey::First));
        assert_eq!(of_key("`ALL`, LEFT, k"), Some(OfKey::Each));
        assert_eq!(of_key("SEMI, RIGHT, k"), None);
        assert_eq!(JoinTable::of(&table("ANTI, LEFT, k, v")).unwrap().unwrap().shown(), "ANTI LEFT");
        let mut last = table("ANY, LEFT, k");
        last.settings.insert("join_any_take_last_row".into(), "1".into());
        assert_eq!(JoinTable::of(&last).unwrap().unwrap().of_key(), Some(OfKey::Last));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_code() {
        let code = |arguments: &str| check_definition(&table(arguments)).map_err(|error| error.code);
        assert_eq!(code("ANY, LEFT, k"), Ok(()));
        assert_eq!(code("ANY, LEFT"), Err(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH));
        assert_eq!(code("'ANY', LEFT, k"), Err(ErrorCode::BAD_ARGUMENTS));
        assert_eq!(code("SEMI, FULL, k"), Err(ErrorCode::BAD_ARGUMENTS));
        assert_eq!(code("ANY, FULL, k"), Err(ErrorCode::NOT_IMPLEMENTED));
        assert_eq!(code("ANY, LEFT, z"), Err(ErrorCode::NO_SUCH_COLUMN_IN_TABLE));
    }

    #[test]
    fn a_delete_takes_hidden_rows_along() {
        let condition = sql::parse_expression("v = 'a'").unwrap();
        let name = TableName::new(Some("d"), "t");
        let of =
            |arguments: &str| condition_of(&table(arguments), &name, condition.clone()).unwrap().to_string();
        assert_eq!(of("ANY, LEFT, k"), "(`k`) IN (SELECT `k` FROM `d`.`t` WHERE v = 'a')");
        assert_eq!(of("`ALL`, LEFT, k"), "v = 'a'");
    }
}
