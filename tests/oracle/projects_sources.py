"""Where other people's projects keep their statements, and how these are taken out of a bare git snapshot.

Nothing of theirs is kept here: PROJECTS names paths, and what a placeholder is filled with. A fill stands for what the
project's own code puts there. What cannot be had without its other machines is taken out for every project alike (ALONE).
A part of a query that the code joins in while it runs is left out; whether what remains is a statement, ClickHouse says.
"""
import ast
import csv
import io
import re
import subprocess

from public_check import statements

# One machine without a keeper: `ON CLUSTER x` goes, ReplicatedMergeTree('path', 'replica', ..) is MergeTree(..).
ALONE = [
    (r"\bON\s+CLUSTER\s+('[^']*'|\"[^\"]*\"|`[^`]*`|\{\w+\}|[\w-]+)", ""),
    (r"\bReplicated(\w*MergeTree)\s*\(\s*'[^']*'\s*,\s*'[^']*'\s*,?\s*", r"\1("),
    (r"\bReplicated(\w*MergeTree)\b", r"\1"),
]
# A statement about another machine, or one that would end the server, says nothing.
ELSEWHERE = re.compile(
    r"\b(s3|s3Cluster|gcs|url|urlCluster|remote|remoteSecure|postgresql|mysql|mongodb|hdfs|azureBlobStorage|deltaLake\w*|iceberg\w*|hudi|cluster|clusterAllReplicas)\s*\("
    r"|\bENGINE\s*=?\s*(Kafka|S3|S3Queue|URL|PostgreSQL|MaterializedPostgreSQL|MySQL|RabbitMQ|NATS|MongoDB|AzureQueue)\b"
    r"|^\s*SYSTEM\s+(SHUTDOWN|KILL)|\bINFILE\b|\bOUTFILE\b|^\s*BACKUP|^\s*RESTORE",
    re.I,
)
FIRST = re.compile(r"^\s*(CREATE|ALTER|INSERT INTO|DROP|RENAME|EXCHANGE|SELECT|WITH|OPTIMIZE|TRUNCATE|DESCRIBE|SHOW|EXISTS|SYSTEM|ATTACH|DETACH|DELETE FROM|UPDATE|EXPLAIN|SET)\b|^\s*(select|with)\b.*\bfrom\b", re.S)
GO_IF = (r"\{\{-?\s*if [^}]*\}\}(.*?)(?:\{\{-?\s*else\s*-?\}\}(.*?))?\{\{-?\s*end\s*-?\}\}", r"\2")

WORDS = re.compile(r"\b(SELECT|CREATE|ALTER|INSERT INTO)\b|\bselect\s[^;]*\bfrom\b")
# project: [(paths, kind, fills)]; kinds: sql, lines (one a line), md (```sql), csv, go, js, py, rust. Fills are (pattern, text).
QRYN = [
    (r"(?m)^\s*##.*$", ""), (r"\{\{\.DB\}\}", "default"), (r"\{\{\.(\w*MergeTree)\}\}", r"\1"), (r"\{\{\.SAMPLES_ORDER_RUL\}\}", "timestamp_ns"),
    (r"\{\{\.(OnCluster|CREATE_SETTINGS|DIST_CREATE_SETTINGS)\}\}", ""), (r"\{\{\.CLUSTER\}\}", "default"),
]
UPTRACE = [
    (r"--migration:split", ";"), (r"\?ON_CLUSTER", ""), (r"\?CODEC", "ZSTD(1)"), (r"\?\(REPLICATED\)", ""), (r"\?DB\b", "default"),
    (r"\?\w+_TTL", "30 DAY"), (r"\?\w+_STORAGE", "'default'"),
]
GOOSE = [(r"(?is)-- \+goose Down.*", ""), (r"(?i)-- \+goose \w+", "")]
HYPERDX = [*GOOSE, (r"\$\{DATABASE\}", "default"), (r"\$\{\w+_TTL\}", "toIntervalDay(30)")]
JAEGER = [
    (r"\{\{if \.Replication\}\}(.*?)(?:\{\{else\}\}(.*?))?\{\{end\}\}", r"\2"), (r"\{\{-?\s*if \.Multitenant\s*-?\}\}(.*?)\{\{-?\s*end\s*-?\}\}", ""),
    (r"\{\{\.TTLTimestamp\}\}", "TTL timestamp + INTERVAL 7 DAY DELETE"), (r"\{\{\.TTLDate\}\}", "TTL date + INTERVAL 7 DAY DELETE"),
    (r"\{\{\.Database\}\}", "default"), (r"\{\{\.SpansTable\}\}", "jaeger_spans_local"), (r"\{\{\.SpansIndexTable\}\}", "jaeger_index_local"), (r"\{\{\.SpansArchiveTable\}\}", "jaeger_spans_archive_local"),
    (r"\{\{\.OperationsTable\}\}", "jaeger_operations_local"),
]
JAEGER_QUERIES = [(r"traceID IN \(%s\)", "traceID IN ('a')"), (r"(?<=FROM )%s(?= PREWHERE)", "jaeger_spans_local"), (r"(?<=DISTINCT traceID FROM )%s", "jaeger_index_local"),
                  (r"(?<=FROM )%s", "jaeger_operations_local"), (r"%s", "")]
