// @clickhouse/client: its own way through every check. One line a check: `ok NAME` or `FAILED NAME: why`.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { isDeepStrictEqual } from "node:util";

const { createClient, ClickHouseError } = createRequire(`${process.env.GRISTMILL_NODE_MODULES}/`)("@clickhouse/client");
const { GRISTMILL_HOST, GRISTMILL_PORT, GRISTMILL_TEST_DATABASE, GRISTMILL_TEST_USER, GRISTMILL_TEST_PASSWORD } = process.env;
// Columns of types that the server does not know; the runner has counted each as a failure.
const missing = (process.env.GRISTMILL_MISSING ?? "").split(",");
const types = readFileSync(process.env.GRISTMILL_TYPES, "utf8").trimEnd().split("\n").map((line) => line.split("\t"))
  .filter(([name]) => !missing.includes(name));

const passed = (name) => console.log(`ok ${name}`);
const failed = (name, why) => console.log(`FAILED ${name}: ${String(why).replace(/\s+/g, " ").slice(0, 400)}`);
const equal = (name, got, expected) => {
  if (isDeepStrictEqual(got, expected)) passed(name);
  else failed(name, `${JSON.stringify(got)} instead of ${JSON.stringify(expected)}`);
};

async function raises(name, code, type, run) {
  try {
    await run();
    failed(name, "no error");
  } catch (error) {
    if (!(error instanceof ClickHouseError)) failed(name, `not an error of the server: ${error}`);
    else equal(name, [error.code, error.type], [code, type]);
  }
}

async function within(name, seconds, holds) {
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end) {
    if (await holds()) return passed(name);
    await new Promise((wake) => setTimeout(wake, 50));
  }
  failed(name, `not within ${seconds} s`);
}

const connect = (more = {}) =>
  createClient({
    url: `http://${GRISTMILL_HOST}:${GRISTMILL_PORT}`,
    username: GRISTMILL_TEST_USER,
    password: GRISTMILL_TEST_PASSWORD,
    database: GRISTMILL_TEST_DATABASE,
    request_timeout: 120000,
    // Errors are printed by the checks.
    log: { level: 127 },
    ...more,
  });
const client = connect();
const rowsOf = async (query, more = {}) => (await (more.client ?? client).query({ query, format: "JSONEachRow", ...more })).json();
const value = async (query, more) => Object.values((await rowsOf(query, more))[0])[0];

const first = {
  i8: -128, i16: -32768, i32: -2147483648, i64: "-9223372036854775808", i128: "-170141183460469231731687303715884105728",
  i256: "-57896044618658097711785492504343953926634992332820282019728792003956564819968", u8: 0, u16: 0, u32: 0, u64: "0",
  u128: "0", u256: "0", f32: 1.5, f64: 0.1, d9: "1234567.89", d18: "12345678901234.5678",
  d38: "1234567890123456789012345678.0123456789",
  d76: "12345678901234567890123456789012345678901234567890.01234567890123456789", s: "naïve 'quoted' \t \\ ☃", fs: "abcd",
  d: "2024-02-29", d32: "1900-01-01", dt: "2024-02-29 12:34:56", dtz: "2024-07-01 12:00:00", dt3: "2024-02-29 12:34:56.789",
  dt9: "2024-07-01 12:00:00.123456789", id: "61f0c404-5cb3-11e7-907b-a6006ad3dba0", ip4: "192.168.1.2",
  ip6: "2001:db8::8a2e:370:7334", e8: "low", e16: "x", b: true, ni: 7, ns: "there", lc: "often", lcn: "often", au: [1, 2, 3],
  an: ["a", null], aa: [[1], [], [-2, 3]], m: { k: "1", l: "2" }, ma: { k: ["a", "b"] }, t: [-1, "one"], tn: { a: 1, b: "one" },
  at: [{ x: 1, y: "one" }, { x: 2, y: "two" }],
};
const second = {
  i8: 127, i16: 32767, i32: 2147483647, i64: "9223372036854775807", i128: "170141183460469231731687303715884105727",
  i256: "57896044618658097711785492504343953926634992332820282019728792003956564819967", u8: 255, u16: 65535, u32: 4294967295,
  u64: "18446744073709551615", u128: "340282366920938463463374607431768211455",
  u256: "115792089237316195423570985008687907853269984665640564039457584007913129639935", f32: -0.25, f64: -1e300, d9: "-0.01",
  d18: "-0.0001", d38: "-1", d76: "-0.5", s: "", fs: "wxyz", d: "1970-01-02", d32: "2299-12-31", dt: "1970-01-02 00:00:00",
  dtz: "2024-01-01 12:00:00", dt3: "1960-01-01 00:00:00.001", dt9: "2024-01-01 12:00:00.000000001",
  id: "00000000-0000-0000-0000-000000000001", ip4: "0.0.0.0", ip6: "::1", e8: "high", e16: "y", b: false, ni: null, ns: null,
  lc: "", lcn: null, au: [], an: [], aa: [[]], m: {}, ma: {}, t: [0, ""], tn: { a: 2, b: null }, at: [],
};
for (const name of missing) {
  delete first[name];
  delete second[name];
}
const QUOTED = { output_format_json_quote_64bit_integers: 1, output_format_json_quote_decimals: 1 };

