//! What a statement asks of its dictionaries: the rows of each attribute by their keys, which are read once.
//!
//! Invariant: dictionaries are those that the statement sees. Must not know: how a name is looked up, and how a source is read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use boundary::error::{Error, into_datafusion};
use datafusion::catalog::TableProvider;
use datafusion::catalog::view::ViewTable;
use datafusion::common::{Result, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Select, SelectItem, Visit, Visitor};
use model::{ColumnType, TupleElement};
use parking_lot::Mutex;
use physical::nodes::join_table::rows::LookupTable;
use planner::{AskedDictionaries, AskedDictionary, DictionaryKey, DictionaryRows, Lookup};
use sql::statement::dictionary::{Dictionary, DictionaryAttribute, LayoutKind};

use super::calls::{KnownDictionary, names_asked, with_dictionaries};
use super::selects::{keys_text, keys_type, rows_text};

/// A dictionary, and the plan of a SELECT of its rows: keys, attributes, and a mark that the row is there; and those of the
/// keys by the values of attributes of which they are asked.
struct ReadDictionary {
    dictionary: Dictionary,
    rows: LogicalPlan,
    keys_of: BTreeMap<String, LogicalPlan>,
}

/// A dictionary by a name as it is written.
type Named<'a> = dyn Fn(&str) -> std::result::Result<KnownDictionary, Error> + Sync + 'a;

/// The columns of a table of a database; of what is no table an error.
pub type Columns<'a> = dyn Fn(&str, &str) -> std::result::Result<Vec<String>, Error> + Sync + 'a;

/// The dictionaries that queries ask, each with a plan of its rows, which `plan` makes by its name in full. Calls are written anew.
///
/// # Errors
/// A call names none, or asks for what it has not; or a source cannot be read.
pub async fn read_for<R: Future<Output = std::result::Result<LogicalPlan, Error>>>(
    queries: [Option<&mut Query>; 2],
    named: &Named<'_>,
    (columns, current_database): (&Columns<'_>, &str),
    plan: impl Fn(String, sql::Query) -> R,
) -> std::result::Result<Option<Arc<dyn AskedDictionaries>>, Error> {
    let mut read: BTreeMap<String, ReadDictionary> = BTreeMap::new();
    for query in queries.into_iter().flatten() {
        let Some(names) = names_asked(query) else { continue };
        let has_column = names_of(query, columns, current_database);
        with_dictionaries(query, named, &|name| has_column.contains(name))?;
        for (name, attributes) in names {
            let KnownDictionary { full_name, database, dictionary } = named(&name)?;
            let mut known = read
                .remove(&full_name)
                .map_or((None, BTreeMap::new()), |known| (Some(known.rows), known.keys_of));
            let mut texts = Vec::with_capacity(1 + attributes.len());
            if known.0.is_none() {
                texts.push((None, rows_text(&dictionary, &database)?));
            }
            for attribute in attributes {
                let found = match attribute {
                    None => dictionary.parent(),
                    Some(name) => dictionary.values().find(|value| value.name == name),
                };
                if let Some(attribute) = found.filter(|attribute| !known.1.contains_key(&attribute.name)) {
                    let text = keys_text(&dictionary, attribute, &database)?;
                    texts.push((Some(attribute.name.clone()), text));
                }
            }
            for (attribute, text) in texts {
                let rows = sql::Query::from(Box::new(sql::parse_query(&text)?));
                let context = format!("while reading dictionary {full_name}");
                let planned = plan(full_name.clone(), rows).await;
                let planned = planned.map_err(|error| error.in_context(&context))?;
                match attribute {
                    None => known.0 = Some(planned),
                    Some(attribute) => {
                        known.1.insert(attribute, planned);
                    }
                }
            }
            if let (Some(rows), keys_of) = known {
                read.insert(full_name, ReadDictionary { dictionary, rows, keys_of });
            }
        }
    }
    Ok((!read.is_empty()).then(|| DictionariesOfStatement::over(read)))
}

/// The columns of the tables that a query names, and what it names itself.
fn names_of(query: &Query, columns: &Columns<'_>, current_database: &str) -> HashSet<String> {
    let mut names = NamesOfQuery { columns, current_database, found: HashSet::new() };
    // It never breaks off.
    let _ = query.visit(&mut names);
    names.found
}

struct NamesOfQuery<'a> {
    columns: &'a Columns<'a>,
    current_database: &'a str,
    found: HashSet<String>,
}

