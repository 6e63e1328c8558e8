use super::*;

fn inferred(kind: FormatKind, text: &str) -> String {
    match infer_details(kind, text.as_bytes(), true, &FormatSettings::default()) {
        Ok(found) => {
            let columns: Vec<String> = found.columns.iter().map(|(name, t)| format!("{name} {t}")).collect();
            format!(
                "{}{} rows {}",
                columns.join(", "),
                if found.has_header { " header" } else { "" },
                found.rows
            )
        }
        Err(error) => format!("{} {error}", error.code),
    }
}

#[test]
fn a_sample_may_end_inside_a_row() {
    let settings = FormatSettings::default();
    let columns = infer(FormatKind::Csv, b"1,a\n2,b\n3.5", false, &settings).unwrap();
    assert_eq!(columns[0].1.to_string(), "Nullable(Int64)");
    let columns = infer(FormatKind::JsonEachRow, b"{\"a\":1}\n{\"a\":\"x", false, &settings).unwrap();
    assert_eq!(columns[0].1.to_string(), "Nullable(Int64)");
}

#[test]
fn headers_are_detected_by_types() {
    assert_eq!(
        inferred(FormatKind::Csv, "a,b\n1,x\n"),
        "a Nullable(Int64), b Nullable(String) header rows 1"
    );
    // The row below the names decides, not what all rows have in common.
    assert_eq!(
        inferred(FormatKind::Csv, "a,b\n1,2024-01-01\nx,1.5\n"),
        "a Nullable(String), b Nullable(String) header rows 2"
    );
    assert_eq!(inferred(FormatKind::Csv, "a,b\nc,d\n"), "c1 Nullable(String), c2 Nullable(String) rows 2");
}

#[test]
fn failures_name_the_format() {
    assert_eq!(
        inferred(FormatKind::Csv, "1,2\n3\n"),
        "636 the table structure cannot be extracted from a CSV file: row has 1 columns, the first has 2 (at row 1)"
    );
    assert_eq!(
        inferred(FormatKind::Csv, ""),
        "636 the table structure cannot be extracted from a CSV file: the file is empty"
    );
}

#[test]
fn only_nulls_can_be_an_error() {
    let mut settings = FormatSettings::default();
    settings.guessing.incomplete_as_string = false;
    let error = infer(FormatKind::JsonEachRow, b"{\"a\":null}", true, &settings).unwrap_err();
    assert_eq!((error.code, error.column.as_deref()), (ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, Some("a")));
}
