"""clickhouse-connect: its own way through every check."""
import io
import threading

import clickhouse_connect
import pyarrow
from clickhouse_connect.driver.exceptions import DatabaseError

from checks import (DATABASE, DDL, ENDLESS, FAILS_LATE, HOST, PASSWORD, PORT, TYPES, USER, check, equal, failed, passed, raises,
                    within)
from rows import FORMATS, ROWS, day, moment


def connect(**more):
    return clickhouse_connect.get_client(host=HOST, port=PORT, username=USER, password=PASSWORD, database=DATABASE, **more)


def connection():
    equal("connect", connect().ping(), True)
    client = connect()
    equal("server version", client.server_version.count("."), 3)
    equal("the revision with block info is in use", client.protocol_version, 54405)
    equal("a value by command()", client.command("SELECT 1 + 1"), 2)
    equal("the database of the connection", client.command("SELECT currentDatabase()"), DATABASE)


def ddl():
    client = connect()
    client.command(f"CREATE TABLE every_type ({DDL}) ENGINE = MergeTree ORDER BY u8")
    equal("EXISTS answers 1", client.command("EXISTS TABLE every_type"), 1)
    described = client.query("DESCRIBE TABLE every_type")
    equal("DESCRIBE has ClickHouse's columns", described.column_names,
          ("name", "type", "default_type", "default_expression", "comment", "codec_expression", "ttl_expression"))
    for (name, declared, *_), row in zip(TYPES, described.result_rows):
        # ClickHouse spreads the elements of a named tuple over lines.
        equal(f"DESCRIBE of {declared}", (row[0], "".join(row[1].split())), (name, declared.replace(" ", "")))


def every_type():
    client = connect()
    summary = client.insert("every_type", ROWS)
    equal("rows written in the summary", summary.written_rows, 2)
    answer = client.query("SELECT * FROM every_type ORDER BY u8", column_formats=FORMATS)
    equal("rows read", len(answer.result_rows), 2)
    for row, expected in zip(answer.result_rows, ROWS):
        for (name, declared, *_), got, value in zip(TYPES, row, expected):
            equal(f"{declared} as selected", moment(got), value)


def errors():
    client = connect()
    raises("unknown table", lambda: client.query("SELECT * FROM no_such_table"), "Code: 60", "UNKNOWN_TABLE")
    raises("syntax error", lambda: client.query("SELEKT 1"), "Code: 62", "SYNTAX_ERROR")
    raises("unknown column", lambda: client.query("SELECT no_such_column FROM every_type"), "Code: 47", "UNKNOWN_IDENTIFIER")
    raises("unknown database", lambda: connect_to("no_such_database").query("SHOW TABLES"), "Code: 81", "UNKNOWN_DATABASE")
    raises("an unknown setting", lambda: client.command("SELECT 1 SETTINGS no_such_setting = 1"), "Code: 115", "UNKNOWN_SETTING")
    raises("an INSERT of unknown columns", lambda: client.insert("every_type", [[1]], ["no_such_column"]), "no_such_column")
    equal("the client lives after errors", client.command("SELECT 1"), 1)


def connect_to(database):
    return clickhouse_connect.get_client(host=HOST, port=PORT, username=USER, password=PASSWORD, database=database)


def wrong_password():
    texts = []
    for user in (USER, "nobody"):
        try:
            clickhouse_connect.get_client(host=HOST, port=PORT, username=user, password="wrong")
            failed("a wrong password is refused", user)
            return
        except DatabaseError as error:
            texts.append(str(error).replace(user, "USER"))
    equal("516 for a wrong password", "Code: 516" in texts[0] and "AUTHENTICATION_FAILED" in texts[0], True)
    equal("an unknown user gets the same answer", texts[1], texts[0])


def late_error():
    client = connect()

    def read():
        with client.query_rows_stream(FAILS_LATE) as rows:
            return sum(1 for _ in rows)

    raises("an error in the middle of a stream", read, "153", "ILLEGAL_DIVISION")
    raises("the same with wait_end_of_query", lambda: client.query(FAILS_LATE), "Code: 153", "ILLEGAL_DIVISION")
    equal("the client lives after a late error", client.command("SELECT 1"), 1)


def cancel():
    watcher = connect()

    def running(query_id):
        return watcher.query("SELECT count() FROM system.processes WHERE query_id = {id:String}", {"id": query_id}).first_row[0]

    client = connect()
    stream = client.raw_stream("SELECT number, toString(number) FROM numbers(1000000000000)", fmt="TSV",
                               settings={"query_id": "connect-stream"})
    equal("a stream begins", stream.read(4), b"0\t0\n")
    equal("the statement is in system.processes", running("connect-stream"), 1)
    stream.close()
    client.close()
    within("closing the stream cancels the statement", 2, lambda: running("connect-stream") == 0)
    killed = []

    def wait():
        try:
            connect().query(ENDLESS, settings={"query_id": "connect-endless"})
        except DatabaseError as error:
            killed.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    within("a long statement is in system.processes", 10, lambda: running("connect-endless") == 1)
    watcher.command("KILL QUERY WHERE query_id = 'connect-endless' SYNC")
    thread.join(5)
    equal("KILL QUERY ends it", running("connect-endless"), 0)
    equal("its client hears 394", ["Code: 394" in text and "QUERY_WAS_CANCELLED" in text for text in killed], [True])


