package redact

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/portico-commerce/portico/mapping/contract"
)

// Headers returns the request headers that a recording keeps: the headers that affect the reply,
// and the first product of the User-Agent. It masks every word of a value unless clients usually
// send it there. Long values and all headers that identify the caller are dropped.
func (m *Masker) Headers(header http.Header) map[string]string {
	kept := map[string]string{}
	for _, one := range []struct {
		name string
		mask func(string) string
	}{
		{"Accept", m.MediaTypes},
		{"Accept-Language", m.languages},
		{"Content-Type", m.MediaTypes},
		{"If-None-Match", m.entityTags},
		{"Version", func(version string) string { return m.keepWords(version, nil, "") }},
		{"X-Http-Method-Override", contract.MethodLabel},
	} {
		const longest = 256
		values, sent := header[one.name]
		if value := strings.Join(values, ", "); sent && len(value) <= longest {
			kept[one.name] = one.mask(value)
		}
	}
	if agent := Agent(header); agent != "" {
		kept["User-Agent"] = m.keepWords(agent, programs(), "")
	}
	return kept
}

// MediaTypes returns the value of a header with media types and their parameters. It keeps only
// words that are usual with HTTP.
func (m *Masker) MediaTypes(value string) string { return m.keepWords(value, mediaTypes(), " \t,;=\"") }

// Challenge returns the value of a header that asks for credentials. Schemes and the names of
// parameters stay.
func (m *Masker) Challenge(value string) string {
	return m.keepWords(value, []string{"basic", "bearer", "digest", "oauth", "charset", "error", "invalid_token", "realm", "utf-8"}, " \t,;=\"")
}

// Methods returns a list of methods in which "OTHER" replaces every method that HTTP does not
// define.
func Methods(list string) string {
	methods := strings.Split(list, ",")
	for i, method := range methods {
		methods[i] = contract.MethodLabel(strings.TrimSpace(method))
	}
	return strings.Join(methods, ", ")
}

// languages returns the value of Accept-Language. Only languages of two letters, with a country or
// without, stay.
func (m *Masker) languages(value string) string {
	return m.maskWords(value, " \t,;=", func(word string) bool { return languageTag.MatchString(word) || strings.EqualFold(word, "q") })
}

var languageTag = regexp.MustCompile(`^(?:[A-Za-z]{2}(?:-[A-Za-z]{2})?|\*)$`)

// entityTags returns the value of If-None-Match. Its tags may come from anywhere.
func (m *Masker) entityTags(value string) string {
	return m.maskWords(value, " \t,\"", func(word string) bool { return word == "W/" || word == "*" })
}

// mediaTypes returns the words that stay in lists of media types.
func mediaTypes() []string {
	return []string{
		"*/*", "*", "application/*", "text/*", "image/*",
		"application/json", "application/xml", "application/xhtml+xml", "text/xml", "text/plain", "text/html",
		"application/x-www-form-urlencoded", "multipart/form-data", "application/octet-stream", "application/javascript", "application/pdf",
		"application/signed-exchange", "application/problem+json", "text/javascript", "text/css", "text/csv", "text/json",
		"image/avif", "image/webp", "image/apng", "image/png", "image/jpeg", "image/gif", "image/svg+xml",
		"q", "charset", "boundary", "version", "v", "b3", "level", "utf-8", "utf8", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252",
	}
}

// programs returns the names of the usual libraries and programs for HTTP.
func programs() []string {
	return []string{
		"other", "Mozilla", "Opera", "curl", "Wget", "libwww-perl", "lwp-request", "Mojolicious", "PHP", "PHP-SOAP", "PECL-OAuth", "GuzzleHttp", "Zend_Http_Client",
		"Laminas_Http_Client", "Symfony", "python-requests", "Python-urllib", "python-httpx", "aiohttp", "Python", "Go-http-client", "Java", "okhttp", "Apache-HttpClient",
		"Jakarta", "Google-HTTP-Java-Client", "Dalvik", "CFNetwork", "axios", "node-fetch", "node", "undici", "got", "superagent", "Ruby", "Faraday", "rest-client", "RestSharp",
		"PostmanRuntime", "insomnia", "HTTPie", "Dart", "reqwest", "hyper", "ApacheBench", "kube-probe", "Portico", "contracttest",
	}
}

// keepWords masks the words of a value that are not in a list, whatever their letter case, and have more
// than one digit. Words are separated by the given characters.
func (m *Masker) keepWords(value string, known []string, separators string) string {
	return m.maskWords(value, separators, func(word string) bool {
		return slices.ContainsFunc(known, func(one string) bool { return strings.EqualFold(one, word) })
	})
}

// maskWords masks the words of a value that are neither known nor short numbers.
func (m *Masker) maskWords(value, separators string, known func(string) bool) string {
	var b strings.Builder
	for value != "" {
		end := strings.IndexAny(value, separators)
		switch {
		case end < 0:
			end = len(value)
		case end == 0:
			b.WriteByte(value[0])
			value = value[1:]
			continue
		}
		if word := value[:end]; known(word) || shortNumber.MatchString(word) {
			b.WriteString(word)
		} else {
			b.WriteString(m.Value(word))
		}
		value = value[end:]
	}
	return b.String()
}

// shortNumber matches a quality, and a version of one digit.
var shortNumber = regexp.MustCompile(`^[0-9](?:\.[0-9]{1,3})?$`)

// Agent returns the name of the first product in the User-Agent header, "" without the header, and
// "other" for a name in an unusual spelling.
func Agent(header http.Header) string {
	const longest = 32
	agent := header.Get("User-Agent")
	name, _, _ := strings.Cut(agent, "/")
	name, _, _ = strings.Cut(name, " ")
	if agent != "" && (name == "" || len(name) > longest || !productName.MatchString(name)) {
		return "other"
	}
	return name
}

// productName matches the usual characters of product names.
var productName = regexp.MustCompile(`^[A-Za-z0-9 ;,=/*+._"-]*$`)
