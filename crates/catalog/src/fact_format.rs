//! A state as a list of facts, and back: the rows of a checkpoint.
//!
//! A table's facts stand together, the table itself first. Invariant: the facts of a state rebuild an equal state;
//! equal states have equal facts in equal order. Must not know: the file they stand in.

mod load_facts;

use std::sync::Arc;

use bytes::Bytes;
use model::{DatabaseId, Label, LoadId, PartDescriptor, Seq, TableDef, TableId};

use crate::collections::Collection;
use crate::exports::ExportState;
use crate::labels::LabelState;
use crate::loads::StagedLoad;
use crate::op_format::VERSION;
use crate::op_format::collection_fields::{read_collection, write_collection};
use crate::op_format::fields::{Field, FieldReader, FieldWriter, FormatError};
use crate::op_format::part_fields::{needs_of_bytes as part_needs, read_part, write_part};
use crate::op_format::stage_fields::needs as stage_needs;
use crate::op_format::table_fields::{needs as table_needs, read_table, write_table};
use crate::state::{DetachedTable, DroppedTable, State, is_implicit};
use crate::table_state::{InlineStatement, RemovedPart, TableState};

mod kind {
    pub(super) const DATABASE: u16 = 1;
    pub(super) const TABLE: u16 = 2;
    pub(super) const DROPPED_TABLE: u16 = 3;
    pub(super) const DEFINITION: u16 = 4;
    pub(super) const PART: u16 = 5;
    pub(super) const REMOVED_PART: u16 = 6;
    pub(super) const INLINE: u16 = 7;
    pub(super) const LABEL: u16 = 8;
    pub(super) const TOKEN: u16 = 9;
    pub(super) const LOAD: u16 = 10;
    pub(super) const STAGED_PART: u16 = 11;
    pub(super) const COLLECTION: u16 = 12;
    pub(super) const DETACHED: u16 = 13;
    pub(super) const FUNCTION: u16 = 14;
    // 15 to 19 are left to definitions.
    pub(super) const EXPORT: u16 = 20;
    pub(super) const SWEPT: u16 = 21;
}

/// The oldest format version whose readers know the fact.
pub fn needs(fact: &Fact) -> u64 {
    match fact.kind {
        kind::TABLE | kind::DROPPED_TABLE | kind::DEFINITION => match decode(fact) {
            Ok(Content::Table { table, .. }) => table_needs(&table.def),
            Ok(Content::Definition(def)) => table_needs(&def),
            _ => 1,
        },
        kind::PART => part_needs(FieldReader::new("part", &fact.payload)),
        kind::REMOVED_PART => nested_part_needs(fact, 1),
        kind::STAGED_PART => nested_part_needs(fact, 2).max(2),
        kind::LOAD => match decode(fact) {
            Ok(Content::Load(load)) => load_needs(&load),
            _ => 2,
        },
        kind::TOKEN => 2,
        kind::COLLECTION | kind::EXPORT => 3,
        kind::DETACHED | kind::FUNCTION => 7,
        kind::SWEPT => 11,
        _ => 1,
    }
}

/// As of the op it was opened with, and of those that added units.
fn load_needs(load: &StagedLoad) -> u64 {
    stage_needs(&load.label, load.units.iter(), load.is_sealed)
}

/// Of the part in the field of this number.
fn nested_part_needs(fact: &Fact, number: u64) -> u64 {
    let mut fields = FieldReader::new(name_of(fact.kind), &fact.payload);
    while let Ok(Some(field)) = fields.next_field() {
        if field.number == number {
            return field.nested("part").map_or(1, part_needs);
        }
    }
    1
}

/// One row of a checkpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    pub kind: u16,
    /// When it became true, for facts that say so; 0 otherwise.
    pub seq: Seq,
    pub payload: Vec<u8>,
}

impl Fact {
    pub fn is_inline(&self) -> bool {
        self.kind == kind::INLINE
    }

    pub fn is_label(&self) -> bool {
        self.kind == kind::LABEL
    }
}

