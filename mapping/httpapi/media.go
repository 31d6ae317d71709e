package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/portico-commerce/portico/mapping"
)

// mediaCall names the requests for files of images in logs and metrics.
const mediaCall = "media"

// mediaCaching lets everybody keep an image for an hour. Its bytes are never others
// while the store keeps its records.
const mediaCaching = "public, max-age=3600"

// serveMedia answers a request for the file of an image. What is served was checked
// to be an image when it was stored; the headers keep a client from taking it for
// anything else.
func (a *api) serveMedia(c *gin.Context, wanted mapping.MediaRequest) mapping.Response {
	header := c.Writer.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	if wanted.Placeholder {
		a.serveImage(c, "image/jpeg", time.Time{}, bytes.NewReader(a.placeholder))
	} else {
		a.serveFile(c, wanted.File)
	}
	c.Writer.WriteHeaderNow()
	return mapping.Response{Status: c.Writer.Status(), Call: mediaCall}
}

func (a *api) serveFile(c *gin.Context, name string) {
	file, mediaType, err := a.OpenMedia(c.Request.Context(), name)
	if err != nil {
		a.refuseMedia(c, err)
		return
	}
	defer func() { _ = file.Close() }() // nothing was written to it
	about, err := file.Stat()
	if err != nil {
		a.refuseMedia(c, err)
		return
	}
	// The demo store may give a name again within the second that Last-Modified
	// tells.
	c.Header("ETag", fmt.Sprintf(`"%x-%x"`, about.ModTime().UnixNano(), about.Size()))
	a.serveImage(c, mediaType, about.ModTime(), file)
}

// serveImage answers with an image, all of it or what the headers ask for.
func (a *api) serveImage(c *gin.Context, mediaType string, changed time.Time, content io.ReadSeeker) {
	c.Header("Content-Type", mediaType)
	c.Header("Cache-Control", mediaCaching)
	http.ServeContent(c.Writer, c.Request, "", changed, content)
}

func (a *api) refuseMedia(c *gin.Context, err error) {
	c.Header("Cache-Control", "no-store")
	after := mapping.RetryAfter(err)
	// What makes the upstream unavailable may be a file that is not there as well,
	// such as the socket of a server.
	if after == 0 && errors.Is(err, fs.ErrNotExist) {
		http.Error(c.Writer, "Not found", http.StatusNotFound)
		return
	}
	a.Log.LogAttrs(c.Request.Context(), slog.LevelError, "image not served", slog.Any("error", err))
	c.Header("Retry-After", strconv.Itoa(max(1, after)))
	http.Error(c.Writer, "The image cannot be read now", http.StatusServiceUnavailable)
}

// newPlaceholder returns the JPEG that stands for an image that a product does not
// have: a grey square.
func newPlaceholder() ([]byte, error) {
	const side, grey = 265, 0xee
	picture := image.NewGray(image.Rect(0, 0, side, side))
	for i := range picture.Pix {
		picture.Pix[i] = grey
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, picture, nil)
	return b.Bytes(), err
}
