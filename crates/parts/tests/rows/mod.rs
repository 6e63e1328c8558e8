//! Rows like those of a real posts table, deterministic by row number; keys as engine would compile them.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringViewBuilder,
    TimestampMillisecondArray, UInt8Array,
};
use host::Host;
use model::table_def::column_id_of;
use model::{
    BlockRange, ColumnDef, ColumnId, ColumnType, DatabaseId, Monotonicity, PartitionValue, RowExpr,
    RowExprError, SortOrder, TableDef, TableEngine, TableId, TableKeys, mix64,
};
use parts::{PartSpec, WritePurpose};

pub(crate) const COLUMNS: [(&str, &str); 9] = [
    ("Id", "Int64"),
    ("PostTypeId", "UInt8"),
    ("CreationDate", "DateTime64(3, 'UTC')"),
    ("Score", "Int32"),
    ("ViewCount", "Nullable(Int32)"),
    ("Body", "String"),
    ("Author", "String"),
    ("Tags", "LowCardinality(String)"),
    ("Rating", "Float64"),
];

pub(crate) fn column(id: u32, name: &str, column_type: &str) -> ColumnDef {
    ColumnDef::plain(id, name, model::type_name::parse(column_type).unwrap())
}

pub(crate) fn table() -> Arc<TableDef> {
    let columns = COLUMNS.iter().zip(1..).map(|((name, kind), id)| column(id, name, kind)).collect();
    Arc::new(TableDef {
        database: DatabaseId::from_bytes([1; 16]),
        order_by: vec!["`#2`".into(), "`#3`".into()],
        primary_key_len: 2,
        ..TableDef::plain(TableId::from_bytes([7; 16]), "posts", TableEngine::MergeTree, columns)
    })
}

/// A plain column as an expression.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) column_type: ColumnType,
    pub(crate) id: [ColumnId; 1],
    pub(crate) text: String,
}

impl Column {
    pub(crate) fn of(table: &TableDef, id: u32) -> Arc<dyn RowExpr> {
        let def = table.column_by_id(ColumnId(id)).unwrap();
        Arc::new(Column { column_type: def.column_type.clone(), id: [def.id], text: def.name.to_string() })
    }
}

impl RowExpr for Column {
    fn evaluate(&self, rows: &RecordBatch) -> Result<ArrayRef, RowExprError> {
        let found = rows.schema_ref().fields().iter().position(|f| column_id_of(f) == Some(self.id[0]));
        Ok(rows.column(found.unwrap()).clone())
    }
    fn column_type(&self) -> &ColumnType {
        &self.column_type
    }
    fn columns(&self) -> &[ColumnId] {
        &self.id
    }
    fn as_column(&self) -> Option<ColumnId> {
        Some(self.id[0])
    }
    fn monotonicity(&self) -> Option<Monotonicity> {
        Some(Monotonicity::Increasing)
    }
    fn text(&self) -> &str {
        &self.text
    }
}

pub(crate) fn keys(table: &TableDef) -> Arc<TableKeys> {
    Arc::new(TableKeys { sort: vec![Column::of(table, 2), Column::of(table, 3)], ..TableKeys::default() })
}

pub(crate) fn spec(table: &Arc<TableDef>, purpose: WritePurpose) -> PartSpec {
    PartSpec {
        table: table.clone(),
        keys: keys(table),
        partition: PartitionValue::all(),
        sort: SortOrder::Key { version: 1 },
        level: 0,
        purpose,
        load: None,
        blocks: BlockRange::default(),
        encodings: None,
        origin: Vec::new(),
    }
}

pub(crate) fn host() -> Host {
    Host::system(1 << 30).unwrap()
}

/// A generator whose numbers depend on nothing else.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        mix64::next(&mut self.0)
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// Small numbers often, large ones seldom: about 1/k.
    pub(crate) fn zipf(&mut self, n: u64) -> u64 {
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (((n as f64).powf(unit) - 1.0) as u64).min(n - 1)
    }
}

fn word(rank: u64, out: &mut String) {
    const SYLLABLES: [&str; 24] = [
        "the", "in", "er", "an", "re", "on", "at", "en", "con", "ti", "es", "or", "te", "ed", "is", "it",
        "al", "ar", "st", "to", "nt", "ng", "se", "ha",
    ];
    let mut rest = rank;
    loop {
        out.push_str(SYLLABLES[(rest % 24) as usize]);
        rest /= 24;
        if rest == 0 {
            return;
        }
    }
}

/// `rows` rows from row number `first`, bodies of about 600 bytes; sorted by the key of [`table`] if `sorted`.
pub(crate) fn rows(table: &TableDef, first: u64, count: usize, sorted: bool) -> RecordBatch {
    let mut dice = Dice(first * 31 + 5);
    let (mut body, mut author, mut tags) =
        (StringViewBuilder::new(), StringViewBuilder::new(), StringViewBuilder::new());
    let mut text = String::new();
    for _ in 0..count {
        text.clear();
        for _ in 0..40 + dice.below(120) {
            word(dice.zipf(60_000), &mut text);
            text.push(' ');
        }
        body.append_value(&text);
        author.append_value(format!("user{}", dice.zipf(200_000)));
        tags.append_value(
            ["<rust>", "<sql>", "<python><pandas>", "<javascript><html>"][dice.zipf(4) as usize],
        );
    }
    let mut types: Vec<u8> = (0..count).map(|_| 1 + dice.zipf(8) as u8).collect();
    let mut dates: Vec<i64> =
        (0..count).map(|i| 1_600_000_000_000 + (first as i64 + i as i64) * 900).collect();
    dates.iter_mut().for_each(|date| *date += dice.below(60_000) as i64);
    if sorted {
        let mut pairs: Vec<(u8, i64)> = types.iter().copied().zip(dates.iter().copied()).collect();
        pairs.sort_unstable();
        (types, dates) = pairs.into_iter().unzip();
    }
    let ids = (0..count as i64).map(|i| first as i64 + i);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(ids)),
        Arc::new(UInt8Array::from(types)),
        Arc::new(TimestampMillisecondArray::from(dates).with_timezone("UTC")),
        Arc::new(Int32Array::from_iter_values((0..count).map(|_| dice.zipf(500) as i32))),
        Arc::new(Int32Array::from_iter(
            (0..count).map(|_| (dice.below(3) > 0).then(|| dice.zipf(90_000) as i32)),
        )),
        Arc::new(body.finish()),
        Arc::new(author.finish()),
        Arc::new(tags.finish()),
        Arc::new(Float64Array::from_iter_values((0..count).map(|_| dice.below(1 << 40) as f64 / 1e6))),
    ];
    RecordBatch::try_new(table.arrow_schema(), columns).unwrap()
}