fn fact(kind: u16, seq: Seq, write: impl FnOnce(&mut FieldWriter)) -> Fact {
    let mut fields = FieldWriter::default();
    write(&mut fields);
    Fact { kind, seq, payload: fields.into_bytes() }
}

/// The facts of a state, made one at a time.
pub fn facts(state: &State) -> impl Iterator<Item = Fact> {
    let databases = state.databases().filter(|database| !is_implicit(database.id)).map(|database| {
        fact(kind::DATABASE, Seq::ZERO, |fields| {
            fields.id(1, database.id.as_bytes());
            fields.text(2, &database.name);
        })
    });
    let tables = state.all_tables().flat_map(|table| {
        std::iter::once(table_fact(kind::TABLE, table, Seq::ZERO, 0)).chain(table_facts(table))
    });
    let dropped = state.dropped_tables().flat_map(|(_, dropped)| {
        let first = table_fact(kind::DROPPED_TABLE, &dropped.state, dropped.seq, dropped.dropped_ms);
        std::iter::once(first).chain(table_facts(&dropped.state))
    });
    let labels = state.labels().iter().map(|(database, label, label_state)| {
        fact(kind::LABEL, label_state.seq, |fields| {
            fields.id(1, database.as_bytes());
            fields.text(2, label.as_str());
            write_seen(fields, label_state);
        })
    });
    let tokens = state.tokens().iter().map(|(table, token, token_state)| {
        fact(kind::TOKEN, token_state.seq, |fields| {
            fields.id(1, table.as_bytes());
            fields.id(2, &token.to_le_bytes());
            write_seen(fields, token_state);
        })
    });
    let loads =
        state.loads().iter().flat_map(|load| std::iter::once(load_fact(load)).chain(part_facts(load)));
    let collections = state.collections().iter().map(|(name, entries)| {
        fact(kind::COLLECTION, Seq::ZERO, |fields| write_collection(fields, name, entries, &[]))
    });
    let exports = state.exports().iter().map(|export| {
        fact(kind::EXPORT, export.opened, |fields| load_facts::write_export_state(fields, export))
    });
    let detached = state.databases().flat_map(|database| state.detached_tables(database.id));
    let detached = detached.map(|(_, detached)| {
        fact(kind::DETACHED, Seq::ZERO, |fields| {
            fields.id(1, detached.id.as_bytes());
            fields.uint(2, detached.is_permanent.into());
        })
    });
    let functions = state.functions().iter().map(|(name, lambda)| {
        fact(kind::FUNCTION, Seq::ZERO, |fields| {
            fields.text(1, name);
            fields.text(2, lambda);
        })
    });
    let swept = Some(state.swept_ms()).filter(|ms| *ms > 0);
    let swept = swept.map(|ms| fact(kind::SWEPT, Seq::ZERO, |fields| fields.uint(1, ms)));
    let named = collections.chain(exports).chain(detached).chain(functions);
    databases.chain(tables).chain(dropped).chain(labels).chain(tokens).chain(loads).chain(named).chain(swept)
}

fn write_seen(fields: &mut FieldWriter, seen: &LabelState) {
    fields.id(3, &seen.fingerprint.to_le_bytes());
    fields.uint(4, seen.committed_ms);
    fields.uint(5, seen.rows);
}

fn load_fact(load: &StagedLoad) -> Fact {
    fact(kind::LOAD, load.opened, |fields| load_facts::write_load(fields, load))
}

fn part_facts(load: &StagedLoad) -> impl Iterator<Item = Fact> {
    load.parts().map(|part| {
        fact(kind::STAGED_PART, Seq::ZERO, |fields| {
            fields.id(1, load.id.as_bytes());
            fields.nested(2, |inner| write_part(inner, part));
        })
    })
}

fn table_fact(kind: u16, table: &TableState, seq: Seq, dropped_ms: u64) -> Fact {
    fact(kind, seq, |fields| {
        fields.nested(1, |inner| write_table(inner, &table.def));
        fields.uint(2, table.next_block());
        fields.uint(3, table.inline_changed().0);
        fields.uint(4, dropped_ms);
    })
}

