//! A part's descriptor and the values inside it as fields.
//!
//! Invariant: what is written is read back equal. Must not know: where in a record or checkpoint it stands.

use std::sync::Arc;

use model::{
    BlockRange, ColumnBounds, ColumnId, FileTail, LoadId, PartDescriptor, PartId, PartLocation,
    PartitionValue, SortOrder, TableId, Value,
};

use super::VERSION;
use super::fields::{Field, FieldReader, FieldWriter, FormatError, put_varint};

const PART: &str = "part";
const TAIL: u64 = 22;
/// The number of the newest field. Readers that do not know it lose nothing that decides.
const ADOPTED: u64 = 23;

/// Kind byte, then the value to the end: the field around it knows the length.
fn value_bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        Value::Null => out.push(0),
        Value::Bool(flag) => out.push(1 + u8::from(*flag)),
        Value::Int(number) => {
            out.push(3);
            put_varint(&mut out, zigzag(*number));
        }
        Value::UInt(number) => {
            out.push(4);
            put_varint(&mut out, *number);
        }
        Value::Float(number) => {
            out.push(5);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Value::Decimal(number) => {
            out.push(6);
            out.extend_from_slice(&number.to_le_bytes());
        }
        Value::Text(text) => {
            out.push(7);
            out.extend_from_slice(text.as_bytes());
        }
        Value::Bytes(bytes) => {
            out.push(8);
            out.extend_from_slice(bytes);
        }
    }
    out
}

fn read_value(field: &Field<'_>) -> Result<Value, FormatError> {
    let (kind, rest) = field.bytes()?.split_first().ok_or_else(|| field.malformed("the value is empty"))?;
    let short = || field.malformed("the value has another length than its kind");
    Ok(match kind {
        0 => Value::Null,
        1 => Value::Bool(false),
        2 => Value::Bool(true),
        3 => Value::Int(unzigzag(FieldReader::new("value", rest).varint()?)),
        4 => Value::UInt(FieldReader::new("value", rest).varint()?),
        5 => Value::Float(f64::from_le_bytes(rest.try_into().map_err(|_| short())?)),
        6 => Value::Decimal(i128::from_le_bytes(rest.try_into().map_err(|_| short())?)),
        7 => Value::Text(
            std::str::from_utf8(rest).map_err(|_| field.malformed("the text is not UTF-8"))?.into(),
        ),
        8 => Value::Bytes(rest.into()),
        _ => return Err(field.malformed(format!("value kind {kind} is unknown"))),
    })
}

/// Small magnitudes to small numbers: 0, -1, 1, -2 become 0, 1, 2, 3.
fn zigzag(number: i64) -> u64 {
    (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

pub fn write_part(fields: &mut FieldWriter, part: &PartDescriptor) {
    fields.id(1, part.id.as_bytes());
    fields.id(2, part.table.as_bytes());
    fields.uint(3, part.schema_version.into());
    if part.partition != PartitionValue::all() || !part.partition.values().is_empty() {
        fields.nested(4, |inner| {
            part.partition.values().iter().for_each(|value| inner.bytes(1, &value_bytes(value)));
            inner.text(2, part.partition.name());
        });
    }
    fields.uint(5, part.bucket.into());
    fields.uint(6, part.location.store.into());
    fields.text(7, &part.location.key);
    part.location.owner_nodes.iter().for_each(|node| fields.uint_some(8, (*node).into()));
    fields.fixed64(9, part.checksum);
    fields.uint(10, part.blocks.min);
    fields.uint(11, part.blocks.max);
    fields.uint(12, part.level.into());
    fields.uint(13, part.data_version);
    if let SortOrder::Key { version } = part.sort_order {
        fields.uint_some(14, version.into());
    }
    part.bounds.iter().for_each(|bounds| fields.nested(15, |inner| write_bounds(inner, bounds)));
    fields.uint(16, part.rows);
    fields.uint(17, part.bytes);
    fields.uint(18, part.bytes_uncompressed);
    fields.uint(19, part.format.into());
    if let Some(load) = part.load {
        fields.id(20, load.as_bytes());
    }
    fields.uint(21, part.created_ms);
    if let Some(tail) = part.tail {
        fields.nested(TAIL, |inner| {
            inner.uint(1, tail.begin);
            inner.fixed64(2, tail.checksum);
        });
    }
    part.adopted.iter().for_each(|column| fields.uint_some(ADOPTED, column.0.into()));
}

/// The oldest format version whose readers know all of the part.
pub fn needs(part: &PartDescriptor) -> u64 {
    if part.tail.is_some() { 5 } else { 1 }
}

/// As [`needs`], of a part that was written, without reading all of it.
pub fn needs_of_bytes(mut fields: FieldReader<'_>) -> u64 {
    while let Ok(Some(field)) = fields.next_field() {
        if field.number == TAIL {
            return 5;
        }
    }
    1
}

fn read_tail(mut fields: FieldReader<'_>) -> Result<FileTail, FormatError> {
    let mut tail = FileTail { begin: 0, checksum: 0 };
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => tail.begin = field.uint()?,
            2 => tail.checksum = field.uint()?,
            _ => field.skip(VERSION)?,
        }
    }
    Ok(tail)
}

