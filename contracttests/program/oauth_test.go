package program

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/contracttests"
	"github.com/portico-commerce/portico/mapping/auth/diagnose"
)

// TestExplain explains requests to the demo store.
func TestExplain(t *testing.T) {
	t.Parallel()
	file := apptest.NewFile(t, "request", "GET /api/rest/orders HTTP/1.1\nHost: x\nAuthorization: "+apptest.DemoAdmin()+"\n\n")
	for _, tt := range []struct {
		name     string
		request  []string
		stdin    string
		want     []string
		accepted bool
	}{
		{"file", []string{file}, "", []string{"request  GET http://x/api/rest/orders", "verdict  accepted"}, true},
		{"standard input", []string{"-"}, "https://x/api/rest/orders?a=\x1b[31m\nAuthorization: " + apptest.DemoAdmin(), []string{"https://x/api/rest/orders?a=\uFFFD[31m"}, false},
		{"URL and header", []string{"-H", "Authorization: " + strings.Replace(apptest.DemoAdmin(), "dddd", "", 1), "http://x/api/rest/orders"}, "", []string{"refused: signature_invalid", "fault"}, false},
		{"request token", []string{"--request-token", "-H", `Authorization: OAuth oauth_consumer_key="` + strings.Repeat("7", 32) + `", oauth_callback="oob", oauth_signature_method="PLAINTEXT", oauth_signature="` + strings.Repeat("8", 32) + `%26"`,
			"POST http://x/oauth/initiate"}, "", []string{"verdict  accepted"}, true},
		{"guest", []string{"PUT http://x/api/rest/orders"}, "", []string{"Guest", "no header Authorization"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, _, err := apptest.Environment{}.RunWith(t, strings.NewReader(tt.stdin), apptest.WaitTimeout, append([]string{"oauth", "explain", "--demo"}, tt.request...)...)
			if (err == nil) != tt.accepted {
				t.Error(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("no %q in\n%s", want, stdout)
				}
			}
			if strings.Contains(stdout, strings.Repeat("b", 32)) {
				t.Errorf("a secret is shown:\n%s", stdout)
			}
		})
	}
	t.Run("JSON", func(t *testing.T) {
		stdout, _, _ := apptest.Run(t, "oauth", "explain", "--demo", "--json", "http://x/api/rest/orders")
		var report diagnose.Report
		if err := json.Unmarshal([]byte(stdout), &report); err != nil || report.Verdict != diagnose.Guest || len(report.Findings) != 1 {
			t.Errorf("%v: %s", err, stdout)
		}
	})
}

// TestPlusAsSpace sends a plus that was signed as a space to servers with and without
// auth.plus_as_space, and explains the same request under their settings.
func TestPlusAsSpace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, setting, explained string
		status                   int
	}{
		{"default", "PORTICO_AUTH_PLUS_AS_SPACE=false", "set auth.plus_as_space on the server", http.StatusUnauthorized},
		{"on", "PORTICO_AUTH_PLUS_AS_SPACE=true", "accepted because auth.plus_as_space is on", http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := apptest.StartDemo(t, "documented", tt.setting).Contract
			const list = "/api/rest/customers?filter[1][attribute]=firstname&filter[1][eq]="
			credentials := apptest.Credentials(t)
			credentials.Signature = contracttests.HMACSHA1
			lines, err := credentials.SignRequest(contracttests.Admin, "GET", base+list+"A%20B", "")
			if err != nil {
				t.Fatal(err)
			}
			_, authorization, _ := strings.Cut(lines[0], ": ")
			if got := apptest.Send(t, "GET", base+list+"A+B", "", "Accept", "application/json", "Authorization", authorization); got.Status != tt.status {
				t.Errorf("status %d, want %d: %s", got.Status, tt.status, got.Body)
			}
			stdout, _, _ := apptest.Environment{tt.setting}.Run(t, "oauth", "explain", "--demo", "-H", lines[0], base+list+"A+B")
			if !strings.Contains(stdout, tt.explained) {
				t.Errorf("no %q in\n%s", tt.explained, stdout)
			}
		})
	}
}
