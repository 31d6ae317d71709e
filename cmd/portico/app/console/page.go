package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

var (
	//go:embed templates
	templateFiles embed.FS
	//go:embed assets
	assetFiles embed.FS
)

// A frame is the data that every page has in common.
type frame struct {
	Title, Path, CSRF string
	LoggedIn, Demo    bool
	Version           string
	Notice            string
	Nav               []navItem
	Content           any
}

// A navItem is a link of the navigation.
type navItem struct{ Path, Label string }

// navigation returns the links to all pages.
func navigation() []navItem {
	return []navItem{{"/", "Overview"}, {migrationPath, "Migration"}, {differencesPath, "Differences"}, {callersPath, "Callers"}, {credentialsPath, "Credentials"}, {cachePath, "Cache and circuits"}, {tryPath, "Try it"}, {interfacePath, "Interface"}, {dialectsPath, "Dialects"}}
}

// A page is a template within the frame.
type page struct{ all *template.Template }

func (p *page) render(w io.Writer, f *frame) error { return p.all.ExecuteTemplate(w, "frame.html", f) }

// fragment renders only a part of the page.
func (p *page) fragment(w io.Writer, name string, data any) error {
	return p.all.ExecuteTemplate(w, name, data)
}

// loadPages returns the pages by name. asset returns the address of an asset.
func loadPages(asset func(name string) string) (map[string]*page, error) {
	shared, err := template.New("").Funcs(template.FuncMap{
		"asset": asset, "time": timeText, "bytes": bytesText, "count": countText, "percent": percentText, "seconds": secondsText, "with": withCSRF,
		"state": stateText, "differ": differText, "outbox": outboxText, "names": namesText, "shorten": shorten, "duration": durationText, "day": func(t time.Time) string { return t.UTC().Format(time.DateOnly) }, "lag": func(seconds *float64) string { return secondsText(*seconds) }, "plus": func(a, b int64) int64 { return a + b },
	}).ParseFS(templateFiles, "templates/frame.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	pages := map[string]*page{}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "templates/"), ".html")
		if name == "frame" || name == "parts" {
			continue
		}
		own, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		if own, err = own.ParseFS(templateFiles, file); err != nil {
			return nil, err
		}
		pages[name] = &page{own}
	}
	return pages, nil
}

// A bound is a value of a page together with the CSRF token that its forms need.
type bound struct {
	CSRF  string
	Value any
}

// withCSRF gives a part of a page the token.
func withCSRF(csrf string, value any) bound { return bound{csrf, value} }

// timeText formats a time for people; "" for none.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05") + " UTC"
}

// bytesText formats a number of bytes.
func bytesText(n float64) string {
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if n < 1024 {
			return strconv.FormatFloat(n, 'f', decimalsOf(n, unit != "B"), 64) + " " + unit
		}
		n /= 1024
	}
	return strconv.FormatFloat(n, 'f', decimalsOf(n, true), 64) + " GiB"
}

// decimalsOf returns the number of decimals that show two digits.
func decimalsOf(n float64, fraction bool) int {
	if fraction && n < 10 {
		return 1
	}
	return 0
}

// countText formats a number with spaces between groups of three digits.
func countText(n int64) string {
	digits, sign := strconv.FormatInt(n, 10), ""
	if n < 0 {
		digits, sign = digits[1:], "-"
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "\u202f" + digits[at:]
	}
	return sign + digits
}

// percentText formats a share of a whole, "–" without a whole.
func percentText(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

// durationText formats a duration of a setting: 5m, not 5m0s.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// namesText joins the first names, and adds the number of the others.
func namesText(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// secondsText formats a time in seconds.
func secondsText(s float64) string {
	switch {
	case s < 0.001:
		return fmt.Sprintf("%.0f µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}

// assetsPath is the path of the assets. Their names have a hash of their content, so that a browser
// keeps them for ever.
const assetsPath = "/console/assets/"

// An asset is a file that pages load. It is the same for everybody.
type asset struct {
	name, mediaType string
	content         []byte
}

// loadAssets returns the assets by the last part of their path.
func loadAssets() (map[string]*asset, error) {
	assets := map[string]*asset{}
	types := map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		content, err := assetFiles.ReadFile("assets/" + entry.Name())
		if err != nil {
			return nil, err
		}
		base, extension, _ := strings.Cut(entry.Name(), ".")
		sum := sha256.Sum256(content)
		assets[base+"-"+hex.EncodeToString(sum[:6])+"."+extension] = &asset{entry.Name(), types[extension], content}
	}
	return assets, nil
}

// assetPath returns the path of an asset.
func (c *Console) assetPath(name string) string {
	for path, a := range c.assets {
		if a.name == name {
			return assetsPath + path
		}
	}
	return ""
}

// ServeHTTP serves the asset.
func (a *asset) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Content-Type", a.mediaType)
	_, _ = w.Write(a.content) // fails only if the client has disconnected
}

// pageRows is the number of rows of a page of a list.
const pageRows = 50

// A pager leads through the pages of a list.
type pager struct {
	Number, Last int // from 1
	First, End   int // rows of this page, from 1
	Total        int
	path         string
	query        url.Values
}

// paginate returns the rows of the page that the query of a visit names by its parameter "page".
func paginate[T any](v *visit, rows []T) ([]T, pager) {
	last := max(1, (len(rows)+pageRows-1)/pageRows)
	number, err := strconv.Atoi(v.r.URL.Query().Get("page"))
	if err != nil {
		number = 1
	}
	number = min(max(number, 1), last)
	first := (number - 1) * pageRows
	end := min(first+pageRows, len(rows))
	query := v.r.URL.Query()
	query.Del("notice")
	return rows[first:end], pager{Number: number, Last: last, First: min(first+1, len(rows)), End: end, Total: len(rows), path: v.path, query: query}
}

// To returns the address of another page of the list.
func (p pager) To(number int) string {
	p.query.Set("page", strconv.Itoa(number))
	return p.path + "?" + p.query.Encode()
}

// Previous and Next return the addresses of the pages around this one, "" if there is none.
func (p pager) Previous() string {
	if p.Number == 1 {
		return ""
	}
	return p.To(p.Number - 1)
}

// Next returns the address of the next page, or "".
func (p pager) Next() string {
	if p.Number == p.Last {
		return ""
	}
	return p.To(p.Number + 1)
}