async function connection() {
  equal("ping", await client.ping(), { success: true });
  equal("ping by SELECT", (await client.ping({ select: true })).success, true);
  equal("the database of the connection", await value("SELECT currentDatabase()"), GRISTMILL_TEST_DATABASE);
}

async function everyType() {
  const columns = types.map(([name, declared]) => `${name} ${declared}`).join(", ");
  const created = await client.command({ query: `CREATE TABLE every_type (${columns}) ENGINE = MergeTree ORDER BY u8` });
  equal("command() has a query id", created.query_id.length, 36);
  const inserted = await client.insert({ table: "every_type", values: [first, second], format: "JSONEachRow" });
  equal("insert() runs and counts", [inserted.executed, inserted.summary?.written_rows], [true, "2"]);
  const got = await rowsOf("SELECT * FROM every_type ORDER BY u8", { clickhouse_settings: QUOTED });
  equal("rows read", got.length, 2);
  [first, second].forEach((expected, row) =>
    types.forEach(([name, declared]) => equal(`${declared} as selected in row ${row}`, got[row]?.[name], expected[name])),
  );
}

async function formats() {
  const query = "SELECT number AS n, toString(number) AS s FROM numbers(3)";
  const values = [["0", "0"], ["1", "1"], ["2", "2"]];
  const json = (format) => client.query({ query, format, clickhouse_settings: QUOTED }).then((answer) => answer.json());
  equal("JSON", [(await json("JSON")).rows, (await json("JSON")).meta], [3, [{ name: "n", type: "UInt64" }, { name: "s", type: "String" }]]);
  equal("JSONStrings", (await json("JSONStrings")).data[2], { n: "2", s: "2" });
  equal("JSONCompact", (await json("JSONCompact")).data, values);
  equal("JSONColumnsWithMetadata", (await json("JSONColumnsWithMetadata")).data, { n: ["0", "1", "2"], s: ["0", "1", "2"] });
  equal("JSONCompactEachRow", await json("JSONCompactEachRow"), values);
  equal("JSONCompactEachRowWithNames", (await json("JSONCompactEachRowWithNames"))[0], ["n", "s"]);
  equal("JSONCompactEachRowWithNamesAndTypes", (await json("JSONCompactEachRowWithNamesAndTypes")).slice(1, 2), [["UInt64", "String"]]);
  equal("JSONStringsEachRow", (await json("JSONStringsEachRow"))[1], { n: "1", s: "1" });
  equal("JSONObjectEachRow", (await json("JSONObjectEachRow")).row_1, { n: "0", s: "0" });
  const progress = await json("JSONEachRowWithProgress");
  equal("JSONEachRowWithProgress", progress.filter((line) => line.row).length, 3);
  for (const [format, text] of [
    ["CSV", '0,"0"\n1,"1"\n2,"2"\n'], ["CSVWithNames", '"n","s"\n0,"0"\n1,"1"\n2,"2"\n'],
    ["CSVWithNamesAndTypes", '"n","s"\n"UInt64","String"\n0,"0"\n1,"1"\n2,"2"\n'], ["TabSeparated", "0\t0\n1\t1\n2\t2\n"],
    ["TabSeparatedWithNames", "n\ts\n0\t0\n1\t1\n2\t2\n"], ["CustomSeparated", "0\t0\n1\t1\n2\t2\n"],
  ]) {
    equal(format, await (await client.query({ query, format })).text(), text);
  }
  const parquet = (await client.exec({ query: `${query} FORMAT Parquet` })).stream;
  const chunks = [];
  for await (const chunk of parquet) chunks.push(Buffer.from(chunk));
  equal("Parquet", Buffer.concat(chunks).subarray(0, 4).toString(), "PAR1");
}