fn table_facts(table: &TableState) -> impl Iterator<Item = Fact> {
    let older = |def: &&Arc<TableDef>| def.schema_version != table.def.schema_version;
    let definitions = table
        .definitions()
        .filter(older)
        .map(|def| fact(kind::DEFINITION, Seq::ZERO, |fields| write_table(fields, def)));
    let parts = table.parts().map(|part| fact(kind::PART, Seq::ZERO, |fields| write_part(fields, part)));
    let removed = table.removed().map(|removed| {
        fact(kind::REMOVED_PART, removed.seq, |fields| {
            fields.nested(1, |inner| write_part(inner, &removed.descriptor));
            fields.uint(2, removed.removed_ms);
        })
    });
    let inline = table.inline().map(|statement| {
        fact(kind::INLINE, statement.seq, |fields| {
            fields.uint(1, statement.block);
            fields.uint(2, statement.schema_version.into());
            fields.uint(3, statement.rows);
            fields.bytes(4, &statement.bytes);
        })
    });
    definitions.chain(parts).chain(removed).chain(inline)
}

/// A fact as read.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    Database {
        id: DatabaseId,
        name: Arc<str>,
    },
    /// A table without what the facts after it say; dropped at a seq and time, or live.
    Table {
        table: Box<TableState>,
        dropped: Option<(Seq, u64)>,
    },
    Definition(TableDef),
    Part(PartDescriptor),
    Removed(RemovedPart),
    Inline(InlineStatement),
    Label {
        database: DatabaseId,
        label: Label,
        state: LabelState,
    },
    Token {
        table: TableId,
        token: u128,
        state: LabelState,
    },
    /// A load without its parts, which follow it.
    Load(Box<StagedLoad>),
    Export(ExportState),
    StagedPart {
        load: LoadId,
        part: PartDescriptor,
    },
    Collection {
        name: Arc<str>,
        entries: Collection,
    },
    /// A table that was read before is out of sight.
    Detached(DetachedTable),
    Function {
        name: Arc<str>,
        lambda: Arc<str>,
    },
    /// Files of parts that nothing names are gone up to this time.
    Swept(u64),
}

/// Reads one fact; an error names a kind that needs a newer program.
pub fn decode(fact: &Fact) -> Result<Content, FormatError> {
    let fields = FieldReader::new(name_of(fact.kind), &fact.payload);
    match fact.kind {
        kind::DATABASE => read_database(fields),
        kind::TABLE | kind::DROPPED_TABLE => read_table_fact(fields, fact),
        kind::DEFINITION => read_table(fields).map(Content::Definition),
        kind::PART => read_part(fields).map(Content::Part),
        kind::REMOVED_PART => read_removed(fields, fact.seq).map(Content::Removed),
        kind::INLINE => read_inline(fields, fact.seq).map(Content::Inline),
        kind::LABEL => read_label(fields, fact.seq),
        kind::TOKEN => read_token(fields, fact.seq),
        kind::LOAD => load_facts::read_load(fields, fact.seq).map(|load| Content::Load(Box::new(load))),
        kind::STAGED_PART => read_staged_part(fields),
        kind::COLLECTION => {
            read_collection(fields).map(|read| Content::Collection { name: read.name, entries: read.entries })
        }
        kind::EXPORT => load_facts::read_export_state(fields, fact.seq).map(Content::Export),
        kind::DETACHED => load_facts::read_detached(fields).map(Content::Detached),
        kind::FUNCTION => {
            load_facts::read_function(fields).map(|(name, lambda)| Content::Function { name, lambda })
        }
        kind::SWEPT => load_facts::read_swept(fields).map(Content::Swept),
        unknown => Err(FormatError::UnknownKind {
            what: "checkpoint row",
            kind: unknown.into(),
            name: "unnamed",
            known: VERSION,
            needed: VERSION + 1,
        }),
    }
}

/// Rebuilds a state fact by fact.
#[derive(Default)]
pub struct Rebuild {
    state: State,
    /// The table whose facts are being read.
    open: Option<(TableState, Option<(Seq, u64)>)>,
}

