// clickhouse-go over HTTP: its own way through every check. One line a check: `ok NAME` or `FAILED NAME: why`.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

var (
	background = context.Background()
	// Columns of types that the server does not know; the runner has counted each as a failure.
	missing = strings.Split(os.Getenv("GRISTMILL_MISSING"), ",")
	kept    []bool
	types   = readTypes()
)

func passed(name string) { fmt.Println("ok", name) }

func failed(name string, why any) {
	text := strings.Join(strings.Fields(fmt.Sprint(why)), " ")
	if len(text) > 400 {
		text = text[:400]
	}
	fmt.Printf("FAILED %s: %s\n", name, text)
}

func equal(name string, got, expected any) {
	if reflect.DeepEqual(got, expected) {
		passed(name)
	} else {
		failed(name, fmt.Sprintf("%v instead of %v", got, expected))
	}
}

// raises wants an error of the server with this code and name.
func raises(name string, err error, code int32, word string) {
	var exception *clickhouse.Exception
	switch {
	case err == nil:
		failed(name, "no error")
	case errors.As(err, &exception) && exception.Code != code:
		failed(name, fmt.Sprintf("code %d instead of %d: %v", exception.Code, code, err))
	case !strings.Contains(err.Error(), fmt.Sprint(code)) || !strings.Contains(err.Error(), word):
		failed(name, err)
	default:
		passed(name)
	}
}

func within(name string, limit time.Duration, holds func() bool) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if holds() {
			passed(name)
			return
		}
	}
	failed(name, fmt.Sprint("not within ", limit))
}

func readTypes() [][]string {
	text, err := os.ReadFile(os.Getenv("GRISTMILL_TYPES"))
	if err != nil {
		panic(err)
	}
	var entries [][]string
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		entry := strings.Split(line, "\t")
		kept = append(kept, !slices.Contains(missing, entry[0]))
		if kept[len(kept)-1] {
			entries = append(entries, entry)
		}
	}
	return entries
}

func options(method clickhouse.CompressionMethod) *clickhouse.Options {
	return &clickhouse.Options{
		Protocol: clickhouse.HTTP,
		Addr:     []string{os.Getenv("GRISTMILL_HOST") + ":" + os.Getenv("GRISTMILL_PORT")},
		Auth: clickhouse.Auth{
			Database: os.Getenv("GRISTMILL_TEST_DATABASE"),
			Username: os.Getenv("GRISTMILL_TEST_USER"),
			Password: os.Getenv("GRISTMILL_TEST_PASSWORD"),
		},
		Compression: &clickhouse.Compression{Method: method},
		ReadTimeout: 2 * time.Minute,
	}
}

func connect(method clickhouse.CompressionMethod) (driver.Conn, error) {
	return clickhouse.Open(options(method))
}