def compression():
    rows = [[number, f"row {number}"] for number in range(20000)]
    for method in ("lz4", "zstd", "gzip", False):
        client = connect(compress=method)
        client.command("DROP TABLE IF EXISTS compressed")
        client.command("CREATE TABLE compressed (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
        client.insert("compressed", rows, ["n", "s"])
        answer = client.query("SELECT n, s FROM compressed ORDER BY n")
        equal(f"compression {method or 'none'} both ways", [list(row) for row in answer.result_rows], rows)


def sessions():
    client = connect(session_id="connect-session")
    client.command("CREATE TEMPORARY TABLE of_session (n UInt8) ENGINE = Memory")
    client.insert("of_session", [[1], [2]])
    equal("a temporary table lives in its session", client.command("SELECT sum(n) FROM of_session"), 3)
    raises("nobody else sees it", lambda: connect().query("SELECT * FROM of_session"), "Code: 60")
    client.command("SET max_threads = 1")
    equal("SET lives in its session", str(client.command("SELECT getSetting('max_threads')")), "1")
    stream = client.query_rows_stream("SELECT number FROM numbers(100000000)")
    with stream as rows:
        next(iter(rows))
        busy = connect(session_id="connect-other")
        raises("two statements in one session", lambda: connect(session_id="connect-session").command("SELECT 1"), "SESSION_IS_LOCKED")
        equal("another session is not in the way", busy.command("SELECT 1"), 1)


def parameters():
    client = connect()
    given = {"n": 42, "s": "it's a 'text' \\", "a": [1, 2], "d": day(2024, 2, 29), "none": None}
    answer = client.query("SELECT {n:UInt8}, {s:String}, {a:Array(UInt16)}, {d:Date}, {none:Nullable(String)}", parameters=given)
    equal("server parameters", answer.first_row, (42, "it's a 'text' \\", [1, 2], day(2024, 2, 29), None))
    equal("a name as parameter", client.command("SELECT count() FROM {t:Identifier}", parameters={"t": "every_type"}), 2)
    form = connect(form_encode_query_params=True)
    equal("a long parameter in a form", form.query("SELECT length({s:String})", parameters={"s": "x" * 100000}).first_row[0], 100000)


def million():
    client = connect()
    with client.query_column_block_stream("SELECT number, toString(number) FROM numbers(1000000)") as blocks:
        count, total, text = 0, 0, 0
        for numbers, texts in blocks:
            count, total, text = count + len(numbers), total + sum(numbers), text + sum(map(len, texts))
    equal("a million rows streamed out", (count, total, text), (1000000, 499999500000, 5888890))
    client.command("CREATE TABLE million (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
    table = pyarrow.table({"n": pyarrow.array(range(1000000), pyarrow.uint64()), "s": [str(n) for n in range(1000000)]})
    client.insert_arrow("million", table)
    answer = client.query("SELECT count(), sum(n), sum(length(s)) FROM million")
    equal("a million rows of Arrow in", answer.first_row, (1000000, 499999500000, 5888890))
    back = client.query_arrow("SELECT * FROM million ORDER BY n LIMIT 1000")
    equal("Arrow out", (back.num_rows, back.column("n").to_pylist()[-1]), (1000, 999))
    client.raw_insert("million", ["n", "s"], io.BytesIO(b"7,seven\n8,eight\n"), fmt="CSV")
    equal("a raw INSERT of CSV", client.command("SELECT count() FROM million"), 1000002)
    frame = client.query_df("SELECT n, s, NULL AS nothing, toDateTime('2024-01-01 00:00:00', 'UTC') AS t FROM million LIMIT 10")
    equal("a data frame", (len(frame), list(frame.columns)), (10, ["n", "s", "nothing", "t"]))


def names():
    """What tools ask for by themselves."""
    client = connect()
    empty = client.query("SELECT * FROM every_type LIMIT 0")
    equal("LIMIT 0 has the types", [kind.name for kind in empty.column_types][:2], ["Int8", "Int16"])
    equal("SHOW TABLES has the table", "every_type" in client.query("SHOW TABLES").result_columns[0], True)
    tables = client.query("SELECT engine, is_temporary FROM system.tables WHERE database = currentDatabase()"
                          " AND name = 'every_type'")
    equal("system.tables has its engine", tables.result_rows, [("MergeTree", 0)])
    passed("names")


for step in (connection, ddl, every_type, errors, wrong_password, late_error, cancel, compression, sessions, parameters, million,
             names):
    check(step)
