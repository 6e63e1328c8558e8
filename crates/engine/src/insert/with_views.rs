//! INSERT into a table that materialized views see.
//!
//! Rows come in blocks, as sinks form them. Each block goes into the table, and through the SELECT of every view into that
//! view's table, whose own views see it in turn. Invariant: rows of the table and of all views are one transaction: an error
//! anywhere, and nothing of the statement is there. Only rows of Memory tables, which no log knows, come behind it.

use std::sync::Arc;

use arrow::array::RecordBatch;
use boundary::error::{Error, ErrorKind};
use boundary::request::Rows;
use catalog::{Op, Precondition, TableState};
use datafusion::physical_plan::execute_stream;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use mergetree::write::collapse::collapsed_rows;
use mergetree::write::{PartSink, SinkSettings, check_rows};
use model::{ErrorCode, SealedPart, TableEngine, TableId};
use physical::nodes::running::metered::metered;

use crate::context::execution::{Execution, Rewritten};
use crate::context::pressure::{wait_for_flushes, wait_for_merges};
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::insert::rows::encoded;
use crate::insert::sink_settings::keep_order;
use crate::query::select::plan;
use crate::resolve::materialized::{destination_of, views_of};
use crate::resolve::merged::behind;
use crate::resolve::views::select_of;
use sinks::commit::submit;
use sinks::turns::Batches;
use sinks::uncommitted::UncommittedParts;
use tables::conform::Conform;

/// Rows of one table up to this many bytes go into the log.
const INLINE_BYTES_MAX: usize = 1 << 20;
/// A block that no setting ends sooner: ClickHouse's, so that a view groups as many rows.
const BLOCK_ROWS: u64 = 1_048_449;
const BLOCK_BYTES: u64 = 256 << 20;
/// Views that fill tables that views see.
const DEPTH_MAX: usize = 32;

/// Rows of the statement, as they come and as rows of the table.
pub(super) struct Incoming {
    pub rows: Batches,
    pub conform: Arc<Conform>,
}

/// What becomes of the rows that were there, in the transaction of those that come.
#[derive(Default)]
pub(crate) struct Replacing {
    /// They go.
    pub clears: bool,
    /// What else happens then, in milliseconds since 1970.
    pub also: Option<Also>,
}

pub(crate) type Also = Box<dyn FnOnce(u64) -> Op + Send + Sync>;

/// Runs the INSERT. `settings` are those of its sinks.
pub(super) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    table: &Arc<TableState>,
    incoming: Incoming,
    (settings, replacing): (SinkSettings, Replacing),
) -> Result<Rows, Error> {
    wait_for_merges(&execution.snapshot, &execution.progress, table).await?;
    let given = |given: u64, otherwise: u64| if given == 0 { otherwise } else { given };
    let rows_max = given(settings.block_rows_min, BLOCK_ROWS);
    // A block is in memory while its views are computed.
    let bytes_max = given(settings.block_bytes_min, BLOCK_BYTES).min(execution.memory.available() / 8 + 1);
    let mut pour = Pour {
        services: Arc::clone(services),
        execution: Arc::clone(execution),
        settings,
        replacing,
        tables: Vec::new(),
    };
    let Incoming { mut rows, conform } = incoming;
    let (mut block, mut block_rows, mut block_bytes, mut rows_read) = (Vec::new(), 0, 0, 0);
    while let Some(batch) = rows.next().await {
        let batch = conform.apply_behind(rows_read, &batch?)?;
        rows_read += batch.num_rows() as u64;
        block_rows += batch.num_rows() as u64;
        block_bytes += batch.get_array_memory_size() as u64;
        if batch.num_rows() > 0 {
            block.push(batch);
        }
        if block_rows >= rows_max || block_bytes >= bytes_max {
            pour.put(Arc::clone(table), std::mem::take(&mut block), Vec::new()).await?;
            (block_rows, block_bytes) = (0, 0);
        }
    }
    if !block.is_empty() {
        pour.put(Arc::clone(table), block, Vec::new()).await?;
    }
    pour.commit(table).await
}

/// What goes into one table.
struct Filled {
    state: Arc<TableState>,
    handle: mergetree::Table,
    held: Vec<RecordBatch>,
    held_bytes: usize,
    uncommitted: UncommittedParts,
    rows: u64,
    bytes: u64,
}

/// What is to be committed.
#[derive(Default)]
struct Changes {
    ops: Vec<Op>,
    preconditions: Vec<Precondition>,
    /// Bytes of rows in the log, by table.
    inline: Vec<(TableId, usize)>,
    /// Parts by the place of their table: they are given back if the commit fails.
    parts: Vec<(usize, Vec<SealedPart>)>,
}

struct Pour {
    services: Arc<Services>,
    execution: Arc<Execution>,
    settings: SinkSettings,
    replacing: Replacing,
    /// In the order in which they first got rows.
    tables: Vec<Filled>,
}