func one[T any](conn driver.Conn, query string, args ...any) T {
	var value T
	if err := conn.QueryRow(background, query, args...).Scan(&value); err != nil {
		panic(fmt.Errorf("%s: %w", query, err))
	}
	return value
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func connection(conn driver.Conn) {
	must(conn.Ping(background))
	passed("ping")
	version, err := conn.ServerVersion()
	must(err)
	equal("server version", version.Version.Major >= 25, true)
	equal("revision()", one[uint32](conn, "SELECT revision()"), uint32(54460))
	equal("the database of the connection", one[string](conn, "SELECT currentDatabase()"), os.Getenv("GRISTMILL_TEST_DATABASE"))
}

func integer(text string) *big.Int {
	value, _ := new(big.Int).SetString(text, 10)
	return value
}

func at(zone, text string) time.Time {
	place, err := time.LoadLocation(zone)
	must(err)
	value, err := time.ParseInLocation("2006-01-02 15:04:05.999999999", text, place)
	must(err)
	return value
}

func pointer[T any](value T) *T { return &value }

func rows() [2][]any {
	all := allRows()
	for row := range all {
		var values []any
		for column, value := range all[row] {
			if kept[column] {
				values = append(values, value)
			}
		}
		all[row] = values
	}
	return all
}

func allRows() [2][]any {
	power := func(exponent uint, minus int64) *big.Int {
		return new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), exponent), big.NewInt(minus))
	}
	negative := func(exponent uint) *big.Int { return new(big.Int).Neg(power(exponent, 0)) }
	money := decimal.RequireFromString
	return [2][]any{
		{int8(-128), int16(-32768), int32(-2147483648), int64(-9223372036854775808), negative(127), negative(255),
			uint8(0), uint16(0), uint32(0), uint64(0), big.NewInt(0), big.NewInt(0), float32(1.5), 0.1,
			money("1234567.89"), money("12345678901234.5678"), money("1234567890123456789012345678.0123456789"),
			money("12345678901234567890123456789012345678901234567890.01234567890123456789"),
			"naïve 'quoted' \t \\ ☃", "abcd", at("UTC", "2024-02-29 00:00:00"), at("UTC", "1900-01-01 00:00:00"),
			at("UTC", "2024-02-29 12:34:56"), at("Europe/Berlin", "2024-07-01 12:00:00"), at("UTC", "2024-02-29 12:34:56.789"),
			at("America/New_York", "2024-07-01 12:00:00.123456789"), uuid.MustParse("61f0c404-5cb3-11e7-907b-a6006ad3dba0"),
			net.ParseIP("192.168.1.2").To4(), net.ParseIP("2001:db8::8a2e:370:7334"), "low", "x", true, pointer(int32(7)), pointer("there"),
			"often", pointer("often"), []uint32{1, 2, 3}, []*string{pointer("a"), nil}, [][]int8{{1}, {}, {-2, 3}},
			map[string]uint64{"k": 1, "l": 2}, map[string][]string{"k": {"a", "b"}}, []any{int32(-1), "one"},
			map[string]any{"a": uint8(1), "b": pointer("one")},
			[]map[string]any{{"x": uint8(1), "y": "one"}, {"x": uint8(2), "y": "two"}}},
		{int8(127), int16(32767), int32(2147483647), int64(9223372036854775807), power(127, 1), power(255, 1),
			uint8(255), uint16(65535), uint32(4294967295), uint64(18446744073709551615), power(128, 1), power(256, 1), float32(-0.25), -1e300,
			money("-0.01"), money("-0.0001"), money("-1"), money("-0.5"), "", "wxyz", at("UTC", "1970-01-02 00:00:00"),
			at("UTC", "2299-12-31 00:00:00"), at("UTC", "1970-01-02 00:00:00"), at("Europe/Berlin", "2024-01-01 12:00:00"),
			at("UTC", "1960-01-01 00:00:00.001"), at("America/New_York", "2024-01-01 12:00:00.000000001"),
			uuid.MustParse("00000000-0000-0000-0000-000000000001"), net.ParseIP("0.0.0.0").To4(), net.ParseIP("::1"), "high", "y", false,
			(*int32)(nil), (*string)(nil), "", (*string)(nil), []uint32{}, []*string{}, [][]int8{{}}, map[string]uint64{},
			map[string][]string{}, []any{int32(0), ""}, map[string]any{"a": uint8(2), "b": (*string)(nil)}, []map[string]any{}},
	}
}

