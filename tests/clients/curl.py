"""curl, as people use it in scripts: addresses, headers, bodies, formats both ways, compression of the shell's tools."""
import gzip
import json
import os
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))
from checks import DATABASE, DDL, ENDLESS, FAILS_LATE, HOST, PASSWORD, PORT, TYPES, USER, check, equal, failed, passed, within

URL = f"http://{HOST}:{PORT}/"
FOLDER = Path(os.environ["GRISTMILL_TEST_FOLDER"])
# Formats that can carry every type there and back.
BOTH_WAYS = ["Native", "RowBinary", "RowBinaryWithNames", "RowBinaryWithNamesAndTypes", "Values", "TabSeparated", "TabSeparatedWithNames",
             "TabSeparatedWithNamesAndTypes", "CSV", "TSKV", "JSONEachRow", "JSONCompactEachRow",
             "JSONCompactEachRowWithNamesAndTypes", "JSON", "JSONCompact", "JSONStringsEachRow", "Arrow", "ArrowStream", "Parquet"]


class Answer:
    def __init__(self, status, head, body):
        self.status, self.body = status, body
        lines = [line.split(": ", 1) for line in head.split("\r\n") if ": " in line]
        self.headers = {name.lower(): value for name, value in lines}
        self.text = body.decode(errors="replace")


def curl(*words, body=None, **params):
    """One request; parameters go into the address."""
    params = {"database": DATABASE, **params}
    head, out = FOLDER / "head", FOLDER / "body"
    command = ["curl", "-sS", "-D", str(head), "-o", str(out), "-w", "%{http_code}", f"{URL}?{urllib.parse.urlencode(params)}", *words]
    if body is not None:
        (FOLDER / "sent").write_bytes(body if isinstance(body, bytes) else body.encode())
        command += ["--data-binary", f"@{FOLDER / 'sent'}"]
    out.write_bytes(b"")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    answer = Answer(int(ended.stdout or 0), head.read_bytes().decode(errors="replace"), out.read_bytes())
    answer.curl_status = ended.returncode
    return answer


