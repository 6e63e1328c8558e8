//! Rows in, one durable part out.
//!
//! Invariant: a `SealedPart` comes out only after the file and its folder are synced; a writer that is dropped before
//! leaves no file. Rows are encoded as they come: whoever claims a sort order has sorted them. Row groups are closed by
//! rows and bytes, and within one the columns may be written together ([`PartWriter::write`]) or one after the
//! other ([`PartWriter::write_column`]), which is how a merge of many parts stays small.

use std::path::PathBuf;
use std::sync::Arc;

use ::parquet::arrow::ArrowSchemaConverter;
use ::parquet::arrow::arrow_writer::{
    ArrowRowGroupWriterFactory, ArrowWriter, ArrowWriterOptions, PageStoreFactory,
};
use ::parquet::file::metadata::SortingColumn;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::SchemaDescriptor;
use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type, Schema, SchemaRef};
use model::part::FORMAT_PARQUET;
use model::table_def::column_id_of;
use model::{
    BlockRange, ColumnBounds, ColumnId, LoadId, PartDescriptor, PartId, PartLocation, PartitionValue,
    SealedPart, SortOrder, TableDef, TableKeys,
};

use host::Workers;

use crate::array_size::array_bytes;
use crate::encoding::{ColumnEncodings, WritePurpose};
use crate::error::PartError;
use crate::evolve::position_of;
use crate::packer::Effort;
use crate::parquet::file::ChecksummedFile;
use crate::parquet::footer_sum;
use crate::parquet::page_sums;
use crate::parquet::properties::{FileLayout, writer_properties};
use crate::parquet::spliced_chunk::{CopiedChunk, SplicedChunk};
use crate::parquet::stats::column_bounds;
use crate::parquet::summed_pages::SummedPages;
use crate::row_group::OpenRowGroup;
use crate::sorted::key_columns;
use crate::store::PartStore;

/// Rows of a row group.
pub const ROW_GROUP_ROWS_MAX: u64 = 256 * 1024;
/// Bytes of a row group in memory, before encoding.
pub const ROW_GROUP_BYTES_MAX: u64 = 256 << 20;
/// Rows encoded at once; a part of the batch that is still in the processor's cache.
const WRITE_ROWS_MAX: usize = 8192;

/// What is to be written.
#[derive(Clone, Debug)]
pub struct PartSpec {
    pub table: Arc<TableDef>,
    pub keys: Arc<TableKeys>,
    pub partition: PartitionValue,
    /// The order the rows will be in.
    pub sort: SortOrder,
    pub level: u32,
    pub purpose: WritePurpose,
    pub load: Option<LoadId>,
    /// Of what the part replaces; the default for a part of new rows.
    pub blocks: BlockRange,
    /// Chosen from a sample; `None` samples the first batch.
    pub encodings: Option<Arc<ColumnEncodings>>,
    /// More pairs for the footer: where the part comes from, for the day when the log is gone.
    pub origin: Vec<(String, String)>,
}

/// Writes one part.
pub struct PartWriter {
    store: PartStore,
    spec: PartSpec,
    id: PartId,
    schema: SchemaRef,
    /// The first leaf of each column, and the number of leaves behind the last.
    first_leaf: Vec<usize>,
    /// Columns of floating point numbers in which NaN was seen.
    has_nan: Vec<bool>,
    /// Columns that got pages of other files.
    adopted: Vec<ColumnId>,
    /// Write columns beside the thread that brings them.
    workers: Workers,
    file: Option<OpenFile>,
    rows: u64,
    bytes_uncompressed: u64,
}

/// A part that is written and not yet durable; dropped, it leaves no file.
pub struct UnsyncedPart {
    file: OpenFile,
    descriptor: PartDescriptor,
}