async function inserts() {
  await client.command({ query: "CREATE TABLE loaded (n UInt32, s String DEFAULT 'none') ENGINE = MergeTree ORDER BY n" });
  await client.insert({ table: "loaded", values: [[1, "one"]], format: "JSONCompactEachRow" });
  await client.insert({ table: "loaded", values: [{ n: 2 }], format: "JSONEachRow", columns: ["n"] });
  await client.insert({ table: "loaded", values: { meta: [{ name: "n", type: "UInt32" }, { name: "s", type: "String" }], data: [{ n: 3, s: "three" }], rows: 1 }, format: "JSON" });
  await client.insert({ table: "loaded", values: Readable.from(["4,four\n", "5,five\n"], { objectMode: false }), format: "CSV" });
  await client.insert({ table: "loaded", values: Readable.from([{ n: 6, s: "six" }]), format: "JSONEachRow" });
  await client.insert({ table: "loaded", values: [{ n: 7 }], format: "JSONEachRow", columns: { except: ["s"] } });
  equal("INSERT in each way", await value("SELECT groupArray(s) FROM (SELECT s FROM loaded ORDER BY n)"),
    ["one", "none", "three", "four", "five", "six", "none"]);
  await client.command({ query: "INSERT INTO loaded SELECT 8, 'eight'" });
  equal("INSERT SELECT", await value("SELECT s FROM loaded WHERE n = 8"), "eight");
}

async function errors() {
  await raises("unknown table", "60", "UNKNOWN_TABLE", () => rowsOf("SELECT * FROM no_such_table"));
  await raises("syntax error", "62", "SYNTAX_ERROR", () => client.command({ query: "SELEKT 1" }));
  await raises("unknown column", "47", "UNKNOWN_IDENTIFIER", () => rowsOf("SELECT no_such_column FROM every_type"));
  await raises("unknown setting", "115", "UNKNOWN_SETTING", () => rowsOf("SELECT 1", { clickhouse_settings: { no_such_setting: 1 } }));
  await raises("a wrong password", "516", "AUTHENTICATION_FAILED", () => rowsOf("SELECT 1", { auth: { username: "nobody", password: "wrong" } }));
  await raises("an error in the middle of a stream", "153", "ILLEGAL_DIVISION", async () => {
    // The client looks for the error in one read of the socket. Where a read ends within those 200 bytes it says so instead
    // of the error, whichever server it asks, and another try ends elsewhere.
    for (let tries = 1; ; tries++) {
      try {
        const answer = await client.query({ query: "SELECT number, intDiv(1, 3000000 - number) AS q FROM numbers(4000000)", format: "JSONEachRow" });
        for await (const rows of answer.stream()) rows.forEach((row) => row.json());
        return;
      } catch (error) {
        if (tries === 3 || !error.message.startsWith("there was an error in the stream")) throw error;
      }
    }
  });
  equal("the client lives after errors", await value("SELECT 'yes'"), "yes");
}

