//! Rows that look like Stack Overflow's posts: 22 columns, one file a month, more rows every month.
//!
//! Types and nullability are those of the public Parquet files. Invariant: a file is a function of (seed, number of
//! the file, rows of the whole set), so files can be written in any order and by any number of threads.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Int32Builder, Int64Builder, PrimitiveBuilder, RecordBatch, TimestampMillisecondBuilder,
};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use chrono::{Months, NaiveDate};

use super::dice::Dice;
use super::prose::Prose;
use super::texts::TextColumn;

/// The first month; file 7 of a set of 12 is August 2020.
const FIRST_YEAR: i32 = 2020;
/// Each month has this many thousandths of the first month's rows more than the month before.
const GROWTH_PER_MILLE: u64 = 30;
const DAY_MS: i64 = 86_400_000;
const QUESTION: i64 = 1;
const ANSWER: i64 = 2;

/// A whole data set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PostsPlan {
    pub(crate) rows: u64,
    pub(crate) files: u32,
    pub(crate) seed: u64,
}

/// One month of it.
#[derive(Clone, Debug)]
pub(crate) struct PostsFile {
    /// The last day of the month, as the public files are named: `2020-08-31.parquet`.
    pub(crate) name: String,
    pub(crate) rows: u64,
    first_id: u64,
    start_ms: i64,
    end_ms: i64,
    dice: Dice,
}

impl PostsPlan {
    pub(crate) fn file(&self, number: u32) -> PostsFile {
        let before = self.rows_before(number);
        let first = NaiveDate::from_ymd_opt(FIRST_YEAR, 1, 1).unwrap_or_default() + Months::new(number);
        let next = first + Months::new(1);
        PostsFile {
            name: format!("{}.parquet", next.pred_opt().unwrap_or(first).format("%Y-%m-%d")),
            rows: self.rows_before(number + 1) - before,
            first_id: 4 + before, // the oldest public post is number 4
            start_ms: milliseconds(first),
            end_ms: milliseconds(next),
            dice: Dice::new(self.seed, u64::from(number)),
        }
    }

    /// Rows of all files below `number`: proportional to the sum of growing weights, exact at the end.
    fn rows_before(&self, number: u32) -> u64 {
        let weight = |n: u64| u128::from(1000 * n + GROWTH_PER_MILLE * n * n.saturating_sub(1) / 2);
        let rows = u128::from(self.rows) * weight(u64::from(number)) / weight(u64::from(self.files.max(1)));
        u64::try_from(rows).unwrap_or(self.rows)
    }
}

fn milliseconds(date: NaiveDate) -> i64 {
    date.and_hms_opt(0, 0, 0).map_or(0, |time| time.and_utc().timestamp_millis())
}

pub(crate) fn schema() -> SchemaRef {
    let time = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let columns = [
        ("Id", DataType::Int32),
        ("PostTypeId", DataType::Int64),
        ("AcceptedAnswerId", DataType::Int64),
        ("CreationDate", time.clone()),
        ("Score", DataType::Int64),
        ("ViewCount", DataType::Int64),
        ("Body", DataType::Utf8),
        ("OwnerUserId", DataType::Int64),
        ("OwnerDisplayName", DataType::Utf8),
        ("LastEditorUserId", DataType::Int64),
        ("LastEditorDisplayName", DataType::Utf8),
        ("LastEditDate", time.clone()),
        ("LastActivityDate", time.clone()),
        ("Title", DataType::Utf8),
        ("Tags", DataType::Utf8),
        ("AnswerCount", DataType::Int64),
        ("CommentCount", DataType::Int64),
        ("FavoriteCount", DataType::Int64),
        ("ContentLicense", DataType::Utf8),
        ("ParentId", DataType::Utf8),
        ("CommunityOwnedDate", time.clone()),
        ("ClosedDate", time),
    ];
    Arc::new(Schema::new(columns.map(|(name, kind)| Field::new(name, kind, true)).to_vec()))
}

