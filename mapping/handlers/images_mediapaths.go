package handlers

import (
	"github.com/portico-commerce/portico/adapter"
	"net/http"
	"strings"
)

// The paths of image files below the base URL (product_parts 2.1). Products show their
// images resized, or a placeholder if they have none (products 3.4).
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

// A MediaRequest is the image that a URL requests.
type MediaRequest struct {
	// File is the name of an image file, or "".
	File string
	// Placeholder reports that the URL names the image for products without one.
	Placeholder bool
}

// ParseMedia parses the URL of r, in the form in which replies show image URLs. The file
// need not exist. The zero MediaRequest stands for a request that is not for an image.
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
