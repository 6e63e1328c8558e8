"""SQLAlchemy through clickhouse-connect's dialect: the statements that ORMs and dashboards make of models."""
import sqlalchemy
from clickhouse_connect.cc_sqlalchemy.datatypes.base import sqla_type_from_name
from clickhouse_connect.cc_sqlalchemy.ddl.tableengine import MergeTree
from sqlalchemy import Column, MetaData, Table, func, inspect, select, text

from checks import DATABASE, HOST, PASSWORD, PORT, TYPES, USER, check, equal, raises
from rows import FORMATS, ROWS, moment

ADDRESS = sqlalchemy.URL.create("clickhousedb", USER, PASSWORD, HOST, PORT, DATABASE)
engine = sqlalchemy.create_engine(ADDRESS)


def connection():
    with engine.connect() as opened:
        equal("connect", opened.execute(text("SELECT 1")).scalar(), 1)
        equal("currentDatabase()", opened.execute(text("SELECT currentDatabase()")).scalar(), DATABASE)
    equal("the names of schemas", DATABASE in inspect(engine).get_schema_names(), True)


def every_type():
    metadata = MetaData(schema=DATABASE)
    columns = [Column(name, sqla_type_from_name(declared)) for name, declared, *_ in TYPES]
    table = Table("every_type", metadata, *columns, MergeTree(order_by="u8"))
    table.create(engine)
    kept = [index for index, (name, *_) in enumerate(TYPES) if name not in FORMATS]
    with engine.begin() as opened:
        opened.execute(table.insert(), [{TYPES[index][0]: row[index] for index in range(len(TYPES))} for row in ROWS])
        answer = opened.execute(select(*[table.c[TYPES[index][0]] for index in kept]).order_by(table.c.u8)).all()
    equal("rows read", len(answer), 2)
    for row, expected in zip(answer, ROWS):
        for index, got in zip(kept, row):
            equal(f"{TYPES[index][1]} as selected", moment(got), expected[index])


def reflection():
    found = inspect(engine)
    equal("the table is found", "every_type" in found.get_table_names(schema=DATABASE), True)
    equal("has_table", (found.has_table("every_type", schema=DATABASE), found.has_table("no_such", schema=DATABASE)), (True, False))
    names = [column["name"] for column in found.get_columns("every_type", schema=DATABASE)]
    equal("its columns are found", names, [name for name, *_ in TYPES])
    reflected = Table("every_type", MetaData(schema=DATABASE), autoload_with=engine)
    equal("a reflected table", [column.name for column in reflected.columns], names)
    with engine.connect() as opened:
        opened.execute(text("CREATE VIEW the_view AS SELECT u8 FROM every_type"))
    equal("views are found", inspect(engine).get_view_names(schema=DATABASE), ["the_view"])


def queries():
    table = Table("every_type", MetaData(schema=DATABASE), autoload_with=engine)
    with engine.connect() as opened:
        grouped = select(table.c.b, func.count(), func.max(table.c.u64)).group_by(table.c.b).order_by(table.c.b)
        equal("a grouped query", opened.execute(grouped).all(), [(False, 1, 2**64 - 1), (True, 1, 0)])
        filtered = select(table.c.s).where(table.c.u8 == sqlalchemy.bindparam("wanted"))
        equal("a bound value", opened.execute(filtered, {"wanted": 0}).scalar(), ROWS[0][[name for name, *_ in TYPES].index("s")])
        joined = select(func.count()).select_from(table.join(table.alias("other"), sqlalchemy.text("1 = 1")))
        equal("a statement of the ORM's joins", "JOIN" in str(joined), True)
        limited = select(table.c.u8).order_by(table.c.u8.desc()).limit(1).offset(1)
        equal("LIMIT and OFFSET", opened.execute(limited).all(), [(0,)])
    # What Superset makes of a time grain.
    grain = "SELECT toStartOfMonth(toDateTime(dt)) AS month, count() FROM every_type GROUP BY month ORDER BY month"
    with engine.connect() as opened:
        equal("a time grain", [str(row[0]) for row in opened.execute(text(grain))], ["1970-01-01", "2024-02-01"])


def errors():
    def run(statement):
        with engine.connect() as opened:
            return opened.execute(text(statement)).all()

    raises("unknown table", lambda: run("SELECT * FROM no_such_table"), "60", "UNKNOWN_TABLE")
    raises("syntax error", lambda: run("SELEKT 1"), "62", "SYNTAX_ERROR")
    raises("unknown column", lambda: run("SELECT no_such_column FROM every_type"), "47", "UNKNOWN_IDENTIFIER")


for step in (connection, every_type, reflection, queries, errors):
    check(step)
