package auth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestParseHeader(t *testing.T) {
	tests := []struct {
		name, credentials string
		want              parameters
	}{
		{"nothing", "", nil},
		{"only commas", ",,,", nil},
		{"quoted and bare", `oauth_a="1",oauth_b=2`, parameters{{name: "oauth_a", value: "1"}, {name: "oauth_b", value: "2"}}},
		{"blanks around a part", " \t oauth_a=1 \t, oauth_b=2 ", parameters{{name: "oauth_a", value: "1"}, {name: "oauth_b", value: "2"}}},
		{"decoded, plus kept", `oauth_a="%26%2b+%C3%A9"`, parameters{{name: "oauth_a", value: "&++é"}}},
		{"broken escapes kept", `oauth_a="%zz%4%"`, parameters{{name: "oauth_a", value: "%zz%4%"}}},
		{"decoded once", `oauth_a="%2526"`, parameters{{name: "oauth_a", value: "%26"}}},
		{"value with =", "oauth_a=b=c==", parameters{{name: "oauth_a", value: "b=c=="}}},
		{"one quote", `oauth_a="b`, parameters{{name: "oauth_a", value: "b"}}},
		{"quotes inside stay", `oauth_a=""b"c""`, parameters{{name: "oauth_a", value: `b"c`}}},
		{"part without =", "oauth_a, oauth_b=1", parameters{{name: "oauth_b", value: "1"}}},
		{"realm and others", `realm="x", foo=1, oauth_=2, oauth_1=3, OAUTH_a=4`, nil},
		{"name anywhere", "my_oauth_x=1, oauth_1oauth_y=2", parameters{{name: "my_oauth_x", value: "1"}, {name: "oauth_1oauth_y", value: "2"}}},
		{"dash and underscore", "oauth_-=1, oauth__=2", parameters{{name: "oauth_-", value: "1"}, {name: "oauth__", value: "2"}}},
		{"later duplicate wins", "oauth_a=1, oauth_b=2, oauth_a=3", parameters{{name: "oauth_a", value: "3"}, {name: "oauth_b", value: "2"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, err := parseHeader(test.credentials); err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %+v (%v), want %+v", got, err, test.want)
			}
		})
	}
}

func TestParseForm(t *testing.T) {
	tests := []struct {
		name, form string
		want       parameters
	}{
		{"plus is a space", "oauth_a=b+c%2B", parameters{{name: "oauth_a", value: "b c+"}}},
		{"name encoded", "oauth%5Fa=1", parameters{{name: "oauth_a", value: "1"}}},
		{"without =", "oauth_a", parameters{{name: "oauth_a"}}},
		{"others", "a=1&&b=2&=3&foo[oauth_x]=4", nil},
		{"list", "oauth_a%5B%5D=1", parameters{{name: "oauth_a", value: "1", list: true}}},
		{"bracket not closed", "oauth_a[=1", parameters{{name: "oauth_a[", value: "1"}}},
		{"first place, last value", "oauth_a=1&oauth_b=2&oauth_a=3", parameters{{name: "oauth_a", value: "3"}, {name: "oauth_b", value: "2"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, err := parseForm(test.form); err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %+v (%v), want %+v", got, err, test.want)
			}
		})
	}
}

// TestTooManyParameters: an unauthenticated caller cannot make the server hold more than the
// maximum number of parameters.
func TestTooManyParameters(t *testing.T) {
	numbered := func(n int, separator string) string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("oauth_x%d=1", i)
		}
		return strings.Join(names, separator)
	}
	for name, parse := range map[string]func(n int) (parameters, error){
		"header": func(n int) (parameters, error) { return parseHeader(numbered(n, ",")) },
		"form":   func(n int) (parameters, error) { return parseForm(numbered(n, "&")) },
	} {
		t.Run(name, func(t *testing.T) {
			if found, err := parse(maxParameters); err != nil || len(found) != maxParameters {
				t.Errorf("%d parameters: %d (%v)", maxParameters, len(found), err)
			}
			var refused *Problem
			found, err := parse(maxParameters + 1)
			if !errors.As(err, &refused) || refused.Code != "parameter_rejected" || found != nil {
				t.Errorf("one more: %d parameters and %v, want a parameter_rejected problem", len(found), err)
			}
		})
	}
	t.Run("long name in the problem", func(t *testing.T) {
		_, err := parseHeader(numbered(maxParameters, ",") + ",oauth_" + strings.Repeat("y", 1<<16) + "=1")
		if err == nil || len(err.Error()) > 2*maxNameInProblem {
			t.Errorf("%.200q", err)
		}
	})
}

func TestValidURI(t *testing.T) {
	for c := range 256 {
		s := "/a" + string([]byte{byte(c)})
		want := regexp.MustCompile(`^[A-Za-z0-9\-_.!~*'()\[\];/?:@&=+$,]$`).MatchString(s[2:])
		if got := validURI(s); got != want {
			t.Errorf("byte %#x: %t, want %t", c, got, want)
		}
	}
	for s, want := range map[string]bool{"": true, "%41": true, "%aF%Fa": true, "%4": false, "%": false, "%4g": false, "%g4": false, "a%%41": false} {
		if got := validURI(s); got != want {
			t.Errorf("%q: %t, want %t", s, got, want)
		}
	}
}

