//go:build linux

package speed

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
)

// BenchmarkWrite compares writes with floors that write the same rows.
func BenchmarkWrite(b *testing.B) {
	for _, w := range writes() {
		b.Run(w.name, func(b *testing.B) {
			ours, theirs := newStore(b, diskDir(b)), newStore(b, diskDir(b))
			compare(b, startPortico(b, ours.environ), startFloor(b, floor{Driver: theirs.driver, DSN: theirs.dsn, Media: theirs.media}), w.make())
		})
	}
}

// diskDir returns a folder that is not in memory, as the folder for temporary files may be: to wait for the disk is part
// of a write.
func diskDir(b testing.TB) string {
	b.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "portico-speed-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// smallImage is a PNG of one pixel, in base64.
const smallImage = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="

// A writing makes the request of a benchmark.
type writing struct {
	name string
	make func() request
}

// writes returns the writes of BenchmarkWrite.
func writes() []writing {
	return []writing{
		{"stock item", func() request {
			bodies := make([]string, 200)
			for i := range bodies {
				bodies[i] = fmt.Sprintf(`{"qty":%d}`, 5+i)
			}
			return write(http.MethodPut, "/api/rest/stockitems/7", bodies...)
		}},
		{"stock batch of 100", func() request {
			bodies := make([]string, 40)
			for i := range bodies {
				var items []string
				for id := range 100 {
					items = append(items, fmt.Sprintf(`{"item_id":%d,"qty":%d}`, 20+id+i%8*100, 5+i+id))
				}
				bodies[i] = "[" + strings.Join(items, ",") + "]"
			}
			r := write(http.MethodPut, "/api/rest/stockitems", bodies...)
			r.status = http.StatusMultiStatus
			return r
		}},
		{"product at a store view", func() request {
			bodies := make([]string, 200)
			for i := range bodies {
				bodies[i] = fmt.Sprintf(`{"name":"Name %d","short_description":"Text %d","price":%d.5}`, i, i, 10+i)
			}
			return write(http.MethodPut, "/api/rest/products/7/store/1", bodies...)
		}},
		{"image", func() request {
			bodies, paths := make([]string, 60_000), make([]string, 997)
			for i := range bodies {
				bodies[i] = fmt.Sprintf(`{"file_mime_type":"image/png","file_name":"image-%d","file_content":%q,"label":"A label","position":1,"exclude":0}`, i, smallImage)
			}
			for i := range paths {
				paths[i] = fmt.Sprintf("/api/rest/products/%d/images", demotest.FirstGeneratedID+i)
			}
			r := write(http.MethodPost, paths[0], bodies...)
			r.paths = paths
			return r
		}},
		{"product", func() request {
			// More than both servers can create, each with an SKU and a URL key of its own.
			bodies := make([]string, 60_000)
			for i := range bodies {
				name := "New " + strings.ToLower(rand.Text())
				bodies[i] = fmt.Sprintf(`{"type_id":"simple","attribute_set_id":4,"sku":%q,"name":%q,"description":"A long text of what it is","short_description":"A text","price":12.5,"weight":1,"status":1,"visibility":4,"tax_class_id":2}`, name, name)
			}
			return write(http.MethodPost, "/api/rest/products", bodies...)
		}},
	}
}

// TestWrites checks that the server and the floor write the same rows.
func TestWrites(t *testing.T) {
	t.Parallel()
	ours, theirs := newStore(t, t.TempDir()), newStore(t, t.TempDir())
	portico, least := startPortico(t, ours.environ), startFloor(t, floor{Driver: theirs.driver, DSN: theirs.dsn, Media: theirs.media})
	for _, w := range writes() {
		t.Run(w.name, func(t *testing.T) {
			compareReplies(t, portico, least, w.make())
			for _, table := range []string{"product", "product_website", "product_category", "product_value", "product_listing", "product_image", "product_image_value", "product_image_pointer", "media_file", "stock_item"} {
				got, want := ours.rows(t, table), theirs.rows(t, table)
				for row := range want {
					if !got[row] {
						t.Errorf("%s: only the floor has %s", table, row)
					}
				}
				for row := range got {
					if !want[row] {
						t.Errorf("%s: only the server has %s", table, row)
					}
				}
			}
		})
	}
}