/// The rows of one file, batch by batch.
#[derive(Debug)]
pub(crate) struct PostRows<'a> {
    prose: &'a Prose,
    file: PostsFile,
    next_row: u64,
}

impl<'a> PostRows<'a> {
    pub(crate) fn new(prose: &'a Prose, file: PostsFile) -> PostRows<'a> {
        PostRows { prose, file, next_row: 0 }
    }

    /// At most `rows_max` rows; `None` after the last one.
    pub(crate) fn next_batch(&mut self, rows_max: u64) -> Option<Result<RecordBatch, ArrowError>> {
        let rows = rows_max.min(self.file.rows - self.next_row);
        if rows == 0 {
            return None;
        }
        let mut columns = Columns::default();
        for row in self.next_row..self.next_row + rows {
            let dice = &mut self.file.dice;
            let span = i128::from(self.file.end_ms - self.file.start_ms);
            let slot = i128::from(row) * span / i128::from(self.file.rows);
            let step = u32::try_from(span / i128::from(self.file.rows)).unwrap_or(u32::MAX).max(1);
            let created_ms =
                self.file.start_ms + i64::try_from(slot).unwrap_or_default() + i64::from(dice.below(step));
            columns.push_post(self.prose, dice, self.file.first_id + row, created_ms);
        }
        self.next_row += rows;
        Some(columns.finish())
    }
}

#[derive(Default)]
struct Columns {
    id: Int32Builder,
    post_type: Int64Builder,
    accepted_answer: Int64Builder,
    created: TimestampMillisecondBuilder,
    score: Int64Builder,
    views: Int64Builder,
    body: TextColumn,
    owner: Int64Builder,
    owner_name: TextColumn,
    editor: Int64Builder,
    editor_name: TextColumn,
    edited: TimestampMillisecondBuilder,
    active: TimestampMillisecondBuilder,
    title: TextColumn,
    tags: TextColumn,
    answers: Int64Builder,
    comments: Int64Builder,
    favorites: Int64Builder,
    license: TextColumn,
    parent: TextColumn,
    community_owned: TimestampMillisecondBuilder,
    closed: TimestampMillisecondBuilder,
}

impl Columns {
    fn push_post(&mut self, prose: &Prose, dice: &mut Dice, id: u64, created_ms: i64) {
        let post_type = match dice.below(1000) {
            0..=389 => QUESTION,
            390..=991 => ANSWER,
            rest => 3 + i64::from(rest % 6),
        };
        self.id.append_value(i32::try_from(id).unwrap_or(i32::MAX));
        self.post_type.append_value(post_type);
        self.created.append_value(created_ms);
        self.score.append_value(i64::from(dice.skewed(120)) - i64::from(dice.below(3)));
        self.comments.append_value(i64::from(dice.skewed(24)));
        self.license.push(|text| text.extend_from_slice(b"CC BY-SA 4.0"));
        let words = 12 + dice.skewed(830);
        self.body.push(|text| prose.body(dice, words, text));
        self.push_people(dice, id, created_ms);
        self.push_question(prose, dice, post_type == QUESTION, id, created_ms);
        let parent =
            (post_type == ANSWER).then(|| id.saturating_sub(1 + u64::from(dice.skewed(60_000))).max(4));
        self.parent.push(|text| {
            if let Some(parent) = parent {
                text.extend_from_slice(parent.to_string().as_bytes());
            }
        });
        let owned = dice.chance(4).then(|| created_ms + i64::from(dice.below(30)) * DAY_MS);
        self.community_owned.append_option(owned);
    }