impl Visitor for NamesOfQuery<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let parts = name.0.iter().filter_map(|part| part.as_ident()).map(|part| part.value.as_str());
        let found = match parts.collect::<Vec<_>>().as_slice() {
            [table] => (self.columns)(self.current_database, table),
            [database, table] => (self.columns)(database, table),
            _ => Ok(Vec::new()),
        };
        // What is no table has columns that nobody knows yet.
        self.found.extend(found.unwrap_or_default());
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.found.insert(alias.value.clone());
            }
        }
        ControlFlow::Continue(())
    }
}

/// The name in full, and what of it.
type Asked = (String, DictionaryRows);

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
        let keys = dictionary.keys().into_iter().map(|(_, column_type)| column_type);
        let key = match dictionary.layout.kind {
            LayoutKind::IpTrie => DictionaryKey::Prefix,
            _ if dictionary.is_simple() => DictionaryKey::Simple,
            _ => DictionaryKey::Complex(keys.collect()),
        };
        let range = dictionary.range_of().map(|(_, _, of)| (of, dictionary.takes_last_range()));
        Ok(AskedDictionary { key, attributes: dictionary.values().map(value).collect(), range })
    }

    fn rows(&self, name: &str, wanted: &DictionaryRows) -> Result<(Arc<Lookup>, LogicalPlan)> {
        let read = self.found(name)?;
        let asked: Asked = (name.to_owned(), wanted.clone());
        if let Some((lookup, plan)) = self.made.lock().get(&asked) {
            return Ok((Arc::clone(lookup), plan.clone()));
        }
        let dictionary = &read.dictionary;
        let (columns, missing) = columns_of(dictionary, wanted);
        let rows = match wanted {
            DictionaryRows::KeysOf(attribute) => read.keys_of.get(attribute),
            DictionaryRows::Attribute(_) | DictionaryRows::Keys => Some(&read.rows),
        };
        let Some(rows) = rows else {
            let message = format!("the keys of dictionary {name} were not read");
            return Err(into_datafusion(Error::internal(message)));
        };
        let table: Arc<dyn TableProvider> = Arc::new(ViewTable::new(rows.clone(), None));
        let (lookup, keeps_last) = (Arc::new(Lookup::default()), dictionary.layout.kind.keeps_last());
        let rows = LookupTable { table, columns, lookup: Arc::clone(&lookup), missing, keeps_last };
        // Plans of scans are the same if their names are, whatever they read.
        let of = match wanted {
            DictionaryRows::Attribute(attribute) => format!("dictGet({name}, {attribute})"),
            DictionaryRows::Keys => format!("dictHas({name})"),
            DictionaryRows::KeysOf(attribute) => format!("dictGetKeys({name}, {attribute})"),
        };
        let scanned = TableReference::bare(of);
        let plan = LogicalPlanBuilder::scan(scanned, provider_as_source(Arc::new(rows)), None)?.build()?;
        self.made.lock().insert(asked, (Arc::clone(&lookup), plan.clone()));
        Ok((lookup, plan))
    }
}

/// The places of a lookup's columns in the SELECT of the rows, and the type of its values.
fn columns_of(dictionary: &Dictionary, wanted: &DictionaryRows) -> (Vec<usize>, ColumnType) {
    let keys = match dictionary.layout.kind {
        // The network, and how many bits say it.
        LayoutKind::IpTrie => 2,
        _ => dictionary.keys().len(),
    };
    let (value_at, value) = match wanted {
        DictionaryRows::KeysOf(_) => return (vec![0, 1], keys_type(dictionary)),
        // Behind keys and attributes stands the mark.
        DictionaryRows::Keys => (dictionary.values().count(), ColumnType::UInt8),
        DictionaryRows::Attribute(name) => {
            let found = dictionary.values().enumerate().find(|(_, value)| value.name == *name);
            found.map_or((0, ColumnType::UInt8), |(at, value)| (at, value.column_type.clone()))
        }
    };
    let value = match dictionary.range_of() {
        None => value,
        Some((_, _, of)) => {
            let element = |column_type: ColumnType| TupleElement { name: None, column_type };
            let range = [of.clone(), of, value].map(element);
            ColumnType::Array(Box::new(ColumnType::Tuple(range.into_iter().collect())))
        }
    };
    ((0..keys).chain([keys + value_at]).collect(), value)
}