impl UnsyncedPart {
    /// Makes the file and its folder durable.
    ///
    /// # Errors
    /// The disk refuses; then there is no part, and no file is left.
    pub fn seal(mut self) -> Result<SealedPart, PartError> {
        self.file.writer.inner_mut().seal()?;
        Ok(SealedPart::attest_durable(self.descriptor))
    }
}

/// A file of the storage, which deletes it when this is dropped unsealed.
struct OpenFile {
    writer: SerializedFileWriter<ChecksummedFile>,
    factory: ArrowRowGroupWriterFactory,
    /// Of each leaf: whether, and how, it is written as plain text.
    texts: Vec<Option<Effort>>,
    /// Pages of the other leaves.
    summed: Arc<SummedPages>,
    /// The sums of the pages that are written, in order.
    sums: Vec<u32>,
    /// For messages.
    path: PathBuf,
    group: Option<OpenRowGroup>,
    groups_done: usize,
}

impl PartWriter {
    /// Prepares a part; its file is created with the first rows.
    ///
    /// # Errors
    /// The table has a column Parquet cannot store.
    pub fn new(store: &PartStore, spec: PartSpec) -> Result<PartWriter, PartError> {
        PartWriter::adopting(store, spec, &[])
    }

    /// The same for a part that gets chunks of other files ([`PartWriter::append_chunk`]): says of columns whether their pages tell NULLs,
    /// where that is not what the table says.
    ///
    /// # Errors
    /// As [`PartWriter::new`].
    pub fn adopting(
        store: &PartStore,
        spec: PartSpec,
        optional: &[(ColumnId, bool)],
    ) -> Result<PartWriter, PartError> {
        let random = host::random::uuid_bytes(store.host().random.as_ref());
        let id = PartId::made_at(store.host().clock.now_ms(), random);
        let schema = with_optional(spec.table.arrow_schema(), optional);
        let leaves = ArrowSchemaConverter::new().convert(&schema).map_err(|e| PartError::write(id, e))?;
        let first_leaf = first_leaves(&leaves, schema.fields().len());
        let has_nan = vec![false; schema.fields().len()];
        let store = store.clone();
        Ok(PartWriter {
            store,
            spec,
            id,
            schema,
            first_leaf,
            has_nan,
            workers: Workers::default(),
            file: None,
            rows: 0,
            adopted: Vec::new(),
            bytes_uncompressed: 0,
        })
    }

    pub fn id(&self) -> PartId {
        self.id
    }

    /// Lets workers write the columns of row groups, side by side. Errors of values come with later ones, or at the end of the row group.
    pub fn use_workers(&mut self, workers: &Workers) {
        self.workers = workers.clone();
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of encoded and not yet written pages.
    pub fn memory_bytes(&self) -> u64 {
        let group = self.file.as_ref().and_then(|file| file.group.as_ref());
        group.map_or(0, OpenRowGroup::memory_bytes)
    }

    /// Decides the encodings from these rows, unless they are decided.
    pub fn choose_encodings(&mut self, sample: &RecordBatch) {
        if self.spec.encodings.is_none() {
            self.spec.encodings = Some(Arc::new(ColumnEncodings::choose(sample, self.spec.purpose)));
        }
    }

    /// Appends rows of the table's schema.
    ///
    /// # Errors
    /// The disk refuses, or the rows have another schema.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), PartError> {
        self.choose_encodings(batch);
        for start in (0..batch.num_rows()).step_by(WRITE_ROWS_MAX) {
            let rows = WRITE_ROWS_MAX.min(batch.num_rows() - start);
            let piece = batch.slice(start, rows);
            let bytes = piece.columns().iter().map(array_bytes).sum::<u64>();
            if self.group_is_full_with(rows as u64, bytes) {
                self.end_row_group()?;
            }
            for (position, column) in piece.columns().iter().enumerate() {
                self.write_column(position, column)?;
            }
        }
        Ok(())
    }