    /// Owner and editor. A name stands only where the account is gone, as in the public dump.
    fn push_people(&mut self, dice: &mut Dice, id: u64, created_ms: i64) {
        let accounts = u32::try_from(20_000 + id / 3).unwrap_or(u32::MAX);
        let gone = dice.chance(60);
        self.owner.append_option((!gone).then(|| 1 + i64::from(dice.skewed(accounts))));
        self.owner_name.push(|text| {
            if gone {
                push_user(dice, text);
            }
        });
        let edited_ms =
            dice.chance(430).then(|| created_ms + i64::from(dice.skewed(600)) * DAY_MS / 4 + 61_000);
        let named = edited_ms.is_some() && dice.chance(15);
        let editor = (edited_ms.is_some() && !named).then(|| 1 + i64::from(dice.skewed(accounts)));
        self.editor.append_option(editor);
        self.editor_name.push(|text| {
            if named {
                push_user(dice, text);
            }
        });
        self.edited.append_option(edited_ms);
        let touched_ms =
            created_ms + i64::from(dice.skewed(900)) * DAY_MS / 6 + i64::from(dice.below(3_600_000));
        self.active.append_value(touched_ms.max(edited_ms.unwrap_or(touched_ms)));
    }

    /// What only a question has: title, tags, views, answers, an accepted one, a closing date.
    fn push_question(&mut self, prose: &Prose, dice: &mut Dice, question: bool, id: u64, created_ms: i64) {
        self.title.push(|text| {
            if question {
                let words = 5 + dice.below(8);
                prose.title(dice, words, text);
            }
        });
        self.tags.push(|text| {
            if question {
                for _ in 0..=dice.below(5) {
                    text.push(b'<');
                    text.extend_from_slice(prose.name(dice.skewed(4_000)).as_bytes());
                    text.push(b'>');
                }
            }
        });
        self.views.append_option(question.then(|| 10 + i64::from(dice.skewed(90_000))));
        let answers = question.then(|| i64::from(dice.skewed(14)));
        self.answers.append_option(answers);
        let accepted = answers.is_some_and(|count| count > 0) && dice.chance(600);
        self.accepted_answer.append_option(accepted.then(|| int64(id + 1 + u64::from(dice.skewed(60_000)))));
        self.favorites.append_option((question && dice.chance(250)).then(|| i64::from(dice.skewed(60))));
        let closed =
            (question && dice.chance(40)).then(|| created_ms + i64::from(dice.skewed(2_000)) * DAY_MS / 8);
        self.closed.append_option(closed);
    }

    fn finish(mut self) -> Result<RecordBatch, ArrowError> {
        let columns: Vec<ArrayRef> = vec![
            numbers(&mut self.id),
            numbers(&mut self.post_type),
            numbers(&mut self.accepted_answer),
            times(&mut self.created),
            numbers(&mut self.score),
            numbers(&mut self.views),
            self.body.finish()?,
            numbers(&mut self.owner),
            self.owner_name.finish()?,
            numbers(&mut self.editor),
            self.editor_name.finish()?,
            times(&mut self.edited),
            times(&mut self.active),
            self.title.finish()?,
            self.tags.finish()?,
            numbers(&mut self.answers),
            numbers(&mut self.comments),
            numbers(&mut self.favorites),
            self.license.finish()?,
            self.parent.finish()?,
            times(&mut self.community_owned),
            times(&mut self.closed),
        ];
        RecordBatch::try_new(schema(), columns)
    }
}

/// `user330315` or, now and then, `anon`. Low numbers come most often, so there is a top five.
fn push_user(dice: &mut Dice, text: &mut Vec<u8>) {
    if dice.chance(20) {
        text.extend_from_slice(b"anon");
    } else {
        let common = dice.skewed(60_000);
        let number = 149_341 + u64::from(dice.skewed(common + 1)) * 37;
        text.extend_from_slice(b"user");
        text.extend_from_slice(number.to_string().as_bytes());
    }
}

fn int64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn numbers<T: ArrowPrimitiveType>(builder: &mut PrimitiveBuilder<T>) -> ArrayRef {
    Arc::new(builder.finish())
}

fn times(builder: &mut TimestampMillisecondBuilder) -> ArrayRef {
    Arc::new(builder.finish().with_timezone("UTC"))
}

#[cfg(test)]
mod tests;
