//! What joinGet asks in one statement: its tables by their names, and the rows of each column, which are read once.
//!
//! Invariant: tables are those that the statement sees. Must not know: how a name is looked up, and how a table is read.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use boundary::error::{Error, ErrorKind, into_datafusion};
use catalog::TableState;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use model::{ColumnType, ErrorCode, TableId};
use parking_lot::Mutex;
use physical::nodes::join_table::rows::LookupTable;
use planner::{AskedTable, AskedTables, Lookup};
use sql::TableName;
use sql::reader::clauses::{Side, Strictness};

use super::definition::JoinTable;

type Find = dyn Fn(&TableName) -> std::result::Result<Arc<TableState>, Error> + Send + Sync;
type Read = dyn Fn(Arc<TableState>) -> Result<Arc<dyn TableProvider>> + Send + Sync;
/// The rows of a column of a table, for those to whom the default of the type of this name is the value of what is not there.
type Asked = (TableId, String, String);

/// See the module.
pub struct JoinsOfStatement {
    find: Box<Find>,
    read: Box<Read>,
    made: Mutex<HashMap<Asked, (Arc<Lookup>, LogicalPlan)>>,
}

impl JoinsOfStatement {
    /// `find` knows the statement's tables by their names, `read` the rows that there are.
    pub fn over(
        find: impl Fn(&TableName) -> std::result::Result<Arc<TableState>, Error> + Send + Sync + 'static,
        read: impl Fn(Arc<TableState>) -> Result<Arc<dyn TableProvider>> + Send + Sync + 'static,
    ) -> Arc<dyn AskedTables> {
        Arc::new(JoinsOfStatement { find: Box::new(find), read: Box::new(read), made: Mutex::default() })
    }

    fn found(&self, name: &str) -> std::result::Result<(Arc<TableState>, JoinTable), Error> {
        let (database, table) = match name.split_once('.') {
            Some((database, table)) => (Some(database), table),
            None => (None, name),
        };
        let state = (self.find)(&TableName::new(database, table))?;
        match JoinTable::of(&state.def)? {
            Some(says) => Ok((state, says)),
            None => {
                let message = format!("table {name} is of engine {}, not Join", state.def.engine_name());
                Err(Error::new(ErrorKind::BadInput, ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
            }
        }
    }
}

impl fmt::Debug for JoinsOfStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinsOfStatement")
    }
}

impl AskedTables for JoinsOfStatement {
    fn table(&self, name: &str) -> Result<AskedTable> {
        let (state, says) = self.found(name).map_err(into_datafusion)?;
        let def = &state.def;
        let keys = says.keys.iter().filter_map(|key| def.column(key)).map(|key| key.column_type.clone());
        let is_value = |name: &str| !says.keys.iter().any(|key| key == name);
        let values = def.stored_columns().filter(|column| is_value(&column.name));
        Ok(AskedTable {
            name: name.to_owned(),
            is_any_left: (says.strictness, says.side) == (Some(Strictness::Any), Side::Left),
            keys: keys.collect(),
            values: values.map(|column| (Arc::clone(&column.name), column.column_type.clone())).collect(),
            use_nulls: says.use_nulls,
        })
    }

    fn rows(&self, name: &str, column: &str, missing: &ColumnType) -> Result<(Arc<Lookup>, LogicalPlan)> {
        let (state, says) = self.found(name).map_err(into_datafusion)?;
        let asked: Asked = (state.def.id, column.to_owned(), missing.to_string());
        if let Some((lookup, plan)) = self.made.lock().get(&asked) {
            return Ok((Arc::clone(lookup), plan.clone()));
        }
        let table = (self.read)(Arc::clone(&state))?;
        let (schema, lookup) = (table.schema(), Arc::new(Lookup::default()));
        let columns = says.keys.iter().map(String::as_str).chain([column]);
        let columns = columns.map(|name| Ok(schema.index_of(name)?)).collect::<Result<Vec<usize>>>()?;
        let (lookup_of_rows, missing) = (Arc::clone(&lookup), missing.clone());
        let rows = LookupTable { table, columns, lookup: lookup_of_rows, missing, keeps_last: false };
        // Plans of scans are the same if their names are, whatever they read.
        let name = TableReference::bare(format!("joinGet({}, {}, {})", asked.0, asked.1, asked.2));
        let plan = LogicalPlanBuilder::scan(name, provider_as_source(Arc::new(rows)), None)?.build()?;
        self.made.lock().insert(asked, (Arc::clone(&lookup), plan.clone()));
        Ok((lookup, plan))
    }
}