async function cancel() {
  const running = (id) => value(`SELECT count() FROM system.processes WHERE query_id = '${id}'`).then(Number);
  const control = new AbortController();
  const waiting = client
    .query({ query: "SELECT sum(cityHash64(number)) FROM numbers(1000000000000)", query_id: "js-endless", abort_signal: control.signal,
             clickhouse_settings: { cancel_http_readonly_queries_on_client_close: 1 } })
    .catch((error) => error);
  await within("a long statement is in system.processes", 10, async () => (await running("js-endless")) === 1);
  control.abort();
  await waiting;
  await within("aborting cancels the statement", 2, async () => (await running("js-endless")) === 0);
  const streamed = await client.query({ query: "SELECT number, toString(number) FROM numbers(1000000000000)", query_id: "js-stream", format: "JSONCompactEachRow" });
  for await (const rows of streamed.stream()) {
    equal("a stream begins", rows[0].json().map(Number), [0, 0]);
    break;
  }
  streamed.close();
  await within("closing the stream cancels the statement", 2, async () => (await running("js-stream")) === 0);
  const killed = rowsOf("SELECT sum(cityHash64(number)) FROM numbers(1000000000000)", { query_id: "js-killed" }).then(() => "no error", (error) => error.code);
  await within("another is in system.processes", 10, async () => (await running("js-killed")) === 1);
  await client.command({ query: "KILL QUERY WHERE query_id = 'js-killed' SYNC" });
  equal("its client hears 394", await killed, "394");
}

async function compression() {
  const other = connect({ compression: { request: true, response: true } });
  await other.command({ query: "CREATE TABLE compressed (n UInt32) ENGINE = MergeTree ORDER BY n" });
  await other.insert({ table: "compressed", values: Array.from({ length: 20000 }, (_, n) => ({ n })), format: "JSONEachRow" });
  equal("gzip both ways", (await rowsOf("SELECT n FROM compressed ORDER BY n", { client: other })).map((row) => row.n), Array.from({ length: 20000 }, (_, n) => n));
  await raises("an error under gzip", "60", "UNKNOWN_TABLE", () => rowsOf("SELECT * FROM no_such_table", { client: other }));
  await other.close();
}

async function sessions() {
  const inside = connect({ session_id: "js-session" });
  await inside.command({ query: "CREATE TEMPORARY TABLE of_session (n UInt8)" });
  await inside.insert({ table: "of_session", values: [{ n: 1 }, { n: 2 }], format: "JSONEachRow" });
  equal("a temporary table lives in its session", Number(await value("SELECT sum(n) AS s FROM of_session", { client: inside })), 3);
  await raises("nobody else sees it", "60", "UNKNOWN_TABLE", () => rowsOf("SELECT * FROM of_session"));
  await inside.close();
}

async function parameters() {
  const query = "SELECT {n:UInt8} AS n, {s:String} AS s, {a:Array(UInt16)} AS a, {d:Date} AS d, {none:Nullable(String)} AS none, {m:Map(String, UInt8)} AS m";
  const given = { n: 42, s: "it's \t a 'text' \\", a: [1, 2], d: "2024-02-29", none: null, m: { k: 1 } };
  equal("server parameters", await rowsOf(query, { query_params: given }), [given]);
  equal("parameters of a form", await rowsOf(query, { query_params: given, use_multipart_params: true }), [given]);
}

async function million() {
  const answer = await client.query({ query: "SELECT number AS n, toString(number) AS s FROM numbers(1000000)", format: "JSONCompactEachRow" });
  let [count, total, text] = [0, 0, 0];
  for await (const rows of answer.stream()) {
    for (const row of rows) {
      const [n, s] = row.json();
      [count, total, text] = [count + 1, total + Number(n), text + s.length];
    }
  }
  equal("a million rows streamed out", [count, total, text], [1000000, 499999500000, 5888890]);
  await client.command({ query: "CREATE TABLE million (n UInt64, s String) ENGINE = MergeTree ORDER BY n" });
  function* all() {
    for (let n = 0; n < 1000000; n++) yield { n, s: String(n) };
  }
  await client.insert({ table: "million", values: Readable.from(all()), format: "JSONEachRow" });
  equal("a million rows streamed in", await rowsOf("SELECT count() AS c, sum(n) AS t, sum(length(s)) AS l FROM million", { clickhouse_settings: QUOTED }),
    [{ c: "1000000", t: "499999500000", l: "5888890" }]);
}

for (const step of [connection, everyType, formats, inserts, errors, cancel, compression, sessions, parameters, million]) {
  try {
    await step();
  } catch (error) {
    const line = /client\.mjs:(\d+)/.exec(error.stack ?? "")?.[1];
    failed(step.name, `line ${line}: ${error}`);
  }
}
await client.close();
