import com.clickhouse.client.api.Client.Builder;
import com.clickhouse.client.api.data_formats.RowBinaryFormatWriter;
import com.clickhouse.client.api.query.GenericRecord;
import com.clickhouse.client.api.query.QuerySettings;
import com.clickhouse.data.ClickHouseFormat;
import java.io.ByteArrayInputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** clickhouse-jdbc and the client below it: their own way through every check. One line a check. */
public class Client {
    static final String HOST = System.getenv("GRISTMILL_HOST") + ":" + System.getenv("GRISTMILL_PORT");
    static final String DATABASE = System.getenv("GRISTMILL_TEST_DATABASE");
    static final String USER = System.getenv("GRISTMILL_TEST_USER");
    static final String PASSWORD = System.getenv("GRISTMILL_TEST_PASSWORD");
    static final String ENDLESS = "SELECT sum(cityHash64(number)) FROM numbers(1000000000000)";
    static final String FAILS_LATE = "SELECT number, intDiv(1, 3000000 - number) AS q FROM numbers(4000000)";
    static List<String[]> all;
    /** Without those that the server does not know; the runner has counted each as a failure. */
    static List<String[]> types;

    interface Step {
        void run() throws Exception;
    }

    static void passed(String name) {
        System.out.println("ok " + name);
    }

    static void failed(String name, Object why) {
        String text = String.valueOf(why).replaceAll("\\s+", " ");
        System.out.println("FAILED " + name + ": " + text.substring(0, Math.min(400, text.length())));
    }

    static void equal(String name, Object got, Object expected) {
        if (plain(got).equals(plain(expected))) {
            passed(name);
        } else {
            failed(name, plain(got) + " instead of " + plain(expected));
        }
    }

    /** A value as text, so that two of the same meaning are equal. */
    static String plain(Object value) {
        if (value instanceof ZonedDateTime moment) {
            return moment.toInstant().toString();
        } else if (value instanceof BigDecimal number) {
            return number.stripTrailingZeros().toPlainString();
        } else if (value instanceof InetAddress address) {
            return address.getHostAddress();
        } else if (value instanceof Map<?, ?> map) {
            TreeMap<String, String> sorted = new TreeMap<>();
            map.forEach((key, item) -> sorted.put(plain(key), plain(item)));
            return sorted.toString();
        } else if (value instanceof List<?> list) {
            return list.stream().map(Client::plain).toList().toString();
        } else if (value instanceof Object[] items) {
            return Arrays.stream(items).map(Client::plain).toList().toString();
        } else if (value != null && value.getClass().isArray()) {
            List<String> texts = new ArrayList<>();
            for (int index = 0; index < java.lang.reflect.Array.getLength(value); index++) {
                texts.add(plain(java.lang.reflect.Array.get(value, index)));
            }
            return texts.toString();
        } else if (value instanceof com.clickhouse.client.api.data_formats.internal.BinaryStreamReader.ArrayValue array) {
            return plain(array.asList());
        } else if (value instanceof com.clickhouse.client.api.data_formats.internal.BinaryStreamReader.EnumValue item) {
            return item.toString();
        }
        return String.valueOf(value);
    }

