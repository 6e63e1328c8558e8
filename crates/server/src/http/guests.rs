//! Tables that come along with a statement, as files of a form: temporary ones of its session, until it has ended.
//!
//! ```text
//! t=<file>   t_format=CSV (TabSeparated)   t_structure=a UInt8, b String, or t_types=UInt8,String for columns _1, _2
//! ```
//! Invariant: they are made by statements as a client could send them, under the settings and the rights of its request.
//! Must not know: how the form was sent, what is answered.

use bytes::Bytes;
use engine::{Error, ErrorCode, ErrorKind, Request};
use futures::{StreamExt, stream};

use crate::door::sessions::Lease;
use crate::http::form::SentFile;
use crate::http::parameters::Parameters;

/// What a table is made of when nothing is said.
const FORMAT: &str = "TabSeparated";
/// Tables of one request.
const TABLES_MAX: usize = 100;

/// A table on its way.
#[derive(Debug)]
pub(crate) struct Guest {
    name: String,
    structure: String,
    format: String,
    bytes: Bytes,
}

/// The tables of a request; what its parameters say of them is taken out of these.
///
/// # Errors
/// A table whose columns nobody names, or too many of them.
pub(crate) fn announced(files: Vec<SentFile>, parameters: &mut Parameters) -> Result<Vec<Guest>, Error> {
    let bad = |message: String| Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message);
    if files.len() > TABLES_MAX {
        return Err(bad(format!("{} tables come along, the limit is {TABLES_MAX}", files.len())));
    }
    let mut guests: Vec<Guest> = Vec::with_capacity(files.len());
    for SentFile { name, bytes } in files {
        if guests.iter().any(|guest| guest.name == name) {
            return Err(bad(format!("two tables \"{}\" come along", name.escape_debug())));
        }
        let structure = parameters.take(&format!("{name}_structure"));
        let types = parameters.take(&format!("{name}_types"));
        let structure = match (structure, types) {
            (Some(structure), None) => structure,
            (None, Some(types)) => numbered(&types),
            (Some(_), Some(_)) => {
                let message = format!("table \"{}\" has both _structure and _types", name.escape_debug());
                return Err(bad(message).with_hint("give one of them"));
            }
            (None, None) => {
                let message = format!("table \"{}\" comes along without its columns", name.escape_debug());
                return Err(bad(message).with_hint("give NAME_structure, such as a UInt8, or NAME_types"));
            }
        };
        let format = parameters.take(&format!("{name}_format")).unwrap_or_else(|| FORMAT.to_owned());
        guests.push(Guest { name, structure, format, bytes });
    }
    Ok(guests)
}

/// `UInt8, Array(String)` as `_1 UInt8, _2 Array(String)`.
fn numbered(types: &str) -> String {
    let (mut depth, mut columns, mut start) = (0_usize, Vec::new(), 0);
    for (at, c) in types.char_indices().chain([(types.len(), ',')]) {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 || at == types.len() => {
                columns.push(format!("_{} {}", columns.len() + 1, types[start..at].trim()));
                start = at + 1;
            }
            _ => {}
        }
    }
    columns.join(", ")
}

/// The statements that make a table: its name, its creation, its rows.
pub(crate) struct Invitation {
    name: String,
    create: Request,
    insert: Request,
}

/// The statements that make tables, as the request's own would be run.
pub(crate) fn invitations(guests: Vec<Guest>, host: &Request) -> Vec<Invitation> {
    let request = |sql: String| Request {
        settings: host.settings.clone(),
        user: host.user.clone(),
        client: host.client.clone(),
        ..Request::new(sql)
    };
    let invitation = |guest: Guest| {
        let Guest { name, structure, format, bytes } = guest;
        let quoted = format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"));
        let create = request(format!("CREATE TEMPORARY TABLE {quoted} ({structure}) ENGINE = Memory"));
        let body = Some(stream::iter([Ok(bytes)]).boxed());
        let insert = Request { body, ..request(format!("INSERT INTO {quoted} FORMAT {format}")) };
        Invitation { name, create, insert }
    };
    guests.into_iter().map(invitation).collect()
}

/// Makes the tables in a session; they go with the lease.
///
/// # Errors
/// Whatever the session says of the statements.
pub(crate) async fn seated(lease: &mut Lease, invitations: Vec<Invitation>) -> Result<(), Error> {
    for Invitation { name, create, insert } in invitations {
        lease.session().execute(create).await?;
        lease.entertain(name);
        lease.session().execute(insert).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_names_are_numbered() {
        for (types, expected) in [
            ("UInt8", "_1 UInt8"),
            ("UInt8,String", "_1 UInt8, _2 String"),
            (
                "Map(String, UInt8), Tuple(a Int8, b Decimal(9, 2))",
                "_1 Map(String, UInt8), _2 Tuple(a Int8, b Decimal(9, 2))",
            ),
        ] {
            assert_eq!(numbered(types), expected, "{types}");
        }
    }

    #[test]
    fn a_table_without_columns_or_with_them_twice_is_an_error() {
        let file = |name: &str| SentFile { name: name.to_owned(), bytes: Bytes::new() };
        for (parameters, files) in [
            ("", vec![file("t")]),
            ("t_types=UInt8&t_structure=a+UInt8", vec![file("t")]),
            ("t_types=UInt8", vec![file("t"), file("t")]),
            ("t_types=UInt8&u_format=CSV", vec![file("t"), file("u")]),
        ] {
            let mut read = Parameters::parse(parameters).unwrap();
            assert_eq!(announced(files, &mut read).unwrap_err().code.number(), 36, "{parameters}");
        }
        let mut read = Parameters::parse("t_types=UInt8&t_format=CSV&max_threads=1").unwrap();
        assert_eq!(announced(vec![file("t")], &mut read).unwrap()[0].format, "CSV");
        assert_eq!(read.iter().collect::<Vec<_>>(), [("max_threads", "1")], "they are no settings");
    }
}
