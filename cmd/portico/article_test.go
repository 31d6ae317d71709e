package main

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

// A progress is how far a call has come.
type progress uint8

const (
	unsent progress = iota
	sent            // it is not known what became of it
	answered
)

// An article is a product that one client writes, again and again. Each write
// stores one number, its version, in all fields that it has.
type article struct {
	sku     string
	path    string // below /api/rest, once it is known
	picture []byte // of its image
	// The version that was sent last, and the one that was answered last; 0 for none.
	sent, saved int
	parts       [3]progress
}

// The calls that write an article: those of its parts, each in article.parts, and
// that of a version, which creates the product when there is none.
const (
	aWebsite = iota
	aCategory
	anImage
	aVersion
)

// newArticle returns an article with an image like no other's.
func newArticle(t *testing.T, sku string) *article {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, 128, 64))
	for i := range picture.Pix {
		picture.Pix[i] = uint8(rand.Uint32())
	}
	var content bytes.Buffer
	if err := png.Encode(&content, picture); err != nil {
		t.Fatal(err)
	}
	return &article{sku: sku, picture: content.Bytes()}
}

// status is that of a version: shoppers see every other one.
func status(version int) int { return 1 + version%2 }

// call returns the call that writes what. All images ask for one file name.
func (a *article) call(what int) (method, path, body string) {
	switch what {
	case aWebsite:
		return http.MethodPost, a.path + "/websites", `{"website_id":1}`
	case aCategory:
		return http.MethodPost, a.path + "/categories", `{"category_id":6}`
	case anImage:
		return http.MethodPost, a.path + "/images",
			`{"file_name":"front","file_mime_type":"image/png","types":["image"],"file_content":"` + base64.StdEncoding.EncodeToString(a.picture) + `"}`
	}
	body = fmt.Sprintf(`{"name":"v%[1]d","price":%[1]d,"status":%[2]d,"stock_data":{"use_config_manage_stock":1,"qty":%[1]d},`+
		`"group_price":[{"website_id":0,"cust_group":1,"price":%[1]d}],"tier_price":[{"website_id":0,"cust_group":1,"price_qty":2,"price":%[1]d}]`,
		a.sent, status(a.sent))
	if a.path != "" {
		return http.MethodPut, a.path, body + "}"
	}
	return http.MethodPost, "/products", body + `,"type_id":"simple","attribute_set_id":4,"sku":"` + a.sku +
		`","weight":1,"visibility":4,"tax_class_id":2,"description":"D","short_description":"S"}`
}
