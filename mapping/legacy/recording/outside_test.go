package recording

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/legacy/proxy"
)

// outside returns an exchange outside the interface.
func outside(agent, target string, status int) *proxy.Exchange {
	return exchanged("POST", target, func(e *proxy.Exchange) {
		e.Address = contract.Address{}
		e.Request.Header.Set("User-Agent", agent)
		e.Status, e.Legacy = status, true
	})
}

func TestKindOf(t *testing.T) {
	for path, want := range map[string]string{
		"/api/soap/":                        SOAP,
		"/index.php/api/v2_soap/index/":     SOAP,
		"/api/":                             SOAP,
		"/api/xmlrpc":                       XMLRPC,
		"/oauth/initiate":                   OAuth,
		"/admin/oauth_authorize/index/":     OAuth,
		"/admin":                            Admin,
		"/index.php/admin/dashboard/key/1/": Admin,
		"/administration":                   Storefront,
		"/media/catalog/a.jpg":              Media,
		"/":                                 Storefront,
		"":                                  Storefront,
		"/index.php":                        Storefront,
		"/a-teapot.html":                    Storefront,
		"//api/soap":                        Storefront,
	} {
		if got := kindOf(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

// TestOutside: requests outside the interface are counted by kind and program, apart from the
// calls, and the counts go on after a restart.
func TestOutside(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		c := counter(t, dir, "one", time.Hour)
		c.Observe(outside("PHP-SOAP/5.3.29", "/api/v2_soap/?secret=ada@example.com", 200))
		c.Observe(outside("PHP-SOAP/5.4", "/api/soap", 500))
		c.Observe(outside("Mozilla/5.0 (Ada's telephone)", "/ada", 404))
		c.Observe(outside("ada@example.com", "/", 0))
		c.Observe(of("", 200, "/api/rest/orders"))
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	u, err := ReadUsage(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range u.Outside() {
		got = append(got, fmt.Sprintf("%d %s %s %s %d %d %t", row.Count, row.Kind, row.Agent, row.Side, row.Refused, row.Failed, row.First.IsZero() || row.Last.IsZero()))
	}
	want := []string{"4 soap PHP-SOAP legacy 0 2 false", "2 storefront Mozilla legacy 2 0 false", "2 storefront other legacy 0 2 false"}
	if !slices.Equal(got, want) || len(u.Rows()) != 1 {
		t.Errorf("%s\nand %d rows of calls", strings.Join(got, "\n"), len(u.Rows()))
	}
	text, err := os.ReadFile(dir + "/usage-one.json")
	if err != nil || strings.Contains(string(text), "da") {
		t.Errorf("personal data in %s (%v)", text, err)
	}
}

// TestOutsideIsBounded: programs that call the storefront under many names hide neither each
// other's requests nor the names of programs that use SOAP.
func TestOutsideIsBounded(t *testing.T) {
	var u Usage
	const n = maxOutsideAgents + 50
	for i := range n {
		u.addOutside(&OutsideRow{OutsideCaller: OutsideCaller{Kind: fmt.Sprint("k", i), Agent: fmt.Sprint("a", i), Side: fmt.Sprint(i)}, Count: 1})
	}
	u.addOutside(&OutsideRow{OutsideCaller: OutsideCaller{Kind: SOAP, Agent: "Robot", Side: "legacy"}, Count: 1})
	rows, total := u.Outside(), int64(0)
	for _, row := range rows {
		total += row.Count
	}
	if len(rows) != maxOutsideAgents+2 || total != n+1 || rows[0].Agent != "Robot" {
		t.Errorf("%d requests in %d rows, the first by %s", total, len(rows), rows[0].Agent)
	}
}
