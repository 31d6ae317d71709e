package mapping

import (
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/adapter"
)

// Where below the base URL the files of images are (product_parts 2.1), and where
// products show theirs: the original keeps it there in another size, and something
// for products that have none (products 3.4).
const (
	mediaPath   = "/media/catalog/product/"
	resizedPath = "cache/1/image/"
	placeholder = "/skin/frontend/base/default/images/catalog/product/placeholder/image.jpg"
)

// imagePath returns the path of the product's base image.
func imagePath(product adapter.Record) string {
	file := product.Get("image_file").Text()
	if file == "" {
		return placeholder
	}
	return mediaPath + resizedPath + strings.TrimPrefix(file, "/")
}

// A MediaRequest is what the URL of an image asks for.
type MediaRequest struct {
	// File is the name of a file of an image, "" for none.
	File string
	// Placeholder: what stands for the image of a product that has none.
	Placeholder bool
}

// ParseMedia reads what r asks for, by a path as the service's answers have them.
// Nothing in it need exist.
func ParseMedia(r *http.Request) MediaRequest {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return MediaRequest{}
	}
	if r.URL.Path == placeholder {
		return MediaRequest{Placeholder: true}
	}
	if file, below := strings.CutPrefix(r.URL.Path, mediaPath); below {
		return MediaRequest{File: strings.TrimPrefix(file, resizedPath)}
	}
	return MediaRequest{}
}
