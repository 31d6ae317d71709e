package handlers

import (
	"net/http"
	"strings"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/resource"
)

// The paths of image files below the folder of images (product_parts 2.1). Products show their
// images resized, or a placeholder if they have none (products 3.4), which is below the base URL.
const (
	mediaPath   = "/catalog/product/"
	resizedPath = "cache/1/image/"
	placeholder = "/skin/frontend/base/default/images/catalog/product/placeholder/image.jpg"
)

// imageURL returns the address of the product's base image in the reply to c.
func imageURL(c *resource.Call, links *resource.Links, product adapter.Record) string {
	file := product.Get("image_file").Text()
	if file == "" {
		return links.Base(c) + placeholder
	}
	return links.Media(c, mediaPath+resizedPath, strings.TrimPrefix(file, "/"))
}

// A MediaRequest is the image that a URL requests.
type MediaRequest struct {
	// File is the name of an image file, or "".
	File string
	// Placeholder reports that the URL names the image for products without one.
	Placeholder bool
}

// ParseMedia parses the URL of r, in the form in which replies show image URLs: folders are the paths
// of the folders that have images. The file need not exist. The zero MediaRequest stands for a request
// that is not for an image.
func ParseMedia(r *http.Request, folders []string) MediaRequest {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return MediaRequest{}
	}
	if r.URL.Path == placeholder {
		return MediaRequest{Placeholder: true}
	}
	for _, folder := range folders {
		rest, below := strings.CutPrefix(r.URL.Path, folder)
		if file, isImage := strings.CutPrefix(rest, mediaPath); below && isImage {
			return MediaRequest{File: strings.TrimPrefix(file, resizedPath)}
		}
	}
	return MediaRequest{}
}
