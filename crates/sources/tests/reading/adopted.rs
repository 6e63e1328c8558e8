//! Stored chunks of row groups, fetched and looked at.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use bytes::Bytes;
use model::Value;
use parquet::file::metadata::ParquetMetaDataReader;
use sources::{ChunkWanted, ObjectTable, RowGroupChunks, Verified, VerifiedChunk};
use stores::SourceError;

use crate::fixture::{Fixture, parquet};

/// A hundred rows in ten row groups.
fn numbers() -> Bytes {
    let names: Vec<String> = (0..100).map(|n| format!("name {n}")).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..100))),
        ("name", Arc::new(StringArray::from(names))),
    ];
    parquet(columns, 10)
}

fn wanted(leaf: usize) -> ChunkWanted {
    ChunkWanted { leaf, keeps_values: true, page_bytes_max: 8 << 20 }
}

fn chunk(verified: Verified) -> VerifiedChunk {
    let chunk = match verified {
        Verified::Chunk(chunk) => Ok(*chunk),
        Verified::Unfit(why) => Err(format!("{why:?}")),
    };
    chunk.unwrap()
}

/// The chunks of a row group, once they are there.
fn fetched(
    fixture: &Fixture,
    table: &ObjectTable,
    file: usize,
    (row_group, leaves): (usize, Vec<usize>),
) -> Result<Option<RowGroupChunks>, SourceError> {
    fixture.run(async {
        let footer = table.footer(file).await?.unwrap();
        match table.row_group_chunks((file, footer), row_group, leaves)? {
            Some(arriving) => arriving.arrive().await.map(Some),
            None => Ok(None),
        }
    })
}

#[test]
fn chunks_are_held_within_the_memory_of_the_statement() {
    let fixture = Fixture::new();
    fixture.server.put("b", "n.parquet", numbers());
    let table = fixture.s3("b/n.parquet", &[]).unwrap();
    let chunks = fetched(&fixture, &table, 0, (3, vec![0, 1])).unwrap().unwrap();
    assert!(chunks.memory_bytes() > 0 && fixture.env.memory.used() >= chunks.memory_bytes());
    let found = chunk(chunks.verify(wanted(0)).unwrap());
    assert_eq!((found.rows, found.nulls), (10, 0));
    assert_eq!((found.least, found.greatest), (Some(Value::Int(30)), Some(Value::Int(39))));
    let found = chunk(chunks.verify(wanted(1)).unwrap());
    assert_eq!(found.least, Some(Value::Text("name 30".into())));
    let stored = chunks.bytes(1).unwrap();
    assert!(found.pages.iter().all(|page| page.content.end <= stored.len()));
    assert!(chunks.bytes(2).is_none() && chunks.verify(wanted(2)).is_err(), "it was not fetched");
    drop(chunks);
    assert_eq!(fixture.env.memory.used(), 0);
}

#[test]
fn without_memory_there_are_no_chunks() {
    let fixture = Fixture::new();
    fixture.server.put("b", "n.parquet", numbers());
    let table = fixture.s3("b/n.parquet", &[]).unwrap();
    let memory = &fixture.env.memory;
    let _all = memory.try_grant("the rest", memory.available()).unwrap();
    assert!(fetched(&fixture, &table, 0, (0, vec![0])).unwrap().is_none());
}

#[test]
fn what_is_not_there_is_an_error() {
    let fixture = Fixture::new();
    fixture.server.put("b", "n.parquet", numbers());
    fixture.server.put("b", "n.csv", Bytes::from_static(b"a\n1\n"));
    let table = fixture.s3("b/n.parquet", &[]).unwrap();
    assert!(fetched(&fixture, &table, 0, (10, vec![0])).is_err());
    assert!(fetched(&fixture, &table, 0, (0, vec![2])).is_err());
    assert!(fetched(&fixture, &table, 1, (0, vec![0])).is_err());
    let text = fixture.s3("b/n.csv", &[]).unwrap();
    assert!(fixture.run(text.footer(0)).unwrap().is_none());
}

#[test]
fn damage_names_the_file() {
    let fixture = Fixture::new();
    let file = numbers();
    let footer = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
    let (begin, length) = footer.row_group(4).column(0).byte_range();
    let mut bytes = file.to_vec();
    // The content of the first page, behind its header: an index that the dictionary does not have, or no page at all.
    for at in begin + 12..begin + length {
        bytes[usize::try_from(at).unwrap()] = 0xff;
    }
    fixture.server.put("b", "bad.parquet", Bytes::from(bytes));
    let table = fixture.s3("b/bad.parquet", &[]).unwrap();
    let chunks = fetched(&fixture, &table, 0, (4, vec![0])).unwrap().unwrap();
    match chunks.verify(wanted(0)) {
        Err(error) => {
            assert_eq!(error.file(), Some("b/bad.parquet"));
            assert!(error.to_string().contains("column \"n\", row group 4"), "{error}");
        }
        Ok(found) => assert!(matches!(found, Verified::Unfit(_)), "{found:?}"),
    }
}

#[test]
fn a_column_is_one_leaf_of_the_file_or_none() {
    let fixture = Fixture::new();
    fixture.server.put("b", "n.parquet", numbers());
    let table = fixture.s3("b/n.parquet", &[]).unwrap();
    let footer = fixture.run(table.footer(0)).unwrap().unwrap();
    assert_eq!(table.stored_leaf(&footer, "name"), Some(1));
    assert_eq!(table.stored_leaf(&footer, "NAME"), None);
    assert_eq!(table.stored_leaf(&footer, "_path"), None);
}
