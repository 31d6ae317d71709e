package reststore

import (
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestIncompleteList checks that a scan reports that documents may be missing from the pages of a list, after
// it has passed on all listed documents, and that a search then does not report that there is no document.
func TestIncompleteList(t *testing.T) {
	const offsets, cursors, wholes = "{offset: o, limit: l, size: 2}", "{cursor: {query: c, next: next}}", "{whole: true}"
	for _, c := range []struct {
		name, pages string
		listed      []string // the ids of each page
		totals      []int    // totals of the pages; nil: none
		want        string   // the error; "" for none
	}{
		{"whole", offsets, []string{"a b", "c d"}, []int{4, 4}, ""},
		{"whole without a total", offsets, []string{"a b", "c d", ""}, nil, ""},
		{"the last page for all pages beyond", offsets, []string{"a b", "c d", "c d"}, nil, ""},
		{"more have come meanwhile", offsets, []string{"a b", "c d", "e"}, []int{4, 5, 5}, ""},
		{"on two pages", offsets, []string{"a b", "b d"}, []int{4, 4}, "4 records are listed, 1 of them twice, and the backend says that there are 4: others may be missing"},
		{"on two pages, without a total", offsets, []string{"a b", "c a", ""}, nil, "4 records are listed, 1 of them twice: others may be missing"},
		{"twice on a page", offsets, []string{"a a"}, []int{2}, "2 records are listed, 1 of them twice, and the backend says that there are 2: others may be missing"},
		{"fewer than the total", offsets, []string{"a b", "c", ""}, []int{5, 5, 5}, "3 records are listed, and the backend says that there are 5: others may be missing"},
		{"the same page instead of the next", offsets, []string{"a b", "a b"}, []int{4, 4}, "2 records are listed, and the backend says that there are 4: others may be missing"},
		{"more than the total", offsets, []string{"a b", "c d"}, []int{3, 3}, "4 records are listed, and the backend says that there are 3: others may be missing"},
		{"deleted meanwhile", offsets, []string{"a b", "d"}, []int{4, 3}, "3 records are listed, and records were deleted meanwhile, which moves the pages: others may be missing"},
		{"in one response", wholes, []string{"a b c"}, nil, ""},
		{"in one response, twice", wholes, []string{"a b a"}, nil, "3 records are listed, 1 of them twice: others may be missing"},
		{"a cursor", cursors, []string{"a b", "c d"}, nil, ""},
		{"a cursor, on two pages", cursors, []string{"a b", "c a"}, nil, "4 records are listed, 1 of them twice: others may be missing"},
		{"a cursor, fewer than the total", strings.Replace(cursors, "{", "{total: total, ", 1), []string{"a b", "c d"}, []int{5, 5}, "4 records are listed, and the backend says that there are 5: others may be missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pages := c.pages
			if c.totals != nil && c.pages == offsets {
				pages = strings.Replace(c.pages, "{", "{total: total, ", 1)
			}
			content := strings.Replace(strings.ReplaceAll(tinyMappingWith(""), "data.list", "list"), "{offset: offset, limit: limit, size: 2}", pages, 1)
			content = strings.Replace(content, "find: {", "find: {among: true, pages: "+pages+", ", 1)
			next := 0
			b := serve(t, content, nil, func(w http.ResponseWriter, _ *http.Request) {
				var list []string
				for id := range strings.FieldsSeq(c.listed[next]) {
					list = append(list, fmt.Sprintf(`{"id": %q}`, id))
				}
				body := `{"list": [` + strings.Join(list, ",") + `]`
				if c.totals != nil {
					body += `, "total": ` + strconv.Itoa(c.totals[next])
				}
				if next++; next < len(c.listed) {
					body += fmt.Sprintf(`, "next": "%d"`, next)
				}
				respond(w, 200, body+`}`)
			})
			var got []string
			err := b.Scan(t.Context(), adapter.Customers, time.Time{}, func(d []replica.Document) error {
				got = append(got, documentIDs(d)...)
				return nil
			})
			incomplete, is := errors.AsType[*replica.IncompleteListError](err)
			switch {
			case c.want == "" && err != nil, c.want != "" && (!is || incomplete.Error() != c.want || adapter.KindOf(err) != adapter.Unavailable):
				t.Errorf("scan: %v, want %q", err, c.want)
			case next != len(c.listed):
				t.Errorf("%d pages are read, want %d", next, len(c.listed))
			}
			for _, id := range strings.Fields(strings.Join(c.listed, " ")) {
				if !slices.Contains(got, id) {
					t.Errorf("%s is not among %q", id, got)
				}
			}
			next = 0
			kind := adapter.NotFound
			if c.want != "" {
				kind = adapter.Unavailable
			}
			if _, err := b.Find(t.Context(), adapter.Customers, 7, adapter.Record{}); adapter.KindOf(err) != kind {
				t.Errorf("find: %v, want %s", err, kind)
			}
		})
	}
}
