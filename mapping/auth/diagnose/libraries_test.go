package diagnose_test

import (
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/config/testenv"
	"github.com/portico-commerce/portico/mapping/auth/diagnose"
)

// TestLibraries diagnoses what OAuth libraries have sent for the same requests: a plain query, a plus in
// it, a repeated name, brackets, escaped brackets, non-ASCII, an upper-case host, port 80 and a form. The
// file has the bytes that a server received, without headers that no signature covers.
func TestLibraries(t *testing.T) {
	text, err := os.ReadFile("testdata/libraries.json")
	var all []struct {
		Library, Request, Sent string
		Want                   []string
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	wrong := map[string]bool{}
	for _, one := range all {
		t.Run(one.Library+"/"+one.Request, func(t *testing.T) {
			report, found := codesAt(t, one.Sent, known(), 1800000000)
			isWrong := slices.ContainsFunc(report.Findings, func(f diagnose.Finding) bool { return !f.Hint })
			if !slices.Equal(found, one.Want) || (report.Verdict == diagnose.Refused) != isWrong {
				t.Errorf("%s: %v, want %v: %+v", report.Verdict, found, one.Want, report.Findings)
			}
			if isWrong {
				wrong[one.Library] = true
			}
		})
	}
	if !t.Failed() && len(wrong) < 27 {
		t.Errorf("the mistakes of %d libraries are named, want 27", len(wrong))
	}
}

// TestValidRequests diagnoses random requests that are signed by RFC 5849. None of them has a mistake, and
// without the token secret they have just this one.
func TestValidRequests(t *testing.T) {
	random := testenv.NewSample(t)
	pieces := []string{"a", "Z", "9", "10", "2", "[1]", "[eq]", "+", " ", "%", "é", "漢", "&", "=", ".", "~", "-", "/", "?", "filter", "*", "'", "(", ":"}
	word := func() (text string) {
		for range 1 + random.IntN(4) {
			text += pieces[random.IntN(len(pieces))]
		}
		return text
	}
	for i := range 12500 { // of which 10,000 are valid
		var signed, query, form []string
		for _, pair := range strings.Split(oauth, "&") {
			name, value, _ := strings.Cut(pair, "=")
			signed = append(signed, name+"="+escape(value))
		}
		for range random.IntN(6) {
			name, value := word(), word()
			signed = append(signed, escape(name)+"="+escape(value))
			if random.IntN(2) == 0 {
				query = append(query, escape(name)+"="+escape(value))
			} else {
				form = append(form, url.QueryEscape(name)+"="+url.QueryEscape(value))
			}
		}
		slices.SortFunc(signed, byNameThenValue)
		key, want := rightKey(), []string(nil)
		if i%5 == 0 {
			key, want = escape(consumerSecret)+"&", []string{"token_secret_left_out"}
		}
		path := "/api/rest/" + escape(word())
		signature := sign("POST&"+escape("http://shop.example:8080"+path)+"&"+escape(strings.Join(signed, "&")), key)
		text := request("POST "+path+"?"+strings.Join(query, "&"), header(signature)+"\nContent-Type: application/x-www-form-urlencoded\n\n"+strings.Join(form, "&"))
		if report, found := codes(t, text, known()); !slices.Equal(found, want) || (report.Verdict == diagnose.Accepted) != (want == nil) {
			t.Fatalf("%s\n%s: %v, want %v", text, report.Verdict, found, want)
		}
	}
}

// byNameThenValue compares encoded pairs.
func byNameThenValue(a, b string) int {
	nameA, valueA, _ := strings.Cut(a, "=")
	nameB, valueB, _ := strings.Cut(b, "=")
	if nameA != nameB {
		return strings.Compare(nameA, nameB)
	}
	return strings.Compare(valueA, valueB)
}
