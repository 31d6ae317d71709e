package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// libraries returns the libraries that make a mistake, by its code, if hardly any others do. TestLibraries
// has what they sent.
func libraries() map[string]string {
	return map[string]string{
		"question_mark": "tcllib", "index_left_out": "signet (Ruby)", "repeated_indexed": "npm oauth", "nested_as_object": "npm request", "first_value_only": "dghubble/oauth1 (Go)",
		"non_ascii_encoded_twice": "LWP::Authen::OAuth and Net::OAuth (Perl)", "values_not_sorted": "httr (R) and LWP::Authen::OAuth (Perl)",
		"names_not_encoded": "mrjones/oauth (Go) and libqoauth", "names_encoded_twice": "npm oauth-1.0a",
	}
}

// nameMistakes adds a fault for each mistake with which the signature fits, and a hint at the library.
func (r *Report) nameMistakes(way []mistake, made ...mistake) {
	if len(made) == 1 {
		r.fault(made[0].code, "The signature fits with one mistake: %s", made[0].message)
	} else {
		place := []string{fmt.Sprintf("The signature fits with %s mistakes. The first", []string{"two", "three"}[len(made)-2]), "The second", "The third"}
		for i, m := range made {
			r.fault(m.code, "%s: %s", place[i], m.message)
		}
	}
	for _, m := range made {
		if library, ok := libraries()[m.code]; ok {
			r.hint("library", "This mistake is known of %s.", library)
			break
		}
	}
	r.acceptWay(way)
}

// libraryMistakes returns the mistakes of a library that makes more than two at once, without those that
// make no difference here, or nil if the signature does not fit with them.
func libraryMistakes(all []mistake, fits func(...mistake) bool) []mistake {
	var made []mistake // tcllib signs a GET as a POST
	for _, m := range all {
		if m.code == "query_in_url_too" || m.code == "question_mark" || m.code == "method" && strings.Contains(m.message, "POST") {
			made = append(made, m)
		}
	}
	if !fits(made...) {
		return nil
	}
	for i := len(made) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(made), i, i+1); fits(fewer...) {
			made = fewer
		}
	}
	return made
}

// index matches an index in the name of a parameter.
var index = regexp.MustCompile(`\[[0-9]+\]`)

// signAsSent signs names and values with the escapes with which they are sent.
func signAsSent(v *variant) {
	v.name, v.value = func(p *parameter) string { return p.rawName }, func(p *parameter) string { return p.raw }
}

// questionMark signs the query as it is sent, as tcllib does: with the question mark before it, and if it
// is in the URL as well, with another one there.
func questionMark(v *variant) {
	signAsSent(v)
	if len(v.query) > 0 {
		v.path = strings.Replace(v.path, "?", "??", 1)
		v.query = slices.Clone(v.query)
		v.query[0].rawName = "?" + v.query[0].rawName
	}
}

// nestedAsObject makes an object of each parameter with brackets in its name, as npm request does: a list
// in an object, or an object in a list, becomes one parameter.
func nestedAsObject(v *variant) {
	var query parameters
	seen := map[string]bool{}
	for _, p := range v.query {
		name, rest, nested := strings.Cut(p.name, "[")
		if !nested {
			query = append(query, p)
			continue
		}
		first, rest, _ := strings.Cut(rest, "]")
		isIndex := first != "" && strings.Trim(first, "0123456789") == ""
		id := name + "[" + first + "]"
		if !isIndex {
			name = id
		}
		switch {
		case rest == "":
			query = append(query, parameter{name: name, value: p.value, rawName: name, raw: p.raw, valid: true})
		case !seen[id]:
			seen[id] = true
			query = append(query, parameter{name: name, value: "[object Object]", rawName: name, raw: "[object Object]", valid: true})
		}
	}
	v.query = query
}

// repeatedIndexed gives each value of a repeated name an index.
func repeatedIndexed(v *variant) {
	count, at := map[string]int{}, map[string]int{}
	for _, p := range v.query {
		count[p.name]++
	}
	v.query = slices.Clone(v.query)
	for i := range v.query {
		if p := &v.query[i]; count[p.name] > 1 {
			name := p.name
			p.name = fmt.Sprintf("%s[%d]", name, at[name])
			at[name]++
		}
	}
}

// fromLatin1 returns the text whose characters are the bytes of s.
func fromLatin1(s string) string {
	var text strings.Builder
	for _, b := range []byte(s) {
		text.WriteRune(rune(b))
	}
	return text.String()
}
