package diagnose

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseCurl reads a command line of curl.
func parseCurl(line string) (*Request, error) {
	words, err := splitWords(line)
	if err != nil {
		return nil, err
	}
	c := curl{request: &Request{Header: http.Header{}}}
	for rest := words[1:]; len(rest) > 0; {
		if rest, err = c.take(rest); err != nil {
			return nil, err
		}
	}
	return c.finish()
}

// A curl is a command line while it is read.
type curl struct {
	request *Request
	address string
	data    []string
	inQuery bool // the data go into the query
	head    bool
}

// valued are the options with a value, by the name that take knows them under.
func valued() map[string]string {
	names := map[string]string{
		"-X": "request", "--request": "request", "-H": "header", "--header": "header", "--url": "url",
		"-d": "data", "--data": "data", "--data-ascii": "data", "--data-binary": "data", "--data-raw": "raw", "--data-urlencode": "urlencode", "--json": "json",
		"-A": "agent", "--user-agent": "agent", "-T": "upload", "--upload-file": "upload", "-F": "multipart", "--form": "multipart",
	}
	for _, ignored := range strings.Fields("-b --cookie -c --cookie-jar -e --referer -o --output -u --user -x --proxy -w --write-out -m --max-time --connect-timeout " +
		"--cacert --capath -E --cert --key --resolve --connect-to --retry --retry-delay -r --range --limit-rate -D --dump-header -K --config --interface --ciphers") {
		names[ignored] = ""
	}
	return names
}

// take reads the option or the URL that words begin with, and returns the other words.
func (c *curl) take(words []string) (rest []string, err error) {
	word, rest := words[0], words[1:]
	if !strings.HasPrefix(word, "-") || word == "-" {
		if c.address != "" {
			return nil, errors.New("the command line has more than one URL")
		}
		c.address = word
		return rest, nil
	}
	options := valued()
	option, value, attached := word, "", false
	if name, after, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "--") {
		option, value, attached = name, after, true
	} else if !strings.HasPrefix(word, "--") {
		// Short options without a value can stand together, the last one may have a value.
		for i := 1; i < len(word); i++ {
			if option = "-" + word[i:i+1]; c.flag(option) {
				continue
			}
			if value, attached = word[i+1:], i+1 < len(word); attached {
				break
			}
		}
	}
	use, takesValue := options[option]
	if !takesValue {
		c.flag(option)
		return rest, nil
	}
	if !attached {
		if len(rest) == 0 {
			return nil, fmt.Errorf("the option %s of curl lacks its value", option)
		}
		value, rest = rest[0], rest[1:]
	}
	return rest, c.apply(use, value)
}

// flag applies an option without a value, and reports whether option is one.
func (c *curl) flag(option string) bool {
	switch option {
	case "-G", "--get":
		c.inQuery = true
	case "-I", "--head":
		c.head = true
	}
	_, takesValue := valued()[option]
	return !takesValue
}

// apply applies an option with its value.
func (c *curl) apply(use, value string) error {
	r := c.request
	switch use {
	case "request":
		r.Method = value
	case "header":
		if !strings.Contains(value, ":") { // "Name;" sends an empty header
			return nil
		}
		return r.addHeader(value)
	case "url":
		c.address = value
	case "agent":
		r.Header.Set("User-Agent", value)
	case "data":
		if strings.HasPrefix(value, "@") {
			r.BodyMissing = true
			return nil
		}
		c.data = append(c.data, value)
	case "raw":
		c.data = append(c.data, value)
	case "json":
		r.Header.Set("Content-Type", "application/json")
		return c.apply("data", value)
	case "urlencode":
		name, text, named := strings.Cut(value, "=")
		switch {
		case strings.Contains(name, "@"):
			r.BodyMissing = true
		case named && name != "":
			c.data = append(c.data, name+"="+url.QueryEscape(text))
		default:
			c.data = append(c.data, url.QueryEscape(strings.TrimPrefix(value, "=")))
		}
	case "upload", "multipart":
		r.BodyMissing = true
		if r.Method == "" {
			r.Method = map[string]string{"upload": http.MethodPut, "multipart": http.MethodPost}[use]
		}
		if use == "multipart" && r.Header.Get("Content-Type") == "" {
			r.Header.Set("Content-Type", "multipart/form-data")
		}
	}
	return nil
}