TENSORZERO = [(r"\{on_cluster_name\}", ""), (r"\{table_engine_name\}|\{engine\}", "MergeTree")]
COROOT = [(r"@on_cluster", ""), (r"@merge_tree", "MergeTree()"), (r"@replacing_merge_tree", "ReplacingMergeTree()"), (r"@ttl_days", "7"), (r"@ttl\w*", "7"), (r"@(service_name|\w+)", "?")]
PROJECTS = {
    "jaegertracing/jaeger-clickhouse": [(r"^sqlscripts/jaeger-.*\.sql$", "file", JAEGER), (r"^storage/clickhousespanstore/reader.*\.go$", "go", JAEGER_QUERIES)],
    "metrico/qryn": [(r"^ctrl/qryn/sql/(log|traces|profiles)\.sql$", "sql", QRYN)],
    "openreplay/openreplay": [
        (r"^scripts/schema/db/init_dbs/clickhouse/create/.*\.sql$", "sql", []), (r"^ee/connectors/sql/clickhouse_.*\.sql$", "sql", []),
        (r"^api/chalicelib/.*(_ch|product_analytics/\w+|chc?_\w+)\.py$", "py", []),
    ],
    "uptrace/uptrace": [(r"^pkg/bunapp/chmigrations/.*\.up\.sql$", "sql", UPTRACE)],
    "triggerdotdev/trigger.dev": [(r"^internal-packages/clickhouse/schema/.*\.sql$", "sql", GOOSE), (r"^internal-packages/clickhouse/src/.*\.ts$", "js", [])],
    "langfuse/langfuse": [
        (r"^packages/shared/clickhouse/migrations/unclustered/.*\.up\.sql$", "sql", []),
        (r"^packages/shared/src/server/repositories/.*\.ts$", "js", []), (r"^packages/shared/src/server/queries/.*\.ts$", "js", []),
        (r"^worker/src/.*\.ts$", "js", []),
    ],
    "highlight/highlight": [(r"^backend/clickhouse/migrations/.*\.up\.sql$", "sql", []), (r"^backend/clickhouse/[a-z_]*\.go$", "go", []), (r"^(blog|docs)-content/.*\.md$", "md", [])],
    "Openpanel-dev/openpanel": [(r"^packages/db/code-migrations/\d+-.*\.ts$", "openpanel", []), (r"^packages/db/src/.*\.ts$", "js", [(r"\$\{TABLE_NAMES\.(\w+)\}", r"\1")])],
    "tensorzero/tensorzero": [
        (r"migration_manager/migrations/migration_\d+\.rs$", "rust", TENSORZERO), (r"^crates/tensorzero-core/src/db/clickhouse/[a-z_]+(_queries|queries)?/?[a-z_]*\.rs$", "rust", TENSORZERO),
    ],
    "SigNoz/signoz-otel-collector": [(r"^cmd/signozschemamigrator/schema_migrator/.*_operations_test\.go$", "go", []), (r"^cmd/signozschemamigrator/schema_migrator/.*migrations.*\.go$", "go", [])],
    "getsentry/snuba": [(r"^snuba/admin/clickhouse/predefined_.*\.py$", "py", []), (r"^snuba/snuba_migrations/.*\.py$", "snuba", []), (r"^tests/.*\.py$", "py", [])],
    "rudderlabs/rudder-server": [(r"^warehouse/integrations/clickhouse/.*\.go$", "go", [(r"%\[1\]s", "t"), (r"%\[1\]q", "t")])],
    "hyperdxio/hyperdx": [(r"^docker/otel-collector/schema/seed/.*\.sql$", "sql", HYPERDX), (r"^packages/(app|api|common-utils)/src/.*\.ts$", "js", [])],
    "lmnr-ai/lmnr": [(r"^frontend/lib/clickhouse/migrations/\d+_[^/]*\.sql$", "sql", []), (r"^frontend/lib/.*\.ts$", "js", []), (r"^app-server/src/.*\.rs$", "rust", [])],
    "rybbit-io/rybbit": [(r"^server/src/db/clickhouse/.*\.ts$", "js", []), (r"^server/src/(api|cron|lib|services)/.*\.ts$", "js", [])],
    "umami-software/umami": [(r"^db/clickhouse/schema\.sql$", "sql", [(r"\bumami\.", "")]), (r"^src/queries/.*\.ts$", "js", [])],
    "unkeyed/unkey": [(r"^pkg/clickhouse/schema/.*\.sql$", "sql", []), (r"^pkg/clickhouse/[a-z_]*\.go$", "go", []), (r"^web/internal/clickhouse/src/.*\.ts$", "js", [])],
    "mr-karan/logchef": [(r"^dev/init-clickhouse\.sql$", "sql", []), (r"^docs/.*\.mdx?$", "md", [])],
    "coroot/coroot": [(r"^ch/client\.go$", "go", COROOT), (r"^clickhouse/.*\.go$", "go", COROOT)],
    "akvorado/akvorado": [(r"^orchestrator/clickhouse/testdata/states/013\.csv$", "csv", [])],
    "go-faster/oteldb": [(r"^internal/(ddl|chstorage)/_golden/.*\.sql$", "sql", []), (r"^internal/chstorage/chsql/_golden/.*\.sql$", "sql", [])],
    "lomik/graphite-clickhouse": [(r"^(autocomplete|find|finder|index|prometheus|render|tagger)/.*\.go$", "go", []), (r"^doc/.*\.md$", "md", [])],
    "PostHog/HouseWatch": [(r"^housewatch/.*\.py$", "py", [])],
    "ClickHouse/ClickBench": [(r"^clickhouse/create(-tuned)?\.sql$", "sql", []), (r"^clickhouse/queries.*\.sql$", "lines", []), (r"^versions/.*\.sql$", "lines", [])],
    "ClickHouse/examples": [(r"^(?!.*(postgres|snowflake|bigquery|mssql|databricks|redshift|athena|mysql)).*\.sql$", "sql", []), (r"^(?!.*postgres).*\.md$", "md", [])],
}
# Databases which a project's own start makes before its statements.
DATABASES = {
    "SigNoz/signoz-otel-collector": ["db", "signoz_traces", "signoz_logs", "signoz_metrics", "signoz_metadata", "signoz_meter", "signoz_analytics"],
    "openreplay/openreplay": ["connector_events"], "rudderlabs/rudder-server": ["rudderdb"], "highlight/highlight": [],
    "mr-karan/logchef": ["otel"],
}
# What a project's sessions begin with, behind its databases.
BEGINNINGS = {"akvorado/akvorado": ["SET allow_suspicious_low_cardinality_types = 1"]}