    fn group_is_full_with(&self, rows: u64, bytes: u64) -> bool {
        let Some(group) = self.file.as_ref().and_then(|file| file.group.as_ref()) else { return false };
        let held = group.rows();
        held > 0 && (held + rows > ROW_GROUP_ROWS_MAX || group.bytes + bytes > ROW_GROUP_BYTES_MAX)
    }

    /// Appends values to one column of the row group. Before [`PartWriter::end_row_group`] every column must have got
    /// equally many; encodings must have been chosen.
    ///
    /// # Errors
    /// The disk refuses, or the values have another type than the column.
    pub fn write_column(&mut self, position: usize, values: &ArrayRef) -> Result<(), PartError> {
        let id = self.id;
        let field = self.schema.fields().get(position).cloned();
        let field = field.ok_or_else(|| PartError::write(id, format!("there is no column {position}")))?;
        if values.data_type() != field.data_type() {
            let message =
                format!("column {} is {}, not {}", field.name(), field.data_type(), values.data_type());
            return Err(PartError::write(id, message));
        }
        let has_nan = self.has_nan[position] || any_nan(values);
        self.has_nan[position] = has_nan;
        let bytes = array_bytes(values);
        self.bytes_uncompressed += bytes;
        let group = self.open_group()?;
        group.write(position, &field, values).map_err(|e| PartError::write(id, e))?;
        group.bytes += bytes;
        Ok(())
    }

    /// Size in memory of the values that were written.
    pub fn bytes_uncompressed(&self) -> u64 {
        self.bytes_uncompressed
    }

    /// Makes a chunk of another file all of a column's values in the row group. The rest is as with [`PartWriter::write_column`]; its
    /// pages are not looked into.
    ///
    /// # Errors
    /// The disk refuses, the chunk has another layout than the column, or a page has not its own checksum.
    pub fn append_chunk(&mut self, position: usize, chunk: &CopiedChunk) -> Result<(), PartError> {
        let id = self.id;
        let leaf = self.first_leaf.get(position).copied().filter(|_| position < self.schema.fields().len());
        let leaf = leaf.ok_or_else(|| PartError::write(id, format!("there is no column {position}")))?;
        self.open_group()?;
        let Some(file) = &self.file else { return Err(PartError::write(id, "the file is not open")) };
        let leaf = file.writer.schema_descr().column(leaf);
        let spliced = SplicedChunk::new(&leaf, chunk).map_err(|e| PartError::write(id, e))?;
        let group = self.open_group()?;
        group.splice(position, spliced).map_err(|e| PartError::write(id, e))?;
        group.bytes += chunk.value_bytes;
        self.bytes_uncompressed += chunk.value_bytes;
        self.has_nan[position] |= chunk.has_nan;
        self.adopted
            .extend(column_id_of(self.schema.field(position)).filter(|id| !self.adopted.contains(id)));
        Ok(())
    }

    /// Writes the row group to the file.
    ///
    /// # Errors
    /// The disk refuses, or the columns have different lengths.
    pub fn end_row_group(&mut self) -> Result<(), PartError> {
        let id = self.id;
        let Some(file) = self.file.as_mut() else { return Ok(()) };
        let Some(group) = file.group.take() else { return Ok(()) };
        let path = file.path.as_path();
        let write = |e| PartError::encode(id, path, e);
        let mut target = file.writer.next_row_group().map_err(write)?;
        let rows = group.append_to(&mut target, &mut file.sums).map_err(write)?;
        target.close().map_err(write)?;
        file.writer.inner_mut().start_sync();
        file.groups_done += 1;
        self.rows += rows;
        Ok(())
    }

    /// Ends the file and makes it durable.
    ///
    /// # Errors
    /// The disk refuses; then there is no part, and no file is left.
    pub fn finish(self) -> Result<SealedPart, PartError> {
        self.close()?.seal()
    }

