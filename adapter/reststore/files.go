package reststore

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// maxFilePixels bounds the images that are read, like the default of limits.image_pixels for images
	// that clients send.
	maxFilePixels = 40_000_000
	// maxFileStem bounds the name of a file without its extension, in bytes.
	maxFileStem = 80
)

// A source reads files by their URLs. It follows no redirects and sends no credentials.
type source struct {
	base    *url.URL
	own     *http.Client // for the backend, with its TLS settings
	others  *http.Client // for file_hosts
	hosts   []string
	max     int64
	timeout time.Duration
	checker *adapter.ImageChecker
}

// newSource returns a source of files of at most maxBytes bytes: files of the backend at base, read
// with its own transport, and files of other hosts, such as "cdn.example:8443".
func newSource(base *url.URL, own *http.Transport, hosts []string, maxBytes int64, timeout time.Duration) *source {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &source{
		base: base, own: &http.Client{Transport: own, CheckRedirect: stay}, others: &http.Client{CheckRedirect: stay},
		hosts: hosts, max: maxBytes, timeout: timeout, checker: adapter.NewImageChecker(maxFilePixels),
	}
}

var (
	errFileHost = errors.New("files are not read from this host: allow it with connection.file_hosts")
	errNoImage  = errors.New("it is not an image that clients may upload: a whole JPEG, PNG or GIF that is not too large")
)

// Read reads the image at a URL, which may be relative to the backend's URL. Kinds: Invalid for a URL
// that is not allowed and for a file that is not an image; Unavailable.
func (f *source) Read(ctx context.Context, address string) (file replica.File, err error) {
	fault := func(kind adapter.ErrorKind, err error) error {
		return &adapter.Error{Kind: kind, Op: "read a file", Err: err}
	}
	at, err := url.Parse(address)
	if err != nil || at.User != nil {
		return file, fault(adapter.Invalid, errors.New("the URL cannot be parsed, or has a user"))
	}
	at = f.base.ResolveReference(at)
	client := f.others
	switch isOwn := at.Host == f.base.Host && at.Scheme == f.base.Scheme; {
	case isOwn:
		client = f.own
	case at.Scheme != "http" && at.Scheme != "https", !slices.Contains(f.hosts, at.Host):
		return file, fault(adapter.Invalid, errFileHost)
	}
	limited, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, at.String(), nil)
	if err != nil {
		return file, fault(adapter.Invalid, errors.New("the URL cannot be requested"))
	}
	response, err := client.Do(request)
	if inURL, ok := errors.AsType[*url.Error](err); ok {
		err = inURL.Err // without the URL, which may hold a signature
	}
	if err != nil {
		return file, fault(adapter.Unavailable, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return file, fault(adapter.Unavailable, fmt.Errorf("status %d", response.StatusCode))
	}
	if file.Content, err = io.ReadAll(io.LimitReader(response.Body, f.max+1)); err != nil {
		return file, fault(adapter.Unavailable, err)
	}
	if int64(len(file.Content)) > f.max {
		return file, fault(adapter.Invalid, fmt.Errorf("it is larger than response_bytes, %d", f.max))
	}
	if file.MediaType, err = f.checker.MediaType(limited, file.Content); err == nil && file.MediaType == "" {
		err = fault(adapter.Invalid, errNoImage)
	}
	file.Name = name(at.Path, strings.TrimPrefix(file.MediaType, "image/"))
	return file, err
}

var notInFileName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// name returns the name, below the folder for media, of the file at a path. The store makes it unique.
func name(address, extension string) string {
	stem := notInFileName.ReplaceAllString(strings.TrimSuffix(path.Base(address), path.Ext(address)), "_")
	stem = stem[:min(len(stem), maxFileStem)]
	if len(strings.Trim(stem, "_")) < 2 {
		stem = "image"
	}
	return stem[:1] + "/" + stem[1:2] + "/" + stem + "." + strings.Replace(extension, "jpeg", "jpg", 1)
}