class Snapshot:
    """A bare git folder, read with git alone."""

    def __init__(self, folder):
        self.git = ["git", f"--git-dir={folder}"]
        self.commit = self._run("rev-parse", "HEAD").strip()
        told = self._run("grep", "-lIiE", "select|create|alter|insert|drop|rename|truncate|optimize|grant", "HEAD", allowed=(0, 1, 128))
        self.paths = [line.removeprefix("HEAD:") for line in told.splitlines()]

    def _run(self, *words, allowed=(0,)):
        done = subprocess.run([*self.git, *words], capture_output=True, check=False)
        if done.returncode not in allowed:
            raise subprocess.CalledProcessError(done.returncode, words)
        return done.stdout.decode("utf-8", "replace")

    def matching(self, pattern):
        natural = lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path)]
        return sorted((path for path in self.paths if re.search(pattern, path)), key=natural)

    def text(self, path):
        try:
            return self._run("show", f"HEAD:{path}")
        except subprocess.CalledProcessError:  # a large file that the snapshot leaves out
            return ""


def of_project(name, snapshot):
    """The project's statements in order, each once a query: (path, sql), and how many were left out for other machines."""
    found, seen, elsewhere = [], set(), 0
    for pattern, kind, fills in PROJECTS[name]:
        for path in snapshot.matching(pattern):
            text = snapshot.text(path)
            if kind in CODE and not WORDS.search(text):
                continue
            for sql in KINDS[kind](text, fills):
                for fill, text in ALONE:
                    sql = re.sub(fill, text, sql)
                sql = sql.strip().rstrip(";").strip()
                query = re.match(r"\s*(SELECT|WITH)\b", sql, re.I)
                if not sql or query and sql in seen:
                    continue
                seen.add(sql)
                if ELSEWHERE.search(sql):
                    elsewhere += 1
                    continue
                found.append((path, sql))
    return found, elsewhere