impl Pour {
    /// Puts rows of a table into it and through its views; `above` are the views they came through.
    fn put(
        &mut self,
        table: Arc<TableState>,
        rows: Vec<RecordBatch>,
        above: Vec<TableId>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        async move {
            if self.execution.progress.is_cancelled() {
                return Err(Error::cancelled());
            }
            for view in views_of(&self.execution, &table.def) {
                if above.contains(&view.def.id) || above.len() >= DEPTH_MAX {
                    let message = format!(
                        "materialized view \"{}\" fills a table whose rows come back to it",
                        view.def.name
                    );
                    return Err(Error::new(ErrorKind::BadInput, ErrorCode::TOO_DEEP_RECURSION, message));
                }
                let in_view =
                    |error: Error| error.in_context(&format!("while pushing to view {}", view.def.name));
                let (target, made) = self.made(&table, &view, &rows).await.map_err(in_view)?;
                if made.iter().any(|batch| batch.num_rows() > 0) {
                    let above = above.iter().copied().chain([view.def.id]).collect();
                    self.put(target, made, above).await.map_err(in_view)?;
                }
            }
            self.keep(&table, rows).await
        }
        .boxed()
    }

    /// What a view makes of rows, as rows of the table it fills.
    async fn made(
        &self,
        table: &Arc<TableState>,
        view: &Arc<TableState>,
        rows: &[RecordBatch],
    ) -> Result<(Arc<TableState>, Vec<RecordBatch>), Error> {
        let (services, execution) = (&self.services, &self.execution);
        let target = behind(execution, &execution.stored_table(&destination_of(&view.def)?)?)?;
        let query = sql::Query::from(Box::new(select_of(&view.def)?.0));
        let block = Rewritten::Block { def: Arc::clone(&table.def), rows: Arc::new(rows.to_vec()) };
        let mut planned = plan(services, &execution.rewriting(block), &query, None).await?;
        keep_order(&mut planned, &execution.settings);
        let physical = metered(planned.physical().await?)?;
        let mut made = execute_stream(physical, planned.state.task_ctx())?;
        // Columns that the table lacks by now are left out, and those that the view does not give get their defaults.
        let columns = view.def.columns.iter().enumerate();
        let common = columns.filter(|(_, column)| target.def.column(&column.name).is_some());
        let common: Vec<usize> = common.map(|(at, _)| at).collect();
        let names: Vec<String> = common.iter().map(|at| view.def.columns[*at].name.to_string()).collect();
        let asking = || statement_state(services, execution);
        let defaults = services.tables.defaults(&target.def, &asking)?;
        let (constraints, _) = services.tables.constraints(&target.def, &asking)?;
        let conform = Conform::new(&target.def, Some(&names), names.len(), &defaults)?;
        let conform = conform.with_null_as_default(false).with_constraints(constraints);
        let (mut out, mut before) = (Vec::new(), 0);
        while let Some(batch) = made.next().await {
            let batch =
                batch.map_err(Error::from)?.project(&common).map_err(|e| Error::internal(e.to_string()))?;
            out.push(conform.apply_behind(before, &batch)?);
            before += batch.num_rows() as u64;
        }
        Ok((target, out))
    }

    /// Keeps rows for the commit: few of them in memory, more in parts.
    async fn keep(&mut self, table: &Arc<TableState>, rows: Vec<RecordBatch>) -> Result<(), Error> {
        let at = match self.tables.iter().position(|filled| filled.state.def.id == table.def.id) {
            Some(at) => at,
            None => {
                let (handle, _) = self.services.tables.handle(&table.def)?;
                self.tables.push(Filled {
                    state: Arc::clone(table),
                    uncommitted: UncommittedParts::new(handle.store.clone()),
                    handle,
                    held: Vec::new(),
                    held_bytes: 0,
                    rows: 0,
                    bytes: 0,
                });
                self.tables.len() - 1
            }
        };
        let engine = table.def.engine;
        if !engine.keeps_parts() && !matches!(engine, TableEngine::Memory | TableEngine::Null) {
            let what = format!(
                "a materialized view that fills table \"{}\" of engine {}",
                table.def.name,
                engine.name()
            );
            return Err(Error::unsupported(what));
        }
        let filled = &mut self.tables[at];
        let bytes: usize = rows.iter().map(RecordBatch::get_array_memory_size).sum();
        filled.rows += rows.iter().map(|batch| batch.num_rows() as u64).sum::<u64>();
        filled.bytes += bytes as u64;
        if engine == TableEngine::Null {
            return Ok(());
        }
        filled.held.extend(rows);
        filled.held_bytes += bytes;
        if !engine.keeps_parts() || filled.held_bytes <= INLINE_BYTES_MAX {
            return Ok(());
        }
        self.write_held(at).await
    }

