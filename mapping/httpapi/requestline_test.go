package httpapi

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"
)

// FuzzRequestLine compares lines with what package log/slog writes.
func FuzzRequestLine(f *testing.F) {
	f.Add("/api/rest/products/1", "limit,page", int64(1_700_000_000_123_456_789), int64(12_345), 3600, true)
	f.Add("", "a b", int64(0), int64(0), 0, false)
	f.Add(`a=b"\`, "é\x00\xff", int64(-1), int64(-1), -1, true)
	f.Add("/%3C/{id}", "<&>\x7f", int64(1_700_000_000_000_000_000), int64(time.Hour), 60, false)
	f.Fuzz(func(t *testing.T, path, parameters string, at, took int64, zone int, json bool) {
		shared := []slog.Attr{slog.String("call", "GET /products/{id}"), slog.Int("status", 200), slog.String("role", ""), slog.String("resource", "products")}
		own := []slog.Attr{slog.String("path", path), slog.Int64("bytes", at%10_000), slog.Duration("took", time.Duration(took)), slog.String("parameters", parameters)}
		end := time.Unix(0, at).In(time.FixedZone("", zone%86_400))

		var want bytes.Buffer
		var handler slog.Handler = slog.NewTextHandler(&want, nil)
		if json {
			handler = slog.NewJSONHandler(&want, nil)
		}
		record := slog.NewRecord(end, slog.LevelInfo, requestMessage, 0)
		record.AddAttrs(own...)
		if err := handler.WithAttrs(shared).Handle(context.Background(), record); err != nil {
			t.Fatal(err)
		}
		var line bytes.Buffer
		lines := &LogLines{&line, json}
		ok := lines.write(end, lines.shared(shared), own)
		if ok && line.String() != want.String() {
			t.Errorf("the line is\n%swant\n%s", line.String(), want.String())
		}
		if !ok && needsNoQuotes(path) && needsNoQuotes(parameters) {
			t.Errorf("the line %swas not formatted", want.String())
		}
	})
}