fn write_bounds(fields: &mut FieldWriter, bounds: &ColumnBounds) {
    fields.uint(1, bounds.column.0.into());
    if let Some(min) = &bounds.min {
        fields.bytes(2, &value_bytes(min));
    }
    if let Some(max) = &bounds.max {
        fields.bytes(3, &value_bytes(max));
    }
    if let Some(nulls) = bounds.nulls {
        fields.uint_some(4, nulls);
    }
}

fn read_bounds(mut fields: FieldReader<'_>) -> Result<ColumnBounds, FormatError> {
    let mut bounds = ColumnBounds { column: ColumnId(0), min: None, max: None, nulls: None };
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => bounds.column = ColumnId(field.narrow()?),
            2 => bounds.min = Some(read_value(&field)?),
            3 => bounds.max = Some(read_value(&field)?),
            4 => bounds.nulls = Some(field.uint()?),
            _ => field.skip(VERSION)?,
        }
    }
    Ok(bounds)
}

fn read_partition(mut fields: FieldReader<'_>) -> Result<PartitionValue, FormatError> {
    let (mut values, mut name) = (Vec::new(), "");
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => values.push(read_value(&field)?),
            2 => name = field.text()?,
            _ => field.skip(VERSION)?,
        }
    }
    Ok(PartitionValue::from_stored(values, name.into()))
}

pub fn read_part(mut fields: FieldReader<'_>) -> Result<PartDescriptor, FormatError> {
    let (mut id, mut table) = (None, None);
    let mut part = blank();
    while let Some(field) = fields.next_field()? {
        match field.number {
            1 => id = Some(PartId::from_bytes(field.id()?)),
            2 => table = Some(TableId::from_bytes(field.id()?)),
            3 => part.schema_version = field.narrow()?,
            4 => part.partition = read_partition(field.nested("partition")?)?,
            5 => part.bucket = field.narrow()?,
            6 => part.location.store = field.narrow()?,
            7 => part.location.key = field.text()?.into(),
            8 => part.location.owner_nodes.push(field.narrow()?),
            9 => part.checksum = field.uint()?,
            10 => part.blocks.min = field.uint()?,
            11 => part.blocks.max = field.uint()?,
            12 => part.level = field.narrow()?,
            13 => part.data_version = field.uint()?,
            14 => part.sort_order = SortOrder::Key { version: field.narrow()? },
            15 => part.bounds.push(read_bounds(field.nested("column bounds")?)?),
            16 => part.rows = field.uint()?,
            17 => part.bytes = field.uint()?,
            18 => part.bytes_uncompressed = field.uint()?,
            19 => part.format = field.narrow()?,
            20 => part.load = Some(LoadId::from_bytes(field.id()?)),
            21 => part.created_ms = field.uint()?,
            TAIL => part.tail = Some(read_tail(field.nested("tail of a part")?)?),
            ADOPTED => part.adopted.push(ColumnId(field.narrow()?)),
            _ => field.skip(VERSION)?,
        }
    }
    part.id = id.ok_or(FormatError::Missing { what: PART, number: 1 })?;
    part.table = table.ok_or(FormatError::Missing { what: PART, number: 2 })?;
    Ok(part)
}

/// What a part is when none of its optional fields is written.
fn blank() -> PartDescriptor {
    PartDescriptor {
        id: PartId::from_bytes([0; 16]),
        table: TableId::from_bytes([0; 16]),
        schema_version: 0,
        partition: PartitionValue::all(),
        bucket: 0,
        location: PartLocation { store: 0, key: Arc::from(""), owner_nodes: Vec::new() },
        checksum: 0,
        tail: None,
        blocks: BlockRange::default(),
        level: 0,
        data_version: 0,
        sort_order: SortOrder::None,
        adopted: Vec::new(),
        bounds: Vec::new(),
        rows: 0,
        bytes: 0,
        bytes_uncompressed: 0,
        format: 0,
        load: None,
        created_ms: 0,
    }
}
