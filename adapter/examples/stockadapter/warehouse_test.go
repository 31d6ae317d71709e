package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/demo"
	"github.com/portico-commerce/portico/config/testenv/programs"
)

// programName is the name under which the test binary is the program itself.
const programName = "stockadapter"

func TestMain(m *testing.M) { programs.Main(m, map[string]func(){programName: main}) }

// writeDemoStock writes the stock items of the demo store to a new file.
func writeDemoStock(t *testing.T) (file string) {
	t.Helper()
	data, err := demo.Load()
	if err != nil {
		t.Fatal(err)
	}
	w := newWarehouse(filepath.Join(t.TempDir(), "stock.json"), adapter.NewSchemas())
	if err := w.replace(data.Records[adapter.StockItems]); err != nil {
		t.Fatal(err)
	}
	return w.file
}

// TestConformance runs the tests of the conformance suite that apply to stock items.
func TestConformance(t *testing.T) {
	notOffered := map[adapter.Resource]string{}
	for _, r := range adapter.Resources() {
		if r != adapter.StockItems {
			notOffered[r] = "the warehouse knows stock only"
		}
	}
	adaptertest.Run(t, adaptertest.Harness{
		Open: func(t *testing.T) adapter.Adapter {
			w := newWarehouse(writeDemoStock(t), adapter.NewSchemas())
			t.Cleanup(func() { _ = w.Close() })
			return w
		},
		Unsupported: notOffered,
	})
}

// TestInvalidFiles checks that the warehouse is unavailable, and not empty or wrong, while
// its file cannot be understood.
func TestInvalidFiles(t *testing.T) {
	for name, content := range map[string]string{
		"no JSON":              "[",
		"no list":              `{"item_id":1}`,
		"no key":               `[{"product_id":1}]`,
		"fraction as a flag":   `[{"item_id":1,"is_in_stock":0.5}]`,
		"boolean as a flag":    `[{"item_id":1,"is_in_stock":true}]`,
		"number as a decimal":  `[{"item_id":1,"qty":100}]`,
		"too few places":       `[{"item_id":1,"qty":"100"}]`,
		"time of another form": `[{"item_id":1,"low_stock_date":"2012-01-01"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWarehouse(filepath.Join(t.TempDir(), "stock.json"), adapter.NewSchemas())
			if err := os.WriteFile(w.file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := w.Ping(t.Context()); err == nil || adapter.KindOf(err) != adapter.Unavailable {
				t.Errorf("Ping: %v, want unavailable", err)
			}
		})
	}
}

// TestLegacyClient calls the program as a legacy client does.
func TestLegacyClient(t *testing.T) {
	file, folder := writeDemoStock(t), t.TempDir()
	command := func(arguments ...string) *exec.Cmd {
		c := exec.Command(programs.Self(t, programName), arguments...)
		c.Dir, c.Stderr = folder, t.Output()
		c.Env = append(os.Environ(), "PORTICO_ADAPTER=warehouse", "PORTICO_WAREHOUSE_FILE="+file, "PORTICO_AUTH_BEARER=true",
			"PORTICO_LISTEN=127.0.0.1:0", "PORTICO_OPS_LISTEN=127.0.0.1:0", "PORTICO_LOG_LEVEL=error")
		return c
	}
	output, err := command("credentials", "add-key", "--name", "erp", "--admin", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var key struct{ Key string }
	if err := json.Unmarshal(output, &key); err != nil {
		t.Fatal(err)
	}
	server := command("serve")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	var base string
	for lines := bufio.NewScanner(out); base == "" && lines.Scan(); {
		if found := regexp.MustCompile(`contract +(\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			base = found[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()

	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"one item", "GET", "/stockitems/1", "", 200, `"item_id":"1"`},
		{"update", "PUT", "/stockitems/1", `{"qty":"42.5"}`, 200, ""},
		{"updated", "GET", "/stockitems/1", "", 200, `"qty":"42.5000"`},
		{"filter", "GET", "/stockitems?filter[1][attribute]=qty&filter[1][in][0]=42.5", "", 200, `[{"item_id":"1"`},
		{"no such item", "GET", "/stockitems/4711", "", 404, "Resource not found."},
		{"not offered", "GET", "/products/1", "", 405, "Resource method not implemented yet."},
		{"list not offered", "GET", "/customers", "", 405, "Resource method not implemented yet."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), tt.method, base+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+key.Key)
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept", "application/json")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != tt.status || !strings.Contains(string(text), tt.want) {
				t.Errorf("%d %s (%v), want %d with %s", response.StatusCode, text, err, tt.status, tt.want)
			}
		})
	}
	routes, err := command("routes").Output()
	if err != nil || strings.Count(string(routes), "not offered") < 20 || regexp.MustCompile(`/stockitems .*not offered`).Match(routes) {
		t.Errorf("routes (%v):\n%s", err, routes)
	}
}