// finish returns the request of the command line.
func (c *curl) finish() (*Request, error) {
	r := c.request
	if c.address == "" {
		return nil, errors.New("the command line has no URL")
	}
	if strings.HasPrefix(c.address, "/") {
		return nil, errors.New("the URL has no host")
	}
	if err := r.setURL(c.address); err != nil {
		return nil, err
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	data, sent := strings.Join(c.data, "&"), len(c.data) > 0 || r.BodyMissing
	if c.inQuery {
		if data != "" {
			separator := "?"
			if strings.Contains(r.Target, "?") {
				separator = "&"
			}
			r.Target += separator + data
		}
		sent = false
	} else {
		r.Body = data
	}
	if r.Method == "" {
		switch {
		case c.head:
			r.Method = http.MethodHead
		case sent:
			r.Method = http.MethodPost
		default:
			r.Method = http.MethodGet
		}
	}
	if sent && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r, nil
}

// splitWords splits a command line into words as a POSIX shell does, and knows the quotes $”
// that browsers copy. It expands nothing. The command ends at an operator such as a pipe.
func splitWords(line string) (words []string, err error) {
	var word []byte
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line):
			i++
			if line[i] == '\r' && i+1 < len(line) && line[i+1] == '\n' {
				i++
			}
			if line[i] != '\n' { // which continues the line
				word, inWord = append(word, line[i]), true
			}
		case c == '\'' || c == '"' || c == '$' && i+1 < len(line) && line[i+1] == '\'':
			if c == '$' {
				i++
			}
			text, length, ok := cutQuoted(line[i:], c)
			if !ok {
				return nil, errors.New("the command line has a quote that is not closed")
			}
			word, inWord = append(word, text...), true
			i += length - 1
		case strings.IndexByte("|;&><\n", c) >= 0:
			i = len(line)
		case c == ' ' || c == '\t' || c == '\r':
			if inWord {
				words = append(words, string(word))
			}
			word, inWord = word[:0], false
		default:
			word, inWord = append(word, c), true
		}
	}
	if inWord {
		words = append(words, string(word))
	}
	return words, nil
}

// cutQuoted returns the text in the quotes that line begins with and the length of both. kind
// is the quote, or a dollar sign for quotes with escapes of C.
func cutQuoted(line string, kind byte) (text string, length int, ok bool) {
	quote := line[0]
	var out []byte
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case c == quote:
			return string(out), i + 1, true
		case c == '\\' && kind == '"' && i+1 < len(line) && strings.IndexByte("\"\\$`\n", line[i+1]) >= 0:
			i++
			if line[i] != '\n' {
				out = append(out, line[i])
			}
		case c == '\\' && kind == '$' && i+1 < len(line):
			var used int
			out, used = appendEscape(out, line[i+1:])
			i += used
		default:
			out = append(out, c)
		}
	}
	return "", 0, false
}

// appendEscape appends what the escape of C stands for whose backslash precedes text, and
// returns the number of bytes of text that it uses.
func appendEscape(out []byte, text string) ([]byte, int) {
	simple := map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'a': '\a', 'b': '\b', 'e': 0x1b, 'f': '\f', 'v': '\v'}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[0]]
	if digits > 0 {
		end := 1
		for end < len(text) && end <= digits && slices.Contains([]byte("0123456789abcdefABCDEF"), text[end]) {
			end++
		}
		code, err := strconv.ParseUint(text[1:end], 16, 32)
		switch {
		case err != nil:
			return append(out, '\\', text[0]), 1
		case digits == 2:
			return append(out, byte(code)), end
		default:
			return utf8.AppendRune(out, rune(min(code, utf8.MaxRune))), end
		}
	}
	if c, ok := simple[text[0]]; ok {
		return append(out, c), 1
	}
	return append(out, text[0]), 1
}
