use arrow::array::{Array, AsArray};
use arrow::datatypes::{Int32Type, Int64Type, TimestampMillisecondType};

use super::*;

fn rows_of(plan: &PostsPlan, number: u32) -> Vec<RecordBatch> {
    let prose = Prose::new();
    let mut rows = PostRows::new(&prose, plan.file(number));
    std::iter::from_fn(|| rows.next_batch(300)).collect::<Result<_, _>>().unwrap()
}

#[test]
fn files_share_out_all_rows_and_grow() {
    let plan = PostsPlan { rows: 1_000_003, files: 12, seed: 1 };
    let files: Vec<_> = (0..12).map(|number| plan.file(number)).collect();
    assert_eq!(files.iter().map(|file| file.rows).sum::<u64>(), plan.rows);
    assert!(files.windows(2).all(|pair| pair[0].rows < pair[1].rows && pair[0].end_ms == pair[1].start_ms));
    assert_eq!(files[0].name, "2020-01-31.parquet");
    assert_eq!(files[7].name, "2020-08-31.parquet");
    assert_eq!(PostsPlan { rows: 5, files: 1, seed: 1 }.file(0).rows, 5);
}

#[test]
fn same_seed_same_rows_and_another_seed_others() {
    let plan = PostsPlan { rows: 4_000, files: 4, seed: 42 };
    assert_eq!(rows_of(&plan, 2), rows_of(&plan, 2));
    assert_ne!(rows_of(&plan, 2), rows_of(&PostsPlan { seed: 43, ..plan }, 2));
}

#[test]
fn rows_are_shaped_like_posts() {
    let plan = PostsPlan { rows: 6_000, files: 2, seed: 5 };
    let (batches, file) = (rows_of(&plan, 1), plan.file(1));
    let batch = arrow::compute::concat_batches(&schema(), &batches).unwrap();
    assert_eq!((batch.num_rows() as u64, batch.num_columns()), (file.rows, 22));

    let ids = batch["Id"].as_primitive::<Int32Type>();
    assert!(ids.values().windows(2).all(|pair| pair[0] + 1 == pair[1]));
    let created = batch["CreationDate"].as_primitive::<TimestampMillisecondType>();
    assert!(
        created.values().is_sorted()
            && created.values().iter().all(|t| (file.start_ms..file.end_ms).contains(t))
    );

    let kinds = batch["PostTypeId"].as_primitive::<Int64Type>();
    let questions = kinds.values().iter().filter(|kind| **kind == QUESTION).count();
    let answers = kinds.values().iter().filter(|kind| **kind == ANSWER).count();
    assert!(
        questions * 10 > batch.num_rows() * 3 && answers > questions,
        "{questions} questions, {answers} answers"
    );
    let titles = batch["Title"].as_string::<i32>();
    for row in 0..batch.num_rows() {
        assert_eq!(titles.value(row).is_empty(), kinds.value(row) != QUESTION, "row {row}");
        assert_eq!(batch["ViewCount"].is_null(row), kinds.value(row) != QUESTION, "row {row}");
    }
    let bodies = batch["Body"].as_string::<i32>().value_data().len() / batch.num_rows();
    assert!((800..1_300).contains(&bodies), "{bodies} bytes a body");
}
