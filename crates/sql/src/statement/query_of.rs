//! The query in a statement: what it answers with, or takes rows from.

use super::{CreateSource, Described, InsertSource, Query, Statement};

impl Statement {
    /// The query; `None` for statements that have none, for EXPLAIN, which
    /// is about one, and for views, which keep theirs.
    pub fn query(&self) -> Option<&Query> {
        match self {
            Statement::Query(query) | Statement::Describe(Described::Query(query)) => Some(query),
            Statement::Insert(insert) => match &insert.source {
                InsertSource::Select(query) => Some(query),
                _ => None,
            },
            Statement::CreateTable(create) => match &create.source {
                CreateSource::Select { query, .. } => Some(query),
                _ => None,
            },
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn query_mut(&mut self) -> Option<&mut Query> {
        match self {
            Statement::Query(query) | Statement::Describe(Described::Query(query)) => Some(query),
            Statement::Insert(insert) => match &mut insert.source {
                InsertSource::Select(query) => Some(query),
                _ => None,
            },
            Statement::CreateTable(create) => match &mut create.source {
                CreateSource::Select { query, .. } => Some(query),
                _ => None,
            },
            _ => None,
        }
    }
}