impl Rebuild {
    pub fn add(&mut self, fact: &Fact) -> Result<(), FormatError> {
        match decode(fact)? {
            Content::Database { id, name } => self.state.insert_database(id, name),
            Content::Table { table, dropped } => {
                self.close_table()?;
                self.open = Some((*table, dropped));
            }
            Content::Definition(def) => self.in_table(fact)?.restore_definition(Arc::new(def)),
            Content::Part(part) => self.in_table(fact)?.insert_part(Arc::new(part)),
            Content::Removed(removed) => self.in_table(fact)?.restore_removed(removed),
            Content::Inline(statement) => self.in_table(fact)?.insert_inline(statement),
            Content::Label { database, label, state } => self.state.restore_label(database, label, state),
            Content::Token { table, token, state } => self.state.restore_token(table, token, state),
            Content::Load(load) => self.state.loads_mut().insert(*load),
            Content::Collection { name, entries } => self.state.restore_collection(name, entries),
            Content::Export(export) => self.state.exports_mut().restore(export),
            Content::Function { name, lambda } => self.state.functions_mut().insert(name, lambda),
            Content::Swept(before_ms) => self.state.sweep(before_ms),
            Content::Detached(detached) => {
                self.close_table()?;
                let found = self.state.detach_table(detached.id, detached.is_permanent);
                found.ok_or_else(|| out_of_place(fact.kind, "its table is missing"))?;
            }
            Content::StagedPart { load, part } => {
                let added = self.state.loads_mut().change(load, |load| load.add_part(Arc::new(part)));
                added.ok_or_else(|| out_of_place(fact.kind, "its load is missing"))?;
            }
        }
        Ok(())
    }

    /// The whole state, at `seq`.
    pub fn finish(mut self, seq: Seq) -> Result<State, FormatError> {
        self.close_table()?;
        self.state.advance(seq);
        Ok(self.state)
    }

    fn close_table(&mut self) -> Result<(), FormatError> {
        let Some((table, dropped)) = self.open.take() else { return Ok(()) };
        if let Some((seq, dropped_ms)) = dropped {
            self.state.insert_dropped(DroppedTable { state: Arc::new(table), seq, dropped_ms });
            return Ok(());
        }
        self.state.insert_table(table).ok_or_else(|| out_of_place(kind::TABLE, "its database is missing"))
    }

    fn in_table(&mut self, fact: &Fact) -> Result<&mut TableState, FormatError> {
        let open = self.open.as_mut().map(|(table, _)| table);
        open.ok_or_else(|| out_of_place(fact.kind, "its table is missing"))
    }
}

fn read_database(mut fields: FieldReader<'_>) -> Result<Content, FormatError> {
    let (mut id, mut name) = (None, "");
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => id = Some(DatabaseId::from_bytes(field.id()?)),
            2 => name = field.text()?,
            _ => field.skip(VERSION)?,
        }
    }
    Ok(Content::Database { id: id.ok_or_else(|| fields.missing(1))?, name: name.into() })
}

fn read_table_fact(mut fields: FieldReader<'_>, fact: &Fact) -> Result<Content, FormatError> {
    let (mut def, mut next_block, mut inline_changed, mut dropped_ms) = (None, 0, 0, 0);
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => def = Some(read_table(field.nested("table definition")?)?),
            2 => next_block = field.uint()?,
            3 => inline_changed = field.uint()?,
            4 => dropped_ms = field.uint()?,
            _ => field.skip(VERSION)?,
        }
    }
    let mut table = Box::new(TableState::new(Arc::new(def.ok_or_else(|| fields.missing(1))?)));
    table.restore(next_block, Seq(inline_changed));
    let dropped = (fact.kind == kind::DROPPED_TABLE).then_some((fact.seq, dropped_ms));
    Ok(Content::Table { table, dropped })
}

