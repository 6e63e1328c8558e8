//! Texts that are written page by page come back, whatever they are, and as any reader of Parquet finds them.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringViewArray};
use arrow::compute::concat_batches;
use bytes::Bytes;
use model::{TableDef, TableKeys};
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::file::metadata::PageIndexPolicy;
use parts::encoding::{LeafEncoding, PageCodec, ValueEncoding};
use parts::{ColumnEncodings, PartSpec, PartStore, PartWriter, WritePurpose, verify};
use proptest::prelude::*;

use crate::rows::{column, host, rows as make_rows, spec, table};

/// A number, a text and a text that may be missing.
fn texts_table() -> Arc<TableDef> {
    let mut def = table().as_ref().clone();
    def.columns =
        vec![column(1, "Id", "Int64"), column(2, "A", "String"), column(3, "B", "Nullable(String)")];
    Arc::new(def)
}

fn batch(def: &TableDef, texts: &[Option<String>]) -> RecordBatch {
    let ids = Int64Array::from_iter_values(0..i64::try_from(texts.len()).unwrap());
    let given = StringViewArray::from_iter_values(texts.iter().map(|text| text.as_deref().unwrap_or("")));
    let nullable = StringViewArray::from_iter(texts.iter().map(Option::as_deref));
    let columns: Vec<ArrayRef> = vec![Arc::new(ids), Arc::new(given), Arc::new(nullable)];
    RecordBatch::try_new(def.arrow_schema(), columns).unwrap()
}

/// Writes the rows in row groups of `group_rows` and reads them as a whole and from `skipped` on, by the page index.
fn check(texts: &[Option<String>], group_rows: usize, codec: PageCodec, skipped: usize) {
    let (dir, def) = (tempfile::tempdir().unwrap(), texts_table());
    let store = PartStore::local(host(), dir.path().to_owned());
    let rows = batch(&def, texts);
    let leaf = LeafEncoding { values: ValueEncoding::Plain, codec };
    let spec = PartSpec {
        table: Arc::clone(&def),
        keys: Arc::new(TableKeys::default()),
        encodings: Some(Arc::new(ColumnEncodings::uniform(leaf, 3))),
        ..spec(&table(), WritePurpose::Insert)
    };
    let mut writer = PartWriter::new(&store, spec).unwrap();
    for start in (0..rows.num_rows()).step_by(group_rows) {
        writer.write(&rows.slice(start, group_rows.min(rows.num_rows() - start))).unwrap();
        writer.end_row_group().unwrap();
    }
    let part = writer.finish().unwrap().into_descriptor();
    verify(&store, &part, &[]).unwrap();
    let file = Bytes::from(std::fs::read(store.path(&part)).unwrap());
    for skipped in [0, skipped.min(texts.len() - 1)] {
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file.clone(), options).unwrap();
        let wanted = rows.num_rows() - skipped;
        let selection = RowSelection::from(vec![RowSelector::skip(skipped), RowSelector::select(wanted)]);
        let batches: Vec<RecordBatch> =
            reader.with_row_selection(selection).build().unwrap().map(Result::unwrap).collect();
        let read = concat_batches(&batches[0].schema(), &batches).unwrap();
        assert_eq!(read.columns(), rows.slice(skipped, wanted).columns());
    }
}

const CODECS: [PageCodec; 3] = [PageCodec::QuickZstd, PageCodec::Zstd(1), PageCodec::Zstd(2)];

#[test]
fn pages_end_by_rows_and_by_bytes() {
    let short: Vec<Option<String>> = (0..20_001).map(|row| (row % 3 > 0).then(|| row.to_string())).collect();
    let without_null: Vec<Option<String>> = (0..16_384).map(|row| Some(row.to_string())).collect();
    let only_null = vec![None; 8193];
    let long: Vec<Option<String>> =
        [1, 600_000, 0, 524_288, 9_000_000, 3].map(|bytes| Some("words and ".repeat(bytes / 10))).into();
    for codec in CODECS {
        check(&short, 100_000, codec, 8191);
        check(&without_null, 8192, codec, 8192);
        check(&only_null, 100_000, codec, 8192);
        check(&long, 4, codec, 3);
        check(&[Some(String::new())], 1, codec, 0);
    }
}

#[test]
fn bodies_of_posts_come_back() {
    let posts = make_rows(&table(), 0, 20_000, false);
    let bodies: Vec<Option<String>> =
        posts.column(5).as_string_view().iter().map(|body| body.map(str::to_owned)).collect();
    for codec in CODECS {
        check(&bodies, 12_000, codec, 12_345);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_texts_come_back(
        texts in prop::collection::vec(prop::option::weighted(0.8, "\\PC{0,40}"), 1..300),
        times in 1_usize..60,
        group_rows in 1_usize..5000,
        codec in prop::sample::select(&CODECS[..]),
        skipped in 0_usize..9000,
    ) {
        let texts: Vec<Option<String>> = texts.iter().cycle().take(texts.len() * times).cloned().collect();
        check(&texts, group_rows.max(texts.len() / 20), codec, skipped);
    }
}