def _filled(text, fills):
    for pattern, replacement in fills:
        text = re.sub(pattern, replacement, text, flags=re.S if "(.*?)" in pattern else 0)
    return text


def _sql(text, fills):
    return statements(_filled(text, fills))


def _file(text, fills):
    return [_filled(text, fills)]


def _lines(text, fills):
    return [one for line in text.splitlines() for one in statements(line)]


def _markdown(text, fills):
    return [one for block in re.findall(r"```sql[^\n]*\n(.*?)```", text, re.S) for one in statements(block)]


def _csv(text, fills):
    return [row[1] for row in csv.reader(io.StringIO(text)) if len(row) > 1]


def _kept(strings, fills):
    """Of a source's strings those that begin as a statement does."""
    for string in strings:
        if FIRST.match(re.sub(r"\A(\s*--[^\n]*\n)+", "", string)):
            yield from statements(_filled(string, fills))


def _go(text, fills):
    return _kept((_unquoted(each) for each in _literals(text, "`\"", "//")), fills)


def _rust(text, fills):
    raw = re.compile(r'r(#*)"(.*?)"\1|"((?:\\.|[^"\\])*)"', re.S)
    strings = []
    for found in raw.finditer(re.sub(r"(?m)^\s*//.*$", "", text)):
        string = found.group(2) if found.group(2) is not None else re.sub(r"\\\n\s*", "", found.group(3)).replace("\\n", "\n").replace('\\"', '"')
        string = _filled(string, fills)
        # What `format!` joins in is left out; a parameter of ClickHouse has a colon and stays.
        string = re.sub(r"(?<!\{)\{[a-z_][a-z0-9_.]*\}(?!\})", "", string)
        strings.append(string.replace("{{", "{").replace("}}", "}"))
    return _kept(strings, [])


