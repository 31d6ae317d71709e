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

	"github.com/portico-commerce/portico/mapping/handlers"
	"github.com/portico-commerce/portico/mapping/pipeline"
)

// mediaCall is the name of requests for image files in logs and metrics.
const mediaCall = "media"

// mediaCaching allows everyone to cache an image for an hour. The content of a file never
// changes while the store has records that refer to it.
const mediaCaching = "public, max-age=3600"

// serveMedia answers a request for an image file. The file was verified to be an image when
// it was stored; the headers prevent clients from interpreting it as anything else.
func (a *API) serveMedia(c *gin.Context, wanted handlers.MediaRequest) {
	header := c.Writer.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	if wanted.Placeholder {
		a.serveImage(c, "image/jpeg", time.Time{}, bytes.NewReader(a.placeholder))
	} else {
		a.serveFile(c, wanted.File)
	}
	c.Writer.WriteHeaderNow()
}

func (a *API) serveFile(c *gin.Context, name string) {
	file, err := a.OpenMedia(c.Request.Context(), name)
	if err != nil {
		a.mediaError(c, err)
		return
	}
	defer func() { _ = file.Close() }() // opened for reading only
	// The demo store may reuse a name within one second, the resolution of
	// Last-Modified.
	c.Header("ETag", fmt.Sprintf(`"%x-%x"`, file.Changed.UnixNano(), file.Size))
	a.serveImage(c, file.MediaType, file.Changed, file)
}

// serveImage sends an image, or the ranges that the request headers ask for.
func (a *API) serveImage(c *gin.Context, mediaType string, changed time.Time, content io.ReadSeeker) {
	c.Header("Content-Type", mediaType)
	c.Header("Cache-Control", mediaCaching)
	http.ServeContent(c.Writer, c.Request, "", changed, content)
}

func (a *API) mediaError(c *gin.Context, err error) {
	c.Header("Cache-Control", "no-store")
	after := pipeline.RetryAfter(err)
	// The cause of an unavailable upstream may be a missing file as well, such as the
	// socket of a server.
	if after == 0 && errors.Is(err, fs.ErrNotExist) {
		http.Error(c.Writer, "Not found", http.StatusNotFound)
		return
	}
	a.Log.LogAttrs(c.Request.Context(), slog.LevelError, "image not served", slog.Any("error", err))
	c.Header("Retry-After", strconv.Itoa(max(1, after)))
	http.Error(c.Writer, "The image cannot be read now", http.StatusServiceUnavailable)
}

// newPlaceholder returns the image that stands for a missing product image: a gray square as
// a JPEG.
func newPlaceholder() ([]byte, error) {
	const size, gray = 265, 0xee
	picture := image.NewGray(image.Rect(0, 0, size, size))
	for i := range picture.Pix {
		picture.Pix[i] = gray
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, picture, nil)
	return b.Bytes(), err
}
