package program

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"net/http"
	"testing"
)

// A callState is a client's knowledge about one of its calls.
type callState uint8

const (
	unsent callState = iota
	sent             // the outcome is unknown
	answered
)

// A versionedProduct is a product that one client writes repeatedly. Each write stores one
// number, the version, in several fields, so that a mix of two versions is visible.
type versionedProduct struct {
	sku     string
	path    string // below /api/rest; empty until the product exists
	picture []byte // of its image
	// The versions of the last write that was sent and the last that was answered; 0: none.
	sent, saved int
	parts       [3]callState
}

// The kinds of writes of a versionedProduct. The first three write parts, and are indexes of
// versionedProduct.parts. writeVersion writes a version, and creates the product first.
const (
	writeWebsite = iota
	writeCategory
	writeImage
	writeVersion
)

// newVersionedProduct returns a product, which does not exist yet, with a random image.
func newVersionedProduct(t *testing.T, sku string) *versionedProduct {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, 128, 64))
	for i := range picture.Pix {
		picture.Pix[i] = uint8(rand.Uint32())
	}
	var content bytes.Buffer
	if err := png.Encode(&content, picture); err != nil {
		t.Fatal(err)
	}
	return &versionedProduct{sku: sku, picture: content.Bytes()}
}

// statusOfVersion returns the product status of a version: even versions are visible to
// shoppers, odd ones are not.
func statusOfVersion(version int) int { return 1 + version%2 }

// call returns the call that makes a kind of write. All images ask for the same file name.
func (a *versionedProduct) call(what int) (method, path, body string) {
	switch what {
	case writeWebsite:
		return http.MethodPost, a.path + "/websites", `{"website_id":1}`
	case writeCategory:
		return http.MethodPost, a.path + "/categories", `{"category_id":6}`
	case writeImage:
		return http.MethodPost, a.path + "/images",
			`{"file_name":"front","file_mime_type":"image/png","types":["image"],"file_content":"` + base64.StdEncoding.EncodeToString(a.picture) + `"}`
	}
	body = fmt.Sprintf(`{"name":"v%[1]d","price":%[1]d,"status":%[2]d,"stock_data":{"use_config_manage_stock":1,"qty":%[1]d},`+
		`"group_price":[{"website_id":0,"cust_group":1,"price":%[1]d}],"tier_price":[{"website_id":0,"cust_group":1,"price_qty":2,"price":%[1]d}]`,
		a.sent, statusOfVersion(a.sent))
	if a.path != "" {
		return http.MethodPut, a.path, body + "}"
	}
	return http.MethodPost, "/products", body + `,"type_id":"simple","attribute_set_id":4,"sku":"` + a.sku +
		`","weight":1,"visibility":4,"tax_class_id":2,"description":"D","short_description":"S"}`
}