    /// Ends the file and lets the disk begin with it: whoever has other work does that before
    /// [`UnsyncedPart::seal`] waits.
    ///
    /// # Errors
    /// As [`PartWriter::finish`].
    pub fn close(mut self) -> Result<UnsyncedPart, PartError> {
        self.end_row_group()?;
        self.open_file()?;
        let (id, key_values) = (self.id, self.key_values());
        // Where something fails it is dropped, and so deleted.
        let Some(mut file) = self.file.take() else {
            return Err(PartError::write(id, "the file is not open"));
        };
        let sums = page_sums::key_value(&file.sums);
        let pairs =
            key_values.into_iter().chain([(sums.key.clone(), sums.value.clone().unwrap_or_default())]);
        file.writer.append_key_value_metadata(footer_sum::key_value(&pairs.collect(), self.rows));
        file.writer.append_key_value_metadata(sums);
        file.writer.flush().map_err(PartError::disk("write", &file.path))?;
        file.writer.inner_mut().begin_tail();
        let metadata = file.writer.finish().map_err(|e| PartError::encode(id, &file.path, e))?;
        let ended = file.writer.inner_mut().end();
        let (bytes, checksum, tail) = ended.map_err(PartError::disk("write", &file.path))?;
        let bounds = column_bounds(&metadata, &self.schema, &self.has_nan);
        let descriptor = PartDescriptor { tail, ..self.descriptor(bounds, bytes, checksum) };
        Ok(UnsyncedPart { file, descriptor })
    }

    fn descriptor(&self, bounds: Vec<ColumnBounds>, bytes: u64, checksum: u64) -> PartDescriptor {
        let (id, spec) = (self.id, &self.spec);
        PartDescriptor {
            id,
            table: spec.table.id,
            schema_version: spec.table.schema_version,
            partition: spec.partition.clone(),
            bucket: 0,
            location: PartLocation {
                store: 0,
                key: PartStore::key(spec.table.id, id).into(),
                owner_nodes: Vec::new(),
            },
            checksum,
            tail: None,
            blocks: spec.blocks,
            level: spec.level,
            data_version: 0,
            sort_order: spec.sort,
            adopted: self.adopted.clone(),
            bounds,
            rows: self.rows,
            bytes,
            bytes_uncompressed: self.bytes_uncompressed,
            format: FORMAT_PARQUET,
            load: spec.load,
            created_ms: self.store.host().clock.now_ms(),
        }
    }

    fn open_group(&mut self) -> Result<&mut OpenRowGroup, PartError> {
        let id = self.id;
        self.open_file()?;
        let Some(file) = &mut self.file else { return Err(PartError::write(id, "the file is not open")) };
        if file.group.is_none() {
            let writers = file.factory.create_column_writers(file.groups_done);
            let schema = (file.writer.schema_descr(), self.first_leaf.as_slice());
            let group = writers.and_then(|writers| {
                OpenRowGroup::new(writers, schema, &file.texts, &file.summed, &self.workers)
            });
            file.group = Some(group.map_err(|e| PartError::write(id, e))?);
        }
        file.group.as_mut().ok_or_else(|| PartError::write(id, "no row group is open"))
    }

    fn open_file(&mut self) -> Result<&mut OpenFile, PartError> {
        let id = self.id;
        if self.file.is_none() {
            self.file = Some(self.create_file()?);
        }
        self.file.as_mut().ok_or_else(|| PartError::write(id, "the file is not open"))
    }

