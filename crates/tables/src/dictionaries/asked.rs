//! What a statement asks of its dictionaries: the rows of each attribute by their keys, which are read once.
//!
//! Invariant: dictionaries are those that the statement sees. Must not know: how a name is looked up, and how a source is read.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use boundary::error::{Error, into_datafusion};
use datafusion::catalog::TableProvider;
use datafusion::catalog::view::ViewTable;
use datafusion::common::{Result, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::Query;
use model::ColumnType;
use parking_lot::Mutex;
use physical::nodes::join_table::rows::LookupTable;
use planner::{AskedDictionaries, AskedDictionary, Lookup};
use sql::statement::dictionary::{Dictionary, DictionaryAttribute};

use super::calls::{KnownDictionary, names_asked, with_dictionaries};

/// A dictionary, and the plan of a SELECT of its rows: keys, attributes, and a mark that the row is there.
struct ReadDictionary {
    dictionary: Dictionary,
    rows: LogicalPlan,
}

/// A dictionary by a name as it is written, and the text of a SELECT of its rows.
type Named<'a> = dyn Fn(&str) -> std::result::Result<(KnownDictionary, String), Error> + Sync + 'a;

/// The dictionaries that queries ask, each with a plan of its rows, which `plan` makes by its name in full. Calls are written anew.
///
/// # Errors
/// A call names none, or asks for what it has not; or a source cannot be read.
pub async fn read_for<R: Future<Output = std::result::Result<LogicalPlan, Error>>>(
    queries: [Option<&mut Query>; 2],
    named: &Named<'_>,
    plan: impl Fn(String, sql::Query) -> R,
) -> std::result::Result<Option<Arc<dyn AskedDictionaries>>, Error> {
    let mut read = BTreeMap::new();
    for query in queries.into_iter().flatten() {
        let names = names_asked(query);
        if names.is_empty() {
            continue;
        }
        with_dictionaries(query, &|name| Ok(named(name)?.0))?;
        for name in names {
            let (KnownDictionary { full_name, dictionary }, rows) = named(&name)?;
            if read.contains_key(&full_name) {
                continue;
            }
            let rows = sql::Query::from(Box::new(sql::parse_query(&rows)?));
            let planned = plan(full_name.clone(), rows).await;
            let context = format!("while reading dictionary {full_name}");
            let rows = planned.map_err(|error| error.in_context(&context))?;
            read.insert(full_name, ReadDictionary { dictionary, rows });
        }
    }
    Ok((!read.is_empty()).then(|| DictionariesOfStatement::over(read)))
}

/// The name in full, and the attribute; `None` asks whether the key is there.
type Asked = (String, Option<String>);

/// See the module.
struct DictionariesOfStatement {
    read: BTreeMap<String, ReadDictionary>,
    made: Mutex<HashMap<Asked, (Arc<Lookup>, LogicalPlan)>>,
}

impl DictionariesOfStatement {
    /// Those of these names in full.
    fn over(read: BTreeMap<String, ReadDictionary>) -> Arc<dyn AskedDictionaries> {
        Arc::new(DictionariesOfStatement { read, made: Mutex::default() })
    }

    fn found(&self, name: &str) -> Result<&ReadDictionary> {
        let unknown = || into_datafusion(Error::internal(format!("dictionary {name} was not read")));
        self.read.get(name).ok_or_else(unknown)
    }
}

impl fmt::Debug for DictionariesOfStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DictionariesOfStatement")
    }
}

impl AskedDictionaries for DictionariesOfStatement {
    fn dictionary(&self, name: &str) -> Result<AskedDictionary> {
        let dictionary = &self.found(name)?.dictionary;
        let value = |value: &DictionaryAttribute| (value.name.clone(), value.column_type.clone());
        Ok(AskedDictionary {
            is_simple: dictionary.is_simple(),
            keys: dictionary.keys().into_iter().map(|(_, column_type)| column_type).collect(),
            attributes: dictionary.values().map(value).collect(),
        })
    }

    fn rows(&self, name: &str, attribute: Option<&str>) -> Result<(Arc<Lookup>, LogicalPlan)> {
        let ReadDictionary { dictionary, rows } = self.found(name)?;
        let asked: Asked = (name.to_owned(), attribute.map(str::to_owned));
        if let Some((lookup, plan)) = self.made.lock().get(&asked) {
            return Ok((Arc::clone(lookup), plan.clone()));
        }
        let keys = dictionary.keys().len();
        let place = |name: &str| dictionary.values().position(|value| value.name == name);
        // Behind keys and attributes stands the mark.
        let value_at =
            keys + attribute.map_or_else(|| dictionary.values().count(), |name| place(name).unwrap_or(0));
        let missing = attribute
            .and_then(|name| dictionary.values().find(|value| value.name == name))
            .map_or(ColumnType::UInt8, |value| value.column_type.clone());
        let table: Arc<dyn TableProvider> = Arc::new(ViewTable::new(rows.clone(), None));
        let columns = (0..keys).chain([value_at]).collect();
        let (lookup, keeps_last) = (Arc::new(Lookup::default()), dictionary.layout.kind.keeps_last());
        let rows = LookupTable { table, columns, lookup: Arc::clone(&lookup), missing, keeps_last };
        // Plans of scans are the same if their names are, whatever they read.
        let of = attribute.unwrap_or_default();
        let scanned = TableReference::bare(format!("dictGet({name}, {of})"));
        let plan = LogicalPlanBuilder::scan(scanned, provider_as_source(Arc::new(rows)), None)?.build()?;
        self.made.lock().insert(asked, (Arc::clone(&lookup), plan.clone()));
        Ok((lookup, plan))
    }
}