func TestSplitTarget(t *testing.T) {
	tests := []struct{ target, path, query string }{
		{"/a?b=1", "/a", "b=1"},
		{"/a?b=1?c", "/a", "b=1?c"},
		{"/a", "/a", ""},
		{"//a", "//a", ""},
		{"/a://b/c", "/a://b/c", ""},
		{"http://host:1/a?b", "/a", "b"},
		{"http://host", "/", ""},
		{"http://host?b", "/", "b"},
		{"", "/", ""},
		{"*", "*", ""},
	}
	for _, test := range tests {
		if path, query := splitTarget(test.target); path != test.path || query != test.query {
			t.Errorf("%q: %q and %q, want %q and %q", test.target, path, query, test.path, test.query)
		}
	}
}

func TestIsOne(t *testing.T) {
	for s, want := range map[string]bool{
		"1": true, "1.0": true, "1.": true, "01.000": true, "+1": true, " 1 ": true, "10e-1": true,
		"": false, " ": false, "0": false, "1.1": false, "2": false, "-1": false, "1x": false, "x1": false, "1,0": false,
		"0x1p0": false, "0b1": false, "inf": false, "1_0e-1": false, "1e999": false, "１": false,
	} {
		if got := isOne(s); got != want {
			t.Errorf("%q: %t, want %t", s, got, want)
		}
	}
}

func TestLeadingInteger(t *testing.T) {
	for s, want := range map[string]int64{
		"5": 5, "5x": 5, "5.9": 5, " 5": 5, "+5": 5, "-5": -5, "05": 5,
		"": 0, "x": 0, "+": 0, "-": 0, "+-5": 0, "5-5": 5,
		"99999999999999999999": math.MaxInt64, "-99999999999999999999": math.MinInt64,
	} {
		if got := leadingInteger(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(plaintext().header())
	f.Add(nonced("n1").header())
	f.Add(`OAuth realm="x", oauth_version=1.0,oauth_foo="%zz%4", a, =, oauth_a="b"c"`)
	f.Add("oauth")
	f.Add("OAuthXoauth_token[]=1, oauth_nonce=\x00\xff")
	protocol := regexp.MustCompile(`oauth_[a-z_-]+`)
	f.Fuzz(func(t *testing.T, authorization string) {
		credentials, _ := cutScheme(authorization)
		found, err := parseHeader(credentials)
		if err != nil {
			return // too many names
		}
		if most := strings.Count(credentials, ",") + 1; len(found) > most {
			t.Fatalf("%d parameters in %d parts", len(found), most)
		}
		var parts []string
		for _, p := range found {
			if !protocol.MatchString(p.name) || p.list {
				t.Errorf("%+v is no OAuth parameter", p)
			}
			parts = append(parts, escapeReference(p.name)+`="`+escapeReference(p.value)+`"`)
		}
		if again, _ := parseHeader(strings.Join(parts, ", ")); !slices.Equal(again, found) {
			t.Errorf("written and read again: %+v, first %+v", again, found)
		}
		a, _, _ := newAuthenticator(Options{})
		_, err = a.Authenticate(context.Background(), get("/", authorization))
		var p *Problem
		if err != nil && !errors.As(err, &p) {
			t.Errorf("error %v", err)
		}
	})
}

// FuzzForm reads credentials from a form or a query.
func FuzzForm(f *testing.F) {
	f.Add("oauth_consumer_key=x&oauth_token=y&page=1&oauth_nonce")
	f.Add("oauth_token[]=1&oauth_token[a=2&oauth_token]b[=3&x[oauth_y]=4&oauth_a=5&oauth_a[]=6")
	f.Add("%6Fauth_a=%zz%4&oauth_b=%00%FF+&&=&oauth_=&oauth_[]=&oauth__%5B%5D")
	f.Fuzz(func(t *testing.T, form string) {
		found, err := parseForm(form)
		if err == nil {
			names := map[string]bool{}
			for _, p := range found {
				if !isOAuth(p.name) || names[p.name] {
					t.Errorf("%+v is no OAuth parameter, or stands there twice", p)
				}
				names[p.name] = true
			}
			if most := min(maxParameters, strings.Count(form, "&")+1); len(found) > most {
				t.Errorf("%d parameters, at most %d can be there", len(found), most)
			}
		}
		a, _, _ := newAuthenticator(Options{})
		inQuery := get("/?"+form, "OAuth")
		inBody := get("/", "OAuth")
		inBody.Method, inBody.ContentType = "POST", "application/x-www-form-urlencoded"
		inBody.Form = func() ([]byte, error) { return []byte(form), nil }
		for _, r := range []*Request{inQuery, inBody} {
			var p *Problem
			if _, err := a.Authenticate(context.Background(), r); err != nil && !errors.As(err, &p) {
				t.Errorf("%s %.100q: error %v", r.Method, r.Target, err)
			}
		}
	})
}