fn read_label(mut fields: FieldReader<'_>, seq: Seq) -> Result<Content, FormatError> {
    let (mut database, mut label) = (None, None);
    let mut state = LabelState { seq, fingerprint: 0, committed_ms: 0, rows: 0 };
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => database = Some(DatabaseId::from_bytes(field.id()?)),
            2 => label = Label::new(field.text()?),
            _ => read_seen(&field, &mut state)?,
        }
    }
    let database = database.ok_or_else(|| fields.missing(1))?;
    Ok(Content::Label { database, label: label.ok_or_else(|| fields.missing(2))?, state })
}

fn read_token(mut fields: FieldReader<'_>, seq: Seq) -> Result<Content, FormatError> {
    let (mut table, mut token) = (None, None);
    let mut state = LabelState { seq, fingerprint: 0, committed_ms: 0, rows: 0 };
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => table = Some(TableId::from_bytes(field.id()?)),
            2 => token = Some(u128::from_le_bytes(field.id()?)),
            _ => read_seen(&field, &mut state)?,
        }
    }
    let table = table.ok_or_else(|| fields.missing(1))?;
    Ok(Content::Token { table, token: token.ok_or_else(|| fields.missing(2))?, state })
}

/// Reads what [`write_seen`] wrote.
fn read_seen(field: &Field<'_>, seen: &mut LabelState) -> Result<(), FormatError> {
    match field.number {
        3 => seen.fingerprint = u128::from_le_bytes(field.id()?),
        4 => seen.committed_ms = field.uint()?,
        5 => seen.rows = field.uint()?,
        _ => field.skip(VERSION)?,
    }
    Ok(())
}

fn read_staged_part(mut fields: FieldReader<'_>) -> Result<Content, FormatError> {
    let (mut load, mut part) = (None, None);
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => load = Some(LoadId::from_bytes(field.id()?)),
            2 => part = Some(read_part(field.nested("part")?)?),
            _ => field.skip(VERSION)?,
        }
    }
    let load = load.ok_or_else(|| fields.missing(1))?;
    Ok(Content::StagedPart { load, part: part.ok_or_else(|| fields.missing(2))? })
}

fn read_removed(mut fields: FieldReader<'_>, seq: Seq) -> Result<RemovedPart, FormatError> {
    let (mut part, mut removed_ms) = (None, 0);
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => part = Some(read_part(field.nested("part")?)?),
            2 => removed_ms = field.uint()?,
            _ => field.skip(VERSION)?,
        }
    }
    let descriptor = Arc::new(part.ok_or_else(|| fields.missing(1))?);
    Ok(RemovedPart { descriptor, seq, removed_ms })
}

fn read_inline(mut fields: FieldReader<'_>, seq: Seq) -> Result<InlineStatement, FormatError> {
    let mut statement = InlineStatement { seq, block: 0, schema_version: 0, rows: 0, bytes: Bytes::new() };
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => statement.block = field.uint()?,
            2 => statement.schema_version = field.narrow()?,
            3 => statement.rows = field.uint()?,
            // Copied: a slice would keep the whole checkpoint in memory.
            4 => statement.bytes = Bytes::copy_from_slice(field.bytes()?),
            _ => field.skip(VERSION)?,
        }
    }
    Ok(statement)
}

fn out_of_place(kind: u16, problem: &str) -> FormatError {
    FormatError::Malformed { what: name_of(kind), number: 0, problem: problem.to_owned() }
}

/// The word for a kind of fact.
pub fn name_of(kind: u16) -> &'static str {
    match kind {
        kind::DATABASE => "Database",
        kind::TABLE => "Table",
        kind::DROPPED_TABLE => "DroppedTable",
        kind::DEFINITION => "Definition",
        kind::PART => "Part",
        kind::REMOVED_PART => "RemovedPart",
        kind::INLINE => "Inline",
        kind::LABEL => "Label",
        kind::TOKEN => "Token",
        kind::LOAD => "Load",
        kind::STAGED_PART => "StagedPart",
        kind::COLLECTION => "Collection",
        kind::EXPORT => "Export",
        kind::DETACHED => "Detached",
        kind::FUNCTION => "Function",
        kind::SWEPT => "Swept",
        _ => "unknown checkpoint row",
    }
}

#[cfg(test)]
mod tests;