def _python(text, fills):
    strings = []
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            strings.append("".join(part.value if isinstance(part, ast.Constant) else "" for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            strings.append(node.value)
    return _kept(strings, fills)


def _javascript(text, fills):
    text = _filled(text, fills)
    consts = {name: body for name, body in re.findall(r"\bconst (\w+)(?:: string)? = (`[^`$]*`|\"[^\"\n]*\"|'[^'\n]*')", text)}
    return _kept((_template(each, consts, 0) for each in _literals(text, "`\"'", "//")), [])


def _template(literal, consts, depth):
    """A literal of JavaScript with each `${..}` filled: a constant, the first branch of a choice, or nothing."""
    if literal[0] != "`":
        return _unquoted(literal)
    out, at, body = [], 0, literal[1:-1]
    while at < len(body):
        if body[at] == "\\":
            out.append(body[at + 1 : at + 2] if body[at + 1 : at + 2] in "`$\\" else body[at : at + 2])
            at += 2
        elif body.startswith("${", at):
            end = _closing(body, at + 2)
            out.append(_expression(body[at + 2 : end].strip(), consts, depth))
            at = end + 1
        else:
            out.append(body[at])
            at += 1
    return "".join(out)


def _expression(expression, consts, depth):
    if expression in consts and depth < 3:
        return _template(consts[expression], consts, depth + 1)
    branches = _literals(expression, "`\"'", "//") if re.search(r"\?|&&", expression) and depth < 3 else []
    chosen = re.search(r"(\?|&&)\s*[`\"']", expression)
    if branches and chosen:
        first = next((each for each in branches if expression.find(each) >= chosen.end() - 1), None)
        return _template(first, consts, depth + 1) if first else ""
    return ""


def _closing(text, at):
    depth = 1
    while found := BRACE.search(text, at):
        at = found.start()
        if text[at] in "`\"'":
            at = _behind(text, at)
            continue
        depth += 1 if text[at] == "{" else -1
        if depth == 0:
            return at
        at += 1
    return len(text)


def _behind(text, at):
    """Behind the literal that begins at `at`; templates hold literals of their own."""
    quote, at = text[at], at + 1
    while found := INSIDE[quote].search(text, at):
        at = found.start()
        if text[at] == quote:
            return at + 1
        if text[at] == "\n":
            return at
        at = _closing(text, at + 2) + 1 if text[at] == "$" else at + 2
    return len(text)


def _literals(text, quotes, comment):
    found, at = [], 0
    while begun := BEGUN.search(text, at):
        at = begun.start()
        if text.startswith(comment, at):
            at = text.find("\n", at) + 1 or len(text)
        elif text.startswith("/*", at):
            at = text.find("*/", at) + 2 if "*/" in text[at:] else len(text)
        elif text[at] in quotes:
            end = _behind(text, at)
            found.append(text[at:end])
            at = end
        else:
            at += 1
    return found


def _unquoted(literal):
    body = literal[1:-1]
    return body if literal[0] == "`" else body.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")


def _openpanel(text, fills):
    """Its `createTable({..})` beside its plain statements: the parts are lists of strings."""
    found = []
    for start in (match.end() for match in re.finditer(r"\bcreateTable\(\{", text)):
        body = text[start : _closing(text, start)]
        part = lambda name: [_unquoted(each) for each in _literals((re.search(rf"\b{name}: \[(.*?)\n?\s*\],\n", body, re.S) or [None, ""])[1], "`\"'", "//")]
        one = lambda name, other: _unquoted((re.search(rf"\b{name}:\s*((['\"`]).*?\2),\n", body, re.S) or [None, f"'{other}'"])[1])
        partition = one("partitionBy", "")
        settings = ", ".join(f"{key} = {value}" for key, value in re.findall(r"^\s+(\w+): (\d+),?$", (re.search(r"settings: \{(.*?)\}", body, re.S) or ["", ""])[1], re.M))
        found.append(
            f"CREATE TABLE IF NOT EXISTS {one('name', '')} ({', '.join(part('columns') + part('indices'))}) ENGINE = {one('engine', 'MergeTree()')}"
            f" {'PARTITION BY ' + partition if partition else ''} ORDER BY ({', '.join(part('orderBy'))}) {'SETTINGS ' + settings if settings else ''}"
        )
    for table, columns in re.findall(r"addColumns\(\s*'(\w+)',\s*\[(.*?)\]", text, re.S):
        found += [f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {_unquoted(column)}" for column in _literals(columns, "`\"'", "//")]
    return found + list(_javascript(text, fills))


BEGUN, BRACE = re.compile("[`\"'/]"), re.compile("[`\"'{}]")
INSIDE = {"`": re.compile(r"`|\\|\$\{", re.S), '"': re.compile(r'"|\\|\n'), "'": re.compile(r"'|\\|\n")}
CODE = {"js", "go", "rust", "py", "snuba"}
KINDS = {
    "sql": _sql, "file": _file, "lines": _lines, "md": _markdown, "csv": _csv, "go": _go, "rust": _rust, "py": _python, "snuba": _python, "js": _javascript, "openpanel": _openpanel,
}