    /// Makes what is held for a table into parts.
    async fn write_held(&mut self, at: usize) -> Result<(), Error> {
        let filled = &mut self.tables[at];
        let (held, handle) = (std::mem::take(&mut filled.held), filled.handle.clone());
        filled.held_bytes = 0;
        let settings = self.settings.clone();
        let work = move || {
            let mut sink = PartSink::new(handle, settings)?;
            held.into_iter().try_for_each(|batch| sink.write(batch))?;
            sink.finish()
        };
        let written = self.services.runtimes.spawn_blocking("sink", work).await;
        let parts = written.map_err(Error::ended_early)??;
        self.tables[at].uncommitted.add(parts);
        Ok(())
    }

    /// What is held, and the parts, as changes of the catalog.
    async fn changes(&mut self, table: &TableState) -> Result<Changes, Error> {
        for at in 0..self.tables.len() {
            let Filled { state, handle, held, .. } = &self.tables[at];
            // Texts that share their bytes in memory do not in the log.
            if state.def.engine.keeps_parts()
                && !held.is_empty()
                && encoded(handle, held)?.len() > INLINE_BYTES_MAX
            {
                self.write_held(at).await?;
            }
        }
        let mut changes = Changes::default();
        if self.replacing.clears && table.def.engine.keeps_parts() {
            changes.ops.push(Op::TruncateTable { table: table.def.id });
            let (table, schema_version) = (table.def.id, table.def.schema_version);
            changes.preconditions.push(Precondition::SchemaCompatible { table, schema_version });
        }
        let now_ms = self.services.now_ms();
        changes.ops.extend(self.replacing.also.take().map(|also| also(now_ms)));
        for (at, filled) in self.tables.iter_mut().enumerate() {
            let def = &filled.state.def;
            if !def.engine.keeps_parts() {
                continue;
            }
            let (id, schema_version) = (def.id, def.schema_version);
            let held = std::mem::take(&mut filled.held);
            let held = match self.settings.collapses && !def.mode.is_plain() {
                true => collapsed_rows(&filled.handle, &held, self.settings.partitions_max)?,
                false => held,
            };
            let rows: u64 = held.iter().map(|batch| batch.num_rows() as u64).sum();
            if rows > 0 {
                held.iter()
                    .try_for_each(|batch| check_rows(&filled.handle, batch, self.settings.partitions_max))?;
                let bytes = encoded(&filled.handle, &held)?;
                changes.inline.push((id, bytes.len()));
                changes.ops.push(Op::InlineRows { table: id, schema_version, rows, bytes });
            }
            let sealed = filled.uncommitted.take();
            changes.ops.extend(sealed.iter().cloned().map(Op::AddPart));
            changes.parts.push((at, sealed));
            changes.preconditions.push(Precondition::SchemaCompatible { table: id, schema_version });
        }
        Ok(changes)
    }

    /// Everything at once.
    async fn commit(mut self, table: &Arc<TableState>) -> Result<Rows, Error> {
        let Changes { ops, mut preconditions, inline, parts } = self.changes(table).await?;
        preconditions.extend(self.execution.kept());
        let back = |tables: &[Filled], parts: Vec<(usize, Vec<SealedPart>)>| {
            parts.into_iter().for_each(|(at, sealed)| tables[at].uncommitted.add(sealed));
        };
        let (services, execution) = (&self.services, &self.execution);
        if execution.rolls_back {
            back(&self.tables, parts);
            return Ok(Rows::none());
        }
        if !ops.is_empty() {
            wait_for_flushes(&services.flushing, &execution.snapshot, &execution.progress, table).await?;
            if let Err(error) = execution.progress.begin_commit() {
                back(&self.tables, parts);
                return Err(error);
            }
            let (catalog, host) = (&services.catalog, &services.host);
            let read_seq = execution.snapshot.seq();
            let committed = submit(catalog, host, read_seq, preconditions, ops, &execution.profile).await;
            if let Err(error) = committed {
                // What a durable record may name stays.
                if error.kind != ErrorKind::OutcomeUnknown {
                    back(&self.tables, parts);
                }
                return Err(error);
            }
            inline.into_iter().for_each(|(id, bytes)| services.flushing.note(catalog, id, bytes as u64));
            services.wake.notify_waiters();
        }
        if self.replacing.clears && table.def.engine == TableEngine::Memory {
            services.memory_tables_of(&execution.temporary, &table.def).clear(table.def.id);
        }
        for filled in &mut self.tables {
            let def = &filled.state.def;
            if def.engine == TableEngine::Memory {
                let rows = std::mem::take(&mut filled.held);
                services.memory_tables_of(&execution.temporary, def).append(def.id, rows)?;
            }
            execution.progress.add_written(filled.rows, filled.bytes);
        }
        Ok(Rows::none())
    }
}
