// clickhouse-go, the driver beneath Grafana's data source, over HTTP: `clickhouse HOST:PORT PATH TOKEN COMPRESSION`.
// Each line of standard input is a JSON object with a statement and its parameters; each line of output has the rows
// or the error.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"reflect"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

type question struct {
	SQL        string            `json:"sql"`
	Parameters map[string]string `json:"parameters"`
}

type answer struct {
	Types []string   `json:"types"`
	Rows  [][]string `json:"rows"`
	Error string     `json:"error"`
	Code  int32      `json:"code"`
}

var compressions = map[string]clickhouse.CompressionMethod{
	"none": clickhouse.CompressionNone, "gzip": clickhouse.CompressionGZIP, "deflate": clickhouse.CompressionDeflate,
	"br": clickhouse.CompressionBrotli, "lz4": clickhouse.CompressionLZ4,
}

func main() {
	address, path, token, compression := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	connection, err := clickhouse.Open(&clickhouse.Options{
		Protocol:    clickhouse.HTTP,
		Addr:        []string{address},
		HttpUrlPath: path,
		Auth:        clickhouse.Auth{Database: "headcount", Username: "grafana", Password: token},
		Compression: &clickhouse.Compression{Method: compressions[compression]},
		Settings:    clickhouse.Settings{"max_execution_time": 60, "readonly": 0},
		DialTimeout: 10 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(ask(connection, asked)); err != nil {
			log.Fatal(err)
		}
	}
}

func ask(connection clickhouse.Conn, asked question) (told answer) {
	failed := func(err error) answer {
		told.Error = err.Error()
		var exception *clickhouse.Exception
		if errors.As(err, &exception) {
			told.Code = exception.Code
		}
		return told
	}
	ctx := clickhouse.Context(context.Background(), clickhouse.WithParameters(asked.Parameters))
	if asked.SQL == "PING" {
		if err := connection.Ping(ctx); err != nil {
			return failed(err)
		}
		return told
	}
	rows, err := connection.Query(ctx, asked.SQL)
	if err != nil {
		return failed(err)
	}
	defer rows.Close()
	kinds := rows.ColumnTypes()
	for _, kind := range kinds {
		told.Types = append(told.Types, kind.DatabaseTypeName())
	}
	for rows.Next() {
		values := make([]any, len(kinds))
		for number, kind := range kinds {
			values[number] = reflect.New(kind.ScanType()).Interface()
		}
		if err := rows.Scan(values...); err != nil {
			return failed(err)
		}
		told.Rows = append(told.Rows, texts(values))
	}
	if err := rows.Err(); err != nil {
		return failed(err)
	}
	return told
}

func texts(values []any) (found []string) {
	for _, value := range values {
		plain := reflect.ValueOf(value).Elem()
		for plain.Kind() == reflect.Pointer && !plain.IsNil() {
			plain = plain.Elem()
		}
		if moment, ok := plain.Interface().(time.Time); ok {
			found = append(found, moment.UTC().Format(time.RFC3339Nano))
		} else {
			found = append(found, fmt.Sprint(plain.Interface()))
		}
	}
	return found
}