    static void raises(String name, int code, String word, Step step) {
        try {
            step.run();
            failed(name, "no error");
        } catch (Exception error) {
            String said = "";
            int found = 0;
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                said += cause.getMessage() + " ";
                if (cause instanceof com.clickhouse.client.api.ServerException server) {
                    found = server.getCode();
                }
                if (found == 0 && cause instanceof SQLException statement) {
                    found = statement.getErrorCode();
                }
            }
            if (!said.contains(word) || (found != 0 && found != code)) {
                failed(name, "code " + found + ": " + said);
            } else {
                passed(name);
            }
        }
    }

    static void within(String name, int seconds, BooleanSupplier holds) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (System.nanoTime() < end) {
            if (holds.getAsBoolean()) {
                passed(name);
                return;
            }
            Thread.sleep(50);
        }
        failed(name, "not within " + seconds + " s");
    }

    static Connection connect(String... more) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", USER);
        properties.setProperty("password", PASSWORD);
        for (int index = 0; index < more.length; index += 2) {
            properties.setProperty(more[index], more[index + 1]);
        }
        return DriverManager.getConnection("jdbc:clickhouse://" + HOST + "/" + DATABASE, properties);
    }

    static com.clickhouse.client.api.Client client(boolean compressRequest) {
        return new Builder().addEndpoint("http://" + HOST).setUsername(USER).setPassword(PASSWORD)
            .setDefaultDatabase(DATABASE).compressClientRequest(compressRequest).build();
    }

    static List<Object> one(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            List<Object> values = new ArrayList<>();
            if (rows.next()) {
                for (int column = 1; column <= rows.getMetaData().getColumnCount(); column++) {
                    values.add(rows.getObject(column));
                }
            }
            return values;
        }
    }

    static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    static ZonedDateTime at(String zone, String text) {
        return LocalDateTime.parse(text).atZone(ZoneId.of(zone));
    }

    static List<List<Object>> rows() throws Exception {
        BigInteger one = BigInteger.ONE;
        BigDecimal none = null;
        List<Object> first = Arrays.asList((byte) -128, (short) -32768, Integer.MIN_VALUE, Long.MIN_VALUE, one.shiftLeft(127).negate(),
            one.shiftLeft(255).negate(), 0, 0, 0L, BigInteger.ZERO, BigInteger.ZERO, BigInteger.ZERO, 1.5f, 0.1,
            new BigDecimal("1234567.89"), new BigDecimal("12345678901234.5678"), new BigDecimal("1234567890123456789012345678.0123456789"),
            new BigDecimal("12345678901234567890123456789012345678901234567890.01234567890123456789"), "naïve 'quoted' \t \\ ☃", "abcd",
            LocalDate.of(2024, 2, 29), LocalDate.of(1900, 1, 1), at("UTC", "2024-02-29T12:34:56"), at("Europe/Berlin", "2024-07-01T12:00:00"),
            at("UTC", "2024-02-29T12:34:56.789"), at("America/New_York", "2024-07-01T12:00:00.123456789"),
            UUID.fromString("61f0c404-5cb3-11e7-907b-a6006ad3dba0"), InetAddress.getByName("192.168.1.2"),
            InetAddress.getByName("2001:db8::8a2e:370:7334"), "low", "x", true, 7, "there", "often", "often", List.of(1L, 2L, 3L),
            Arrays.asList("a", null), List.of(List.of((byte) 1), List.of(), List.of((byte) -2, (byte) 3)),
            new TreeMap<>(Map.of("k", BigInteger.ONE, "l", BigInteger.TWO)), Map.of("k", List.of("a", "b")), List.of(-1, "one"), List.of(1, "one"),
            List.of(List.of(1, "one"), List.of(2, "two")));
        List<Object> second = Arrays.asList((byte) 127, (short) 32767, Integer.MAX_VALUE, Long.MAX_VALUE, one.shiftLeft(127).subtract(one),
            one.shiftLeft(255).subtract(one), 255, 65535, 4294967295L, one.shiftLeft(64).subtract(one), one.shiftLeft(128).subtract(one),
            one.shiftLeft(256).subtract(one), -0.25f, -1e300, new BigDecimal("-0.01"), new BigDecimal("-0.0001"), new BigDecimal("-1"),
            new BigDecimal("-0.5"), "", "wxyz", LocalDate.of(1970, 1, 2), LocalDate.of(2299, 12, 31), at("UTC", "1970-01-02T00:00:00"),
            at("Europe/Berlin", "2024-01-01T12:00:00"), at("UTC", "1960-01-01T00:00:00.001"),
            at("America/New_York", "2024-01-01T12:00:00.000000001"), UUID.fromString("00000000-0000-0000-0000-000000000001"),
            InetAddress.getByName("0.0.0.0"), InetAddress.getByName("::1"), "high", "y", false, none, none, "", none, List.of(), List.of(),
            List.of(List.of()), Map.of(), Map.of(), List.of(0, ""), Arrays.asList(2, null), List.of());
        return List.of(kept(first), kept(second));
    }

    static List<Object> kept(List<Object> row) {
        List<Object> values = new ArrayList<>();
        for (int column = 0; column < row.size(); column++) {
            if (types.contains(all.get(column))) {
                values.add(row.get(column));
            }
        }
        return values;
    }

    static void connection() throws Exception {
        try (Connection connection = connect()) {
            equal("isValid", connection.isValid(5), true);
            equal("the database of the connection", one(connection, "SELECT currentDatabase()"), List.of(DATABASE));
            equal("product", connection.getMetaData().getDatabaseProductName(), "ClickHouse");
            equal("server version", connection.getMetaData().getDatabaseMajorVersion() >= 25, true);
        }
        try (var client = client(false)) {
            equal("ping of the client below", client.ping(), true);
            client.loadServerInfo();
            equal("version of the server", client.getServerVersion().startsWith("2"), true);
            // What loadServerInfo() keeps of the zone is a text, and getServerTimeZone() of this version casts it to a zone.
            equal("time zone of the server", client.queryAll("SELECT timezone() AS zone").get(0).getString("zone"), "UTC");
        }
    }

    static String ddl() {
        List<String> columns = new ArrayList<>();
        types.forEach(entry -> columns.add(entry[0] + " " + entry[1]));
        return String.join(", ", columns);
    }

    static void everyType() throws Exception {
        try (Connection connection = connect(); var client = client(true)) {
            execute(connection, "CREATE TABLE every_type (" + ddl() + ") ENGINE = MergeTree ORDER BY u8");
            // JDBC writes text: literals of arrays, maps and tuples are the statement's own.
            List<String> places = new ArrayList<>();
            List<Integer> bound = new ArrayList<>();
            for (int row = 0; row < 2; row++) {
                List<String> values = new ArrayList<>();
                for (int column = 0; column < types.size(); column++) {
                    boolean plain = !types.get(column)[1].matches("(Array|Map|Tuple).*");
                    values.add(plain ? "?" : types.get(column)[2 + row]);
                    if (plain && row == 0) {
                        bound.add(column);
                    }
                }
                places.add("(" + String.join(", ", values) + ")");
            }
            for (int row = 0; row < 2; row++) {
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO every_type VALUES " + places.get(row))) {
                    for (int place = 0; place < bound.size(); place++) {
                        Object value = rows().get(row).get(bound.get(place));
                        String type = types.get(bound.get(place))[1];
                        // The driver spells an address as an object of its own.
                        boolean spelled = value instanceof InetAddress || value instanceof ZonedDateTime || type.startsWith("DateTime");
                        insert.setObject(place + 1, spelled ? text(row, bound.get(place)) : value);
                    }
                    equal("rows of an INSERT", insert.executeUpdate(), 1);
                }
            }
            compare(connection, "every_type", "JDBC");
            for (int column = 0; column < types.size(); column++) {
                // The client writes no mark of NULL inside a tuple, which is wrong for every server.
                if (!types.get(column)[0].equals("tn")) {
                    byClient(connection, client, column);
                }
            }
            List<GenericRecord> records = client.queryAll("SELECT * FROM every_type ORDER BY u8");
            equal("records of the client below", records.size(), 2);
            equal("its big integers", records.get(1).getBigInteger("u64"), BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE));
            equal("and of 256 bits", records.get(1).getBigInteger("u256"), BigInteger.ONE.shiftLeft(256).subtract(BigInteger.ONE));
        }
    }

    /** The client below writes a type as RowBinary; its text is what types.tsv has. */
    static void byClient(Connection connection, com.clickhouse.client.api.Client client, int column) {
        String name = types.get(column)[1] + " as RowBinary of the client";
        String table = "by_client_" + types.get(column)[0];
        try {
            execute(connection, "CREATE TABLE " + table + " (n UInt8, v " + types.get(column)[1] + ") ENGINE = Memory");
            var schema = client.getTableSchema(table);
            var settings = new com.clickhouse.client.api.insert.InsertSettings();
            client.insert(table, out -> {
                var writer = new RowBinaryFormatWriter(out, schema, ClickHouseFormat.RowBinary);
                for (int row = 0; row < 2; row++) {
                    writer.setValue(1, row);
                    try {
                        writer.setValue(2, rows().get(row).get(column));
                    } catch (Exception error) {
                        throw new java.io.IOException(error);
                    }
                    writer.commitRow();
                }
            }, ClickHouseFormat.RowBinary, settings).get().close();
            var answer = client.query("SELECT v FROM " + table + " ORDER BY n", new QuerySettings().setFormat(ClickHouseFormat.TSV)).get();
            String text = new String(answer.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            answer.close();
            equal(name, text, text(0, column) + "\n" + text(1, column) + "\n");
        } catch (Exception error) {
            failed(name, error + " " + error.getCause());
        }
    }

    static String text(int row, int column) {
        return types.get(column)[4 + row];
    }

    static void compare(Connection connection, String table, String way) throws Exception {
        try (Statement statement = connection.createStatement(); ResultSet found = statement.executeQuery("SELECT * FROM " + table + " ORDER BY u8")) {
            int row = 0;
            for (; found.next() && row < 2; row++) {
                for (int column = 0; column < types.size(); column++) {
                    Object got = found.getObject(column + 1);
                    String name = types.get(column)[1] + " as selected in row " + row + ", " + way;
                    if (got instanceof java.sql.Array array) {
                        got = array.getArray();
                    } else if (got instanceof java.sql.Timestamp || got instanceof java.sql.Date || got instanceof java.time.temporal.Temporal) {
                        // What a moment becomes depends on the zone of this machine; its text does not.
                        Class<?> wanted = types.get(column)[1].startsWith("DateTime") ? ZonedDateTime.class : LocalDate.class;
                        got = found.getObject(column + 1, wanted);
                    }
                    equal(name, got, rows().get(row).get(column));
                }
            }
            equal("rows read, " + way, row, 2);
        }
    }

    static void errors() throws Exception {
        try (Connection connection = connect()) {
            raises("unknown table", 60, "no_such_table", () -> one(connection, "SELECT * FROM no_such_table"));
            raises("syntax error", 62, "SYNTAX_ERROR", () -> one(connection, "SELECT (1"));
            raises("unknown column", 47, "no_such_column", () -> one(connection, "SELECT no_such_column FROM every_type"));
            // This version does not read the error behind the rows; it hears that the answer was cut.
            raises("an error in the middle of a stream", 0, "Premature end of chunk", () -> {
                try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(FAILS_LATE)) {
                    while (rows.next()) {
                        rows.getLong(1);
                    }
                }
            });
            equal("the connection lives after errors", one(connection, "SELECT 'yes'"), List.of("yes"));
        }
        // JDBC always asks for the first rows at once; the client below may wait for the end, and then reads the error itself.
        try (var client = client(false)) {
            raises("an error behind rows that were waited for", 153, "ivision",
                () -> client.query(FAILS_LATE, new QuerySettings().waitEndOfQuery(true)).get().close());
        }
        raises("a wrong password", 516, "AUTHENTICATION_FAILED", () -> {
            try (Connection connection = connect("user", "nobody", "password", "wrong")) {
                one(connection, "SELECT 1");
            }
        });
    }

    static void cancel() throws Exception {
        // Closing an endless answer is not tried: the HTTP library below reads it to its end first.
        try (Connection connection = connect(); Connection watcher = connect()) {
            Statement statement = connection.createStatement();
            Thread waiting = new Thread(() -> {
                try {
                    statement.executeQuery(ENDLESS);
                } catch (SQLException expected) {
                    // Cancelled.
                }
            });
            waiting.start();
            BooleanSupplier endless = () -> {
                try {
                    return !one(watcher, "SELECT count() FROM system.processes WHERE query LIKE 'SELECT sum(cityHash64%'").toString().equals("[0]");
                } catch (SQLException error) {
                    throw new IllegalStateException(error);
                }
            };
            within("a long statement is in system.processes", 10, endless);
            // The driver says KILL QUERY with the statement's id.
            statement.cancel();
            within("cancel() ends the statement", 2, () -> !endless.getAsBoolean());
            waiting.join(5000);
            equal("and its thread", waiting.isAlive(), false);
        }
    }

    static void compression() throws Exception {
        byte[] lines = "1\tone\n2\ttwo\n".getBytes(StandardCharsets.UTF_8);
        for (boolean http : new boolean[] {false, true}) {
            String name = http ? "compression of HTTP" : "compression in frames";
            try (var client = new Builder().addEndpoint("http://" + HOST).setUsername(USER).setPassword(PASSWORD).setDefaultDatabase(DATABASE)
                     .compressServerResponse(true).compressClientRequest(true).useHttpCompression(http).build()) {
                client.execute("CREATE OR REPLACE TABLE compressed (n UInt32, s String) ENGINE = MergeTree ORDER BY n").get().close();
                client.insert("compressed", new ByteArrayInputStream(lines), ClickHouseFormat.TSV).get().close();
                equal(name, client.queryAll("SELECT s FROM compressed ORDER BY n").stream().map(row -> row.getString(1)).toList(), List.of("one", "two"));
                raises(name + " of an error", 60, "no_such_table", () -> client.queryAll("SELECT * FROM no_such_table"));
            }
        }
    }

    static void sessions() throws Exception {
        try (Connection connection = connect("clickhouse_setting_session_id", "jdbc-session")) {
            execute(connection, "CREATE TEMPORARY TABLE of_session (n UInt8)");
            execute(connection, "INSERT INTO of_session VALUES (1), (2)");
            equal("a temporary table lives in its session", one(connection, "SELECT sum(n) FROM of_session"), List.of(3));
        }
    }

    static void parameters() throws Exception {
        try (var client = client(false); Connection connection = connect()) {
            var records = client.queryAll("SELECT {n:UInt8} AS n, {s:String} AS s", Map.of("n", 42, "s", "it's"));
            equal("server parameters", List.of(records.get(0).getInteger("n"), records.get(0).getString("s")), List.of(42, "it's"));
            try (PreparedStatement select = connection.prepareStatement("SELECT ?, ? + 1")) {
                select.setString(1, "it's \\ 'quoted'");
                select.setInt(2, 41);
                try (ResultSet rows = select.executeQuery()) {
                    rows.next();
                    equal("parameters of JDBC", List.of(rows.getString(1), rows.getInt(2)), List.of("it's \\ 'quoted'", 42));
                }
            }
        }
    }

    static void metadata() throws Exception {
        try (Connection connection = connect()) {
            var about = connection.getMetaData();
            List<String> tables = new ArrayList<>();
            try (ResultSet rows = about.getTables(null, DATABASE, "every%", null)) {
                while (rows.next()) {
                    tables.add(rows.getString("TABLE_NAME"));
                }
            }
            equal("getTables", tables, List.of("every_type"));
            List<String> columns = new ArrayList<>();
            try (ResultSet rows = about.getColumns(null, DATABASE, "every_type", "%")) {
                while (rows.next()) {
                    columns.add(rows.getString("COLUMN_NAME"));
                }
            }
            equal("getColumns", columns, types.stream().map(entry -> entry[0]).toList());
            List<String> schemas = new ArrayList<>();
            try (ResultSet rows = about.getSchemas()) {
                while (rows.next()) {
                    schemas.add(rows.getString("TABLE_SCHEM"));
                }
            }
            equal("getSchemas", schemas.contains(DATABASE), true);
            try (ResultSet rows = about.getTableTypes()) {
                equal("getTableTypes", rows.next(), true);
            }
            try (ResultSet rows = about.getTypeInfo()) {
                equal("getTypeInfo", rows.next(), true);
            }
        }
    }

    static void million() throws Exception {
        try (Connection connection = connect()) {
            long count = 0, total = 0, length = 0;
            try (Statement statement = connection.createStatement();
                 ResultSet rows = statement.executeQuery("SELECT number, toString(number) FROM numbers(1000000)")) {
                while (rows.next()) {
                    count++;
                    total += rows.getLong(1);
                    length += rows.getString(2).length();
                }
            }
            equal("a million rows streamed out", List.of(count, total, length), List.of(1000000L, 499999500000L, 5888890L));
            execute(connection, "CREATE TABLE million (n UInt64, s String) ENGINE = MergeTree ORDER BY n");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO million (n, s) VALUES (?, ?)")) {
                for (int number = 0; number < 100000; number++) {
                    insert.setLong(1, number);
                    insert.setString(2, "it's " + number);
                    insert.addBatch();
                    if (number % 10000 == 9999) {
                        insert.executeBatch();
                    }
                }
            }
            equal("batches of JDBC", one(connection, "SELECT count(), sum(n) FROM million"), List.of(100000, 4999950000L));
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<String> missing = List.of(System.getenv().getOrDefault("GRISTMILL_MISSING", "").split(","));
        all = Files.readAllLines(Path.of(System.getenv("GRISTMILL_TYPES"))).stream().map(line -> line.split("\t", -1)).toList();
        types = all.stream().filter(entry -> !missing.contains(entry[0])).toList();
        Map<String, Step> steps = new java.util.LinkedHashMap<>();
        steps.put("connection", Client::connection);
        steps.put("everyType", Client::everyType);
        steps.put("errors", Client::errors);
        steps.put("cancel", Client::cancel);
        steps.put("compression", Client::compression);
        steps.put("sessions", Client::sessions);
        steps.put("parameters", Client::parameters);
        steps.put("metadata", Client::metadata);
        steps.put("million", Client::million);
        steps.forEach((name, step) -> {
            try {
                step.run();
            } catch (Throwable error) {
                Throwable cause = error;
                String said = "";
                for (; cause != null; cause = cause.getCause()) {
                    said += cause + " ";
                }
                int line = Arrays.stream(error.getStackTrace()).filter(frame -> frame.getClassName().startsWith("Client"))
                    .mapToInt(StackTraceElement::getLineNumber).findFirst().orElse(0);
                failed(name, "line " + line + ": " + said);
            }
        });
        System.exit(0);
    }
}
