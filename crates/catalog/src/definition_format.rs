//! A table's definition as one word of text, for places outside the log: the footer of a part.
//!
//! `version needed, in decimal | "." | tagged fields, in hexadecimal digits`, the fields being those of a record.
//! Invariant: what is written is read back equal; a definition for a newer program is told from a damaged one.

use std::fmt::Write;

use model::TableDef;

use crate::op_format::VERSION;
use crate::op_format::fields::{FieldReader, FieldWriter, FormatError};
use crate::op_format::table_fields::{needs, read_table, write_table};

const DEFINITION: &str = "table definition";

pub fn definition_text(def: &TableDef) -> String {
    let mut fields = FieldWriter::default();
    write_table(&mut fields, def);
    let mut text = format!("{}.", needs(def));
    for byte in fields.into_bytes() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// # Errors
/// It is damaged, or needs a newer program.
pub fn read_definition(text: &str) -> Result<TableDef, FormatError> {
    let malformed =
        || FormatError::Malformed { what: DEFINITION, number: 0, problem: "it is no such text".to_owned() };
    let (needed, digits) = text.split_once('.').ok_or_else(malformed)?;
    let needed: u64 = needed.parse().map_err(|_| malformed())?;
    if needed > VERSION {
        return Err(FormatError::NewerVersion { what: DEFINITION, known: VERSION, needed });
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    read_table(FieldReader::new(DEFINITION, &bytes.ok_or_else(malformed)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::table_def;

    #[test]
    fn a_definition_reads_back_and_a_newer_one_says_so() {
        let def = table_def(model::TableId::from_bytes([7; 16]), "t");
        let text = definition_text(&def);
        assert_eq!(read_definition(&text).unwrap(), def);
        let newer = format!("99.{}", text.split_once('.').unwrap().1);
        assert!(matches!(read_definition(&newer), Err(FormatError::NewerVersion { needed: 99, .. })));
        for damaged in ["", "1", "1.0", "1.zz", "x.00", "1.é0"] {
            assert!(read_definition(damaged).is_err(), "{damaged}");
        }
    }
}