def pages():
    for path, text in (("", "Ok.\n"), ("ping", "Ok.\n"), ("replicas_status", "Ok.\n")):
        ended = subprocess.run(["curl", "-sS", f"{URL}{path}"], capture_output=True, text=True)
        equal(f"GET /{path}", ended.stdout, text)
    play = subprocess.run(["curl", "-sS", f"{URL}play"], capture_output=True, text=True).stdout
    equal("GET /play is a page", "<html" in play.lower(), True)
    metrics = subprocess.run(["curl", "-sS", f"{URL}metrics"], capture_output=True, text=True).stdout
    equal("GET /metrics is Prometheus", "# TYPE" in metrics, True)
    missing = subprocess.run(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", f"{URL}no/such/page"], capture_output=True, text=True)
    equal("an unknown page", missing.stdout, "404")


def queries():
    equal("query in the address", curl(query="SELECT 1").text, "1\n")
    equal("query in the body", curl(body="SELECT 1, 'a'").text, "1\ta\n")
    equal("both are joined", curl(query="SELECT", body=" 2").text, "2\n")
    equal("FORMAT", curl(body="SELECT 1 AS x FORMAT JSONEachRow").text, '{"x":1}\n')
    equal("default_format", curl(body="SELECT 1 AS x", default_format="CSVWithNames").text, '"x"\n1\n')
    equal("X-ClickHouse-Format", curl("-H", "X-ClickHouse-Format: TSKV", body="SELECT 1 AS x").text, "x=1\n")
    equal("X-ClickHouse-Database", curl("-H", "X-ClickHouse-Database: system", body="SELECT currentDatabase()", database="").text, "system\n")
    equal("a setting in the address", curl(body="SELECT getSetting('max_block_size')", max_block_size=77).text, "77\n")
    answer = curl(body="SELECT 1", query_id="curl-named")
    equal("query id in the answer", answer.headers.get("x-clickhouse-query-id"), "curl-named")
    equal("format in the answer", answer.headers.get("x-clickhouse-format"), "TabSeparated")
    summary = json.loads(curl(body="SELECT count() FROM numbers(10)", wait_end_of_query=1).headers.get("x-clickhouse-summary", "{}"))
    equal("the summary's numbers are texts", (summary.get("read_rows"), summary.get("written_rows")), ("10", "0"))
    refused = curl(query="CREATE TABLE by_get (n UInt8) ENGINE = Memory")
    equal("GET is read-only", (refused.headers.get("x-clickhouse-exception-code"), "READONLY" in refused.text), ("164", True))
    several = curl(body="SELECT 1; SELECT 2")
    equal("one statement a request", several.headers.get("x-clickhouse-exception-code"), "62")
    equal("a semicolon at the end is fine", curl(body="SELECT 1;").text, "1\n")


def every_type():
    equal("CREATE TABLE", curl(body=f"CREATE TABLE every_type ({DDL}) ENGINE = MergeTree ORDER BY u8").text, "")
    rows = ", ".join("(" + ", ".join(entry[row] for entry in TYPES) + ")" for row in (2, 3))
    inserted = curl(body=f"INSERT INTO every_type VALUES {rows}")
    equal("INSERT VALUES", (inserted.status, inserted.text), (200, ""))
    equal("rows written in the summary", json.loads(inserted.headers.get("x-clickhouse-summary", "{}")).get("written_rows"), "2")
    expected = curl(body="SELECT * FROM every_type ORDER BY u8").text
    for form in BOTH_WAYS:
        curl(body=f"CREATE TABLE as_{form} ({DDL}) ENGINE = MergeTree ORDER BY u8")
        out = curl(body=f"SELECT * FROM every_type ORDER BY u8 FORMAT {form}")
        if out.status != 200:
            failed(f"{form} out", out.text)
            continue
        back = curl(query=f"INSERT INTO as_{form} FORMAT {form}", body=out.body)
        got = back.text if back.status != 200 else curl(body=f"SELECT * FROM as_{form} ORDER BY u8").text
        differing = [f"{entry[1]}: {ours!r} instead of {theirs!r}" for entry, ours, theirs in
                     zip(TYPES * 2, got.replace("\n", "\t").split("\t"), expected.replace("\n", "\t").split("\t")) if ours != theirs]
        if got == expected:
            passed(f"{form} out and in")
        else:
            failed(f"{form} out and in", differing[:4] if back.status == 200 else got)
    together = b"INSERT INTO as_CSV (u8, s) FORMAT CSV\n7,seven\n8,eight\n"
    equal("statement and data in one body", (curl(body=together).text, curl(body="SELECT s FROM as_CSV WHERE u8 IN (7, 8) ORDER BY u8").text),
          ("", "seven\neight\n"))


def errors():
    for name, sql, code, word, status in (
        ("unknown table", "SELECT * FROM no_such_table", "60", "UNKNOWN_TABLE", 404),
        ("syntax error", "SELEKT 1", "62", "SYNTAX_ERROR", 400),
        ("unknown column", "SELECT no_such_column FROM every_type", "47", "UNKNOWN_IDENTIFIER", 404),
        ("unknown function", "SELECT no_such_function(1)", "46", "UNKNOWN_FUNCTION", 404),
        ("unknown database", "SELECT * FROM no_such_database.t", "81", "UNKNOWN_DATABASE", 404),
        ("table exists", "CREATE TABLE every_type (n UInt8) ENGINE = Memory", "57", "TABLE_ALREADY_EXISTS", 500),
        ("unknown format", "SELECT 1 FORMAT NoSuchFormat", "73", "UNKNOWN_FORMAT", 404),
    ):
        answer = curl(body=sql)
        begins = answer.text.startswith(f"Code: {code}. DB::Exception: ")
        equal(name, (answer.status, answer.headers.get("x-clickhouse-exception-code"), begins, f"({word})" in answer.text, answer.text[-1:]),
              (status, code, True, True, "\n"))
    answer = curl(body="SELECT 1", no_such_setting=1)
    equal("unknown setting in the address", answer.headers.get("x-clickhouse-exception-code"), "115")
    equal("user and password", curl("-u", f"{USER}:{PASSWORD}", body="SELECT currentUser()").text, f"{USER}\n")
    by_headers = curl("-H", f"X-ClickHouse-User: {USER}", "-H", f"X-ClickHouse-Key: {PASSWORD}", body="SELECT currentUser()")
    equal("user and password in headers", by_headers.text, f"{USER}\n")
    by_address = curl(body="SELECT currentUser()", user=USER, password=PASSWORD)
    equal("user and password in the address", by_address.text, f"{USER}\n")
    for user in (USER, "nobody"):
        answer = curl("-u", f"{user}:wrong", body="SELECT 1")
        equal(f"wrong password of {user}", (answer.status, answer.headers.get("x-clickhouse-exception-code"), "AUTHENTICATION_FAILED" in answer.text),
              (403, "516", True))
    late = curl(body=FAILS_LATE, max_block_size=65409)
    equal("an error in the middle of a stream is seen", ("ILLEGAL_DIVISION" in late.text[-1000:], late.text[:1].isdigit()), (True, True))
    tag = late.headers.get("x-clickhouse-exception-tag", "none")
    equal("and framed by its tag", late.text.rstrip().endswith(f"{tag}\r\n__exception__"), True)
    whole = curl(body=FAILS_LATE, wait_end_of_query=1)
    equal("wait_end_of_query has the status", (whole.status, whole.headers.get("x-clickhouse-exception-code")), (500, "153"))
    injected = curl(body="SELECT 1", query_id="a\r\nX-Evil: 1")
    equal("no header through a query id", "x-evil" in injected.headers, False)


def cancel():
    def running(query_id):
        return curl(body=f"SELECT count() FROM system.processes WHERE query_id = '{query_id}'").text

    waiting = subprocess.Popen(["curl", "-sS", f"{URL}?query_id=curl-endless&cancel_http_readonly_queries_on_client_close=1", "-d", ENDLESS],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    within("a long statement is in system.processes", 10, lambda: running("curl-endless") == "1\n")
    again = curl(body="SELECT 1", query_id="curl-endless")
    equal("its id is taken", again.headers.get("x-clickhouse-exception-code"), "216")
    waiting.terminate()
    waiting.wait()
    within("ending curl cancels the statement", 2, lambda: running("curl-endless") == "0\n")
    started = time.monotonic()
    limited = curl(body=ENDLESS, max_execution_time=1)
    equal("max_execution_time", (limited.headers.get("x-clickhouse-exception-code"), time.monotonic() - started < 10), ("159", True))


def compression():
    for method in ("gzip", "deflate", "br", "zstd"):
        answer = curl("-H", f"Accept-Encoding: {method}", body="SELECT toString(number) FROM numbers(10000)", enable_http_compression=1)
        equal(f"Content-Encoding of {method}", answer.headers.get("content-encoding"), method)
        plain = curl("--compressed", "-H", f"Accept-Encoding: {method}", body="SELECT sum(number) FROM numbers(10000)", enable_http_compression=1)
        if "Unrecognized" not in plain.text and plain.curl_status != 61:
            equal(f"curl reads {method}", plain.text, "49995000\n")
    curl(body="CREATE TABLE zipped (n UInt32) ENGINE = MergeTree ORDER BY n")
    data = gzip.compress(b"".join(b"%d\n" % n for n in range(100000)))
    sent = curl("-H", "Content-Encoding: gzip", query="INSERT INTO zipped FORMAT TSV", body=data)
    equal("a body of gzip", (sent.text, curl(body="SELECT count(), sum(n) FROM zipped").text), ("", "100000\t4999950000\n"))
    twice = curl("-H", "Content-Encoding: gzip", query="INSERT INTO zipped FORMAT TSV", body=gzip.compress(b"1\n") + gzip.compress(b"2\n"))
    equal("a body of two gzip members", (twice.text, curl(body="SELECT count() FROM zipped").text), ("", "100002\n"))
    framed = curl(body="SELECT number FROM numbers(100000) FORMAT TSV", compress=1)
    curl(body="CREATE TABLE framed (n UInt32) ENGINE = MergeTree ORDER BY n")
    back = curl(query="INSERT INTO framed FORMAT TSV", body=framed.body, decompress=1)
    equal("block frames out and in", (back.text, curl(body="SELECT count(), sum(n) FROM framed").text, framed.body[16:17]),
          ("", "100000\t4999950000\n", b"\x82"))
    broken = bytearray(framed.body)
    broken[40] ^= 1
    equal("a broken frame is refused", curl(query="INSERT INTO framed FORMAT TSV", body=bytes(broken), decompress=1)
          .headers.get("x-clickhouse-exception-code"), "40")


def sessions():
    curl(body="CREATE TEMPORARY TABLE of_session (n UInt8)", session_id="curl")
    curl(body="INSERT INTO of_session VALUES (1), (2)", session_id="curl")
    equal("a temporary table", curl(body="SELECT sum(n) FROM of_session", session_id="curl").text, "3\n")
    equal("of its session only", curl(body="SELECT sum(n) FROM of_session").headers.get("x-clickhouse-exception-code"), "60")
    curl(body="SET max_block_size = 123", session_id="curl")
    equal("SET in a session", curl(body="SELECT getSetting('max_block_size')", session_id="curl").text, "123\n")
    equal("session_check", curl(body="SELECT 1", session_id="none", session_check=1).headers.get("x-clickhouse-exception-code"), "372")
    busy = subprocess.Popen(["curl", "-sS", f"{URL}?session_id=curl&query_id=curl-busy&cancel_http_readonly_queries_on_client_close=1", "-d", ENDLESS],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    within("a session is busy", 10, lambda: curl(body="SELECT count() FROM system.processes WHERE query_id = 'curl-busy'").text == "1\n")
    locked = curl(body="SELECT 1", session_id="curl")
    equal("a locked session", (locked.headers.get("x-clickhouse-exception-code"), "SESSION_IS_LOCKED" in locked.text), ("373", True))
    busy.terminate()
    busy.wait()
    within("and free again", 2, lambda: curl(body="SELECT 1", session_id="curl").text == "1\n")


def parameters():
    equal("param_x", curl(body="SELECT {a:UInt8} + {b:UInt8}, {s:String}", param_a=1, param_b=2, param_s="x\\ty").text, "3\tx\\ty\n")
    form = curl("-F", "query=SELECT {s:String}", "-F", "param_s=of a form")
    equal("a form", form.text, "of a form\n")


def million():
    answer = curl(body="SELECT number, toString(number) FROM numbers(1000000)")
    equal("a million rows out", (answer.text.count("\n"), answer.text[-14:]), (1000000, "999999\t999999\n"))
    curl(body="CREATE TABLE million (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
    sent = curl(query="INSERT INTO million FORMAT TSV", body=answer.body)
    equal("a million rows in", (sent.text, curl(body="SELECT count(), sum(n) FROM million").text), ("", "1000000\t499999500000\n"))
    chunked = curl("-H", "Transfer-Encoding: chunked", query="INSERT INTO million FORMAT TSV", body=answer.body)
    equal("a chunked body", (chunked.text, curl(body="SELECT count() FROM million").text), ("", "2000000\n"))


for step in (pages, queries, every_type, errors, cancel, compression, sessions, parameters, million):
    check(step)