// plain spells a value so that two of the same meaning are the same text.
func plain(value any) string {
	switch value := value.(type) {
	case time.Time:
		return value.UTC().Format(time.RFC3339Nano)
	case decimal.Decimal:
		return value.String()
	case big.Int:
		return value.String()
	case *big.Int:
		return value.String()
	case fmt.Stringer:
		return value.String()
	}
	found := reflect.ValueOf(value)
	switch found.Kind() {
	case reflect.Pointer:
		if found.IsNil() {
			return "NULL"
		}
		return plain(found.Elem().Interface())
	case reflect.Interface:
		return plain(found.Elem().Interface())
	case reflect.Slice:
		var parts []string
		for index := range found.Len() {
			parts = append(parts, plain(found.Index(index).Interface()))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case reflect.Map:
		// fmt sorts keys.
		texts := map[string]string{}
		for _, key := range found.MapKeys() {
			texts[fmt.Sprint(key)] = plain(found.MapIndex(key).Interface())
		}
		return fmt.Sprint(texts)
	}
	return fmt.Sprint(value)
}

func everyType(conn driver.Conn) {
	var columns []string
	for _, entry := range types {
		columns = append(columns, entry[0]+" "+entry[1])
	}
	must(conn.Exec(background, "CREATE TABLE every_type ("+strings.Join(columns, ", ")+") ENGINE = MergeTree ORDER BY u8"))
	batch, err := conn.PrepareBatch(background, "INSERT INTO every_type")
	must(err)
	for _, row := range rows() {
		must(batch.Append(row...))
	}
	must(batch.Send())
	passed("a batch of every type")
	answer, err := conn.Query(background, "SELECT * FROM every_type ORDER BY u8")
	must(err)
	defer answer.Close()
	seen := 0
	for ; answer.Next() && seen < 2; seen++ {
		var targets []any
		for _, column := range answer.ColumnTypes() {
			targets = append(targets, reflect.New(column.ScanType()).Interface())
		}
		must(answer.Scan(targets...))
		for index, entry := range types {
			got := plain(reflect.ValueOf(targets[index]).Elem().Interface())
			equal(fmt.Sprintf("%s as selected in row %d", entry[1], seen), got, plain(rows()[seen][index]))
		}
	}
	must(answer.Err())
	equal("rows read", seen, 2)
}

func errorsOf(conn driver.Conn) {
	raises("unknown table", conn.Exec(background, "SELECT * FROM no_such_table"), 60, "no_such_table")
	raises("syntax error", conn.Exec(background, "SELEKT 1"), 62, "yntax")
	raises("unknown column", conn.Exec(background, "SELECT no_such_column FROM every_type"), 47, "no_such_column")
	_, err := conn.PrepareBatch(background, "INSERT INTO no_such_table")
	raises("an INSERT into no table", err, 60, "no_such_table")
	wrong := options(clickhouse.CompressionNone)
	wrong.Auth.Username, wrong.Auth.Password = "nobody", "wrong"
	stranger, err := clickhouse.Open(wrong)
	must(err)
	raises("a wrong password", stranger.Ping(background), 516, "516")
	answer, err := conn.Query(background, "SELECT number, intDiv(1, 3000000 - number) AS q FROM numbers(4000000)")
	if err == nil {
		for answer.Next() {
		}
		err = answer.Err()
	}
	raises("an error in the middle of a stream", err, 153, "ivision")
	equal("the client lives after errors", one[uint8](conn, "SELECT 1"), uint8(1))
}

func cancel(conn driver.Conn) {
	running := func(id string) bool {
		return one[uint64](conn, "SELECT count() FROM system.processes WHERE query_id = '"+id+"'") > 0
	}
	settings := clickhouse.WithSettings(clickhouse.Settings{"cancel_http_readonly_queries_on_client_close": 1})
	limited, stop := context.WithCancel(background)
	ended := make(chan error, 1)
	go func() {
		ended <- conn.Exec(clickhouse.Context(limited, clickhouse.WithQueryID("go-endless"), settings),
			"SELECT sum(cityHash64(number)) FROM numbers(1000000000000)")
	}()
	within("a long statement is in system.processes", 10*time.Second, func() bool { return running("go-endless") })
	stop()
	equal("its context ends it", errors.Is(<-ended, context.Canceled), true)
	within("and the statement on the server", 2*time.Second, func() bool { return !running("go-endless") })
	streaming, stopStream := context.WithCancel(background)
	answer, err := conn.Query(clickhouse.Context(streaming, clickhouse.WithQueryID("go-stream")), "SELECT number, toString(number) FROM numbers(1000000000000)")
	must(err)
	equal("a stream begins", answer.Next(), true)
	stopStream()
	answer.Close()
	within("closing the stream cancels the statement", 2*time.Second, func() bool { return !running("go-stream") })
}

func compression() {
	for _, method := range []clickhouse.CompressionMethod{clickhouse.CompressionNone, clickhouse.CompressionLZ4, clickhouse.CompressionLZ4HC,
		clickhouse.CompressionZSTD, clickhouse.CompressionGZIP, clickhouse.CompressionDeflate, clickhouse.CompressionBrotli} {
		name := "compression " + method.String()
		conn, err := connect(method)
		must(err)
		attempt(name, func() {
			must(conn.Exec(background, "DROP TABLE IF EXISTS compressed"))
			must(conn.Exec(background, "CREATE TABLE compressed (n UInt64, s String) ENGINE = MergeTree ORDER BY n"))
			batch, err := conn.PrepareBatch(background, "INSERT INTO compressed")
			must(err)
			for number := range uint64(20000) {
				must(batch.Append(number, fmt.Sprint("row ", number)))
			}
			must(batch.Send())
			answer, err := conn.Query(background, "SELECT n, s FROM compressed ORDER BY n")
			must(err)
			var count, total uint64
			for answer.Next() {
				var number uint64
				var text string
				must(answer.Scan(&number, &text))
				if text == fmt.Sprint("row ", number) {
					count, total = count+1, total+number
				}
			}
			must(answer.Err())
			equal(name, []uint64{count, total}, []uint64{20000, 199990000})
			raises(name+" of an error", conn.Exec(background, "SELECT * FROM no_such_table"), 60, "no_such_table")
		})
		must(conn.Close())
	}
}

func sessions() {
	inside := options(clickhouse.CompressionNone)
	inside.Settings = clickhouse.Settings{"session_id": "go-session"}
	inside.MaxOpenConns = 1
	conn, err := clickhouse.Open(inside)
	must(err)
	must(conn.Exec(background, "CREATE TEMPORARY TABLE of_session (n UInt8)"))
	must(conn.Exec(background, "INSERT INTO of_session VALUES (1), (2)"))
	equal("a temporary table lives in its session", one[uint64](conn, "SELECT sum(n) FROM of_session"), uint64(3))
}

func parameters(conn driver.Conn) {
	given := clickhouse.Context(background, clickhouse.WithParameters(clickhouse.Parameters{"n": "42", "s": "it's a 'text'", "a": "[1,2]"}))
	var number uint8
	var text string
	var list []uint16
	must(conn.QueryRow(given, "SELECT {n:UInt8}, {s:String}, {a:Array(UInt16)}").Scan(&number, &text, &list))
	equal("server parameters", []any{number, text, list}, []any{uint8(42), "it's a 'text'", []uint16{1, 2}})
	equal("parameters of the client", one[string](conn, "SELECT concat(?, toString(?))", "it's ", 7), "it's 7")
}

func million(conn driver.Conn) {
	answer, err := conn.Query(background, "SELECT number, toString(number) FROM numbers(1000000)")
	must(err)
	var count, total, length uint64
	for answer.Next() {
		var number uint64
		var text string
		must(answer.Scan(&number, &text))
		count, total, length = count+1, total+number, length+uint64(len(text))
	}
	must(answer.Err())
	equal("a million rows streamed out", []uint64{count, total, length}, []uint64{1000000, 499999500000, 5888890})
	must(conn.Exec(background, "CREATE TABLE million (n UInt64, s String) ENGINE = MergeTree ORDER BY n"))
	batch, err := conn.PrepareBatch(background, "INSERT INTO million")
	must(err)
	for number := range uint64(1000000) {
		must(batch.Append(number, fmt.Sprint(number)))
		if number%100000 == 99999 {
			must(batch.Flush())
		}
	}
	must(batch.Send())
	equal("a million rows in", one[uint64](conn, "SELECT sum(n) FROM million"), uint64(499999500000))
}

// standard is the way of database/sql.
func standard() {
	pool := clickhouse.OpenDB(options(clickhouse.CompressionLZ4))
	defer pool.Close()
	must(pool.Ping())
	var count int64
	must(pool.QueryRow("SELECT toInt64(count()) FROM every_type WHERE u8 = ?", 255).Scan(&count))
	equal("database/sql: a value", count, int64(1))
	_, err := pool.Exec("CREATE TABLE standard (n UInt8, s Nullable(String)) ENGINE = MergeTree ORDER BY n")
	must(err)
	begun, err := pool.Begin()
	must(err)
	statement, err := begun.Prepare("INSERT INTO standard")
	must(err)
	_, err = statement.Exec(uint8(1), sql.NullString{})
	must(err)
	must(begun.Commit())
	var text sql.NullString
	must(pool.QueryRow("SELECT s FROM standard").Scan(&text))
	equal("database/sql: a batch", text.Valid, false)
}

func attempt(name string, run func()) {
	defer func() {
		if problem := recover(); problem != nil {
			failed(name, problem)
		}
	}()
	run()
}

func main() {
	conn, err := connect(clickhouse.CompressionLZ4)
	must(err)
	attempt("connection", func() { connection(conn) })
	attempt("every type", func() { everyType(conn) })
	attempt("errors", func() { errorsOf(conn) })
	attempt("cancel", func() { cancel(conn) })
	attempt("compression", compression)
	attempt("sessions", sessions)
	attempt("parameters", func() { parameters(conn) })
	attempt("million", func() { million(conn) })
	attempt("standard", standard)
}
