package contracttests

import (
	"strings"
	"testing"
)

// TestCurl checks the curl commands of requests of all kinds.
func TestCurl(t *testing.T) {
	const start = "curl -sS -i --path-as-is -g "
	for _, tt := range []struct {
		name string
		step Step
		want string
	}{
		{"Get", Step{Method: "GET", Path: "/a[1]//b"}, `-X 'GET' -H 'User-Agent:' -H 'Accept:' -H 'Content-Type:' 'http://h:1/api/rest/a[1]//b'`},
		{"Head", Step{Method: "HEAD", Path: "/a"}, `-I -H 'User-Agent:' -H 'Accept:' -H 'Content-Type:' 'http://h:1/api/rest/a'`},
		{"BodylessDelete", Step{Method: "DELETE", Path: "/a", Accept: ptr("*/*")}, `-X 'DELETE' -H 'User-Agent:' -H 'Content-Type:' -H 'Accept: */*' -H 'Content-Length: 0' 'http://h:1/api/rest/a'`},
		{"Body", Step{Method: "PUT", Path: "/a", ContentType: ptr("x/y"), Body: ptr("@'\n")}, "-X 'PUT' -H 'User-Agent:' -H 'Accept:' -H 'Content-Type: x/y' --data-raw '@'\\''\n' 'http://h:1/api/rest/a'"},
		{"Credentials", Step{Method: "GET", As: Customer1, Path: "/a"}, `-X 'GET' -H 'User-Agent:' -H 'Accept:' -H 'Content-Type:' -H "Authorization: $AUTHORIZATION_CUSTOMER_1" 'http://h:1/api/rest/a'`},
		{"OwnAuthorization", Step{Method: "GET", As: Admin, Path: "/a", Headers: map[string]string{"Authorization": "OAuth x"}}, `-X 'GET' -H 'User-Agent:' -H 'Accept:' -H 'Content-Type:' -H 'Authorization: OAuth x' 'http://h:1/api/rest/a'`},
		{"AbsoluteTarget", Step{Method: "GET", Path: "!http://store.example/a"}, `-X 'GET' -H 'User-Agent:' -H 'Accept:' -H 'Content-Type:' --request-target 'http://store.example/a' -H 'Host: store.example' 'http://h:1'`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := mustServer(t, "http://h:1")
			r := newRequest(srv, testCredentials, &tt.step)
			if got := curl(srv, &r, ""); got != start+tt.want {
				t.Errorf("command\n%s\nwant\n%s", got, start+tt.want)
			}
		})
	}
}

// TestMark checks where the mark is and how texts are truncated.
func TestMark(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, tt := range []struct{ name, want, got, markedWant, markedGot string }{
		{"First", "a", "b", `"" » "a"`, `"" » "b"`},
		{"Middle", "abc", "axc", `"a" » "bc"`, `"a" » "xc"`},
		{"Shorter", "abc", "ab", `"ab" » "c"`, `"ab" » ""`},
		{"BlanksShow", "a\n", "a \n", `"a" » "\n"`, `"a" » " \n"`},
		{"InsideACharacter", "é", "è", `"" » "é"`, `"" » "è"`},
		{"Long", long + "a" + long, long + "b", "…" + `"` + long[:60] + `" » "a` + long[:59] + `"…`, "…" + `"` + long[:60] + `" » "b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want, got := mark(tt.want, tt.got)
			if want != tt.markedWant || got != tt.markedGot {
				t.Errorf("%s and %s, want %s and %s", want, got, tt.markedWant, tt.markedGot)
			}
		})
	}
}

// TestReportsAreTruncated checks that long lists of differences are truncated.
func TestReportsAreTruncated(t *testing.T) {
	ds := make([]Difference, shownDifferences+3)
	report := formatDifferences(ds)
	if n := strings.Count(report, "want"); n != shownDifferences || !strings.HasSuffix(report, "  and 3 more\n") {
		t.Errorf("%d differences shown:\n%s", n, report)
	}
}