    fn create_file(&self) -> Result<OpenFile, PartError> {
        let write = |e| PartError::write(self.id, e);
        let parquet_schema = ArrowSchemaConverter::new().convert(&self.schema).map_err(write)?;
        let none =
            ColumnEncodings::choose(&RecordBatch::new_empty(Arc::clone(&self.schema)), self.spec.purpose);
        let layout = FileLayout {
            schema: &parquet_schema,
            encodings: self.spec.encodings.as_deref().unwrap_or(&none),
            key_leaves: self.key_leaves(),
            sorting: self.sorting_columns(),
            key_values: self.key_values(),
        };
        let texts = layout.text_leaves(&self.schema);
        let properties = writer_properties(layout).map_err(write)?;
        let (path, file) = self.store.create(self.spec.table.id, self.id)?;
        let summed = Arc::<SummedPages>::default();
        let stores: Arc<dyn PageStoreFactory> = Arc::<SummedPages>::clone(&summed);
        let options = ArrowWriterOptions::new().with_properties(properties).with_page_store_factory(stores);
        let target = ChecksummedFile::new(file);
        let writer = ArrowWriter::try_new_with_options(target, Arc::clone(&self.schema), options)
            .and_then(ArrowWriter::into_serialized_writer);
        let (writer, factory) = writer.map_err(write)?;
        let (sums, group) = (Vec::new(), None);
        Ok(OpenFile { writer, factory, texts, summed, sums, path, group, groups_done: 0 })
    }

    fn key_leaves(&self) -> Vec<usize> {
        let positions =
            key_columns(&self.spec.keys.sort).into_iter().filter_map(|id| position_of(&self.schema, id));
        positions.flat_map(|position| self.first_leaf[position]..self.first_leaf[position + 1]).collect()
    }

    /// The leading expressions of the sort key that are plain columns: what another reader may rely on.
    fn sorting_columns(&self) -> Vec<SortingColumn> {
        if self.spec.sort == SortOrder::None {
            return Vec::new();
        }
        let plain = self.spec.keys.sort.iter().map_while(|expression| {
            let position = position_of(&self.schema, expression.as_column()?)?;
            let nested = self.schema.field(position).data_type().is_nested();
            (!nested).then(|| i32::try_from(self.first_leaf[position]).ok()).flatten()
        });
        plain.map(|column_idx| SortingColumn { column_idx, descending: false, nulls_first: false }).collect()
    }

    /// What a person with a Parquet tool sees, and what tells files apart that lost their folder.
    fn key_values(&self) -> Vec<(String, String)> {
        let key: Vec<&str> = self.spec.keys.sort.iter().map(|expression| expression.text()).collect();
        let pairs = [
            ("gristmill.table", self.spec.table.id.to_string()),
            ("gristmill.part", self.id.to_string()),
            ("gristmill.schema_version", self.spec.table.schema_version.to_string()),
            ("gristmill.partition", self.spec.partition.name().to_owned()),
            (
                "gristmill.sort_key",
                if self.spec.sort == SortOrder::None { String::new() } else { key.join(", ") },
            ),
        ];
        let own = pairs.into_iter().map(|(key, value)| (key.to_owned(), value));
        own.chain(self.spec.origin.iter().cloned()).collect()
    }
}

/// The schema with these columns nullable or not; their types stay those of the table.
fn with_optional(schema: SchemaRef, optional: &[(ColumnId, bool)]) -> SchemaRef {
    if optional.is_empty() {
        return schema;
    }
    let field = |field: &FieldRef| {
        let id = column_id_of(field);
        match optional.iter().find(|(column, _)| Some(*column) == id) {
            Some((_, nullable)) => Arc::new(field.as_ref().clone().with_nullable(*nullable)),
            None => Arc::clone(field),
        }
    };
    let fields: Vec<FieldRef> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn first_leaves(schema: &SchemaDescriptor, columns: usize) -> Vec<usize> {
    let mut first = vec![0; columns + 1];
    for leaf in 0..schema.num_columns() {
        let root = schema.get_column_root_idx(leaf);
        first[root + 1..].iter_mut().for_each(|next| *next = leaf + 1);
    }
    first
}

fn any_nan(values: &ArrayRef) -> bool {
    match values.data_type() {
        DataType::Float32 => values.as_primitive::<Float32Type>().values().iter().any(|value| value.is_nan()),
        DataType::Float64 => values.as_primitive::<Float64Type>().values().iter().any(|value| value.is_nan()),
        _ => false,
    }
}
