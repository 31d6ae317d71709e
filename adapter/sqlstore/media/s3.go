package media

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/portico-commerce/portico/adapter"
	"github.com/sony/gobreaker/v2"
)

// BucketOptions locate a bucket and configure access to it.
type BucketOptions struct {
	// Endpoint is the URL of the store, without a path.
	Endpoint string
	// Region is the region of the bucket. Empty: the client asks the store.
	Region string
	Bucket string
	// Prefix begins the keys of all objects. It is empty, or ends in a slash.
	Prefix string
	// AccessKey and SecretKey sign requests. Without them, the keys come from the environment
	// variables of AWS or from the role of the machine.
	AccessKey, SecretKey string
	// PathStyle makes the bucket part of the path, instead of the name of the host.
	PathStyle bool
	// Timeout limits a request until it is answered, uploads with their bytes.
	Timeout time.Duration
}

const (
	// tries is how often a request is sent that fails for a reason that may pass.
	tries = 3
	// bodyTimeout limits the time for which the bytes of one object are read.
	bodyTimeout = 10 * time.Minute
	// connections limits the idle connections.
	connections = 32
	// maxFailures in a row make the store refuse requests for pause.
	maxFailures = 5
	pause       = 2 * time.Second
)

// A Bucket is a bucket, or the part of a bucket below a prefix.
type Bucket struct {
	BucketOptions
	core      minio.Core
	transport *http.Transport
	breaker   *gobreaker.TwoStepCircuitBreaker[any]
	now       func() time.Time
}

var _ Store = (*Bucket)(nil)

var errEndpoint = errors.New("must be a URL such as https://s3.example.com, without a path")

// CheckEndpoint returns an error if the URL of a store is invalid.
func CheckEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return errEndpoint
	}
	return nil
}

// OpenBucket sends nothing.
func OpenBucket(o BucketOptions) (*Bucket, error) {
	if err := CheckEndpoint(o.Endpoint); err != nil {
		return nil, err
	}
	endpoint, _ := url.Parse(o.Endpoint)
	s := &Bucket{BucketOptions: o, now: time.Now, transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: min(o.Timeout, 10*time.Second)}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}}
	s.breaker = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Timeout:     pause,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= maxFailures },
	})
	keys := credentials.NewStaticV4(o.AccessKey, o.SecretKey, "")
	if o.AccessKey == "" {
		keys = credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.IAM{Client: &http.Client{Transport: s.transport, Timeout: o.Timeout}}})
	}
	lookup := minio.BucketLookupAuto
	if o.PathStyle {
		lookup = minio.BucketLookupPath
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: keys, Secure: endpoint.Scheme == "https", Transport: s.transport, Region: o.Region, BucketLookup: lookup, MaxRetries: tries,
	})
	if err != nil {
		return nil, err
	}
	s.core = minio.Core{Client: client}
	return s, nil
}

// Close closes idle connections.
func (s *Bucket) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// do runs one request within the limit of time, unless the last ones have failed.
func (s *Bucket) do(ctx context.Context, limit time.Duration, what string, request func(context.Context) error) error {
	report, err := s.breaker.Allow()
	if err != nil {
		return bucketUnavailable(what, err)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = request(limited)
	switch {
	case err == nil, isMissing(err):
		report(nil)
	case errors.Is(ctx.Err(), context.Canceled): // the client has gone
		report(nil)
		return ctx.Err()
	default:
		report(err)
		return bucketUnavailable(what, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, fs.ErrNotExist)
	}
	return nil
}

// bucketUnavailable returns the error of a store that fails. It has no URL, as that may be signed.
func bucketUnavailable(what string, err error) error {
	if fault, ok := errors.AsType[*url.Error](err); ok {
		err = fault.Err
	}
	if answer, ok := errors.AsType[minio.ErrorResponse](err); ok {
		err = fmt.Errorf("the store answers %d %s: %s", answer.StatusCode, answer.Code, answer.Message)
	}
	return &adapter.Error{Kind: adapter.Unavailable, Op: what, Err: fmt.Errorf("%w: %w", adapter.ErrMediaUnavailable, err), RetryAfter: pause}
}

// isMissing reports whether there is no object of a key. Other answers with status 404, such as that
// for a bucket that is not there, are failures: or all images would seem to be gone.
func isMissing(err error) bool {
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && answer.Code == minio.NoSuchKey
}

// key returns the key of a file.
func (s *Bucket) key(file Ref) string {
	if file.Object != "" {
		return s.Prefix + file.Object
	}
	return s.Prefix + file.Name
}

// put uploads an object.
func (s *Bucket) put(ctx context.Context, key string, content io.Reader, size int64, limit time.Duration) error {
	return s.do(ctx, limit, "store media", func(ctx context.Context) error {
		_, err := s.core.Client.PutObject(ctx, s.Bucket, key, content, size, putOptions())
		return err
	})
}

// putOptions are the options of all uploads.
func putOptions() minio.PutObjectOptions {
	return minio.PutObjectOptions{DisableMultipart: true, SendContentMd5: true, ContentType: "application/octet-stream"}
}

// Put uploads bytes under a name.
func (s *Bucket) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	return s.put(ctx, s.key(Ref{Name: name}), content, size, bodyTimeout)
}

// Add uploads bytes under a key of their own.
func (s *Bucket) Add(content []byte) (Pending, error) {
	p := &upload{store: s, object: s.newObject()}
	err := s.put(context.Background(), s.key(Ref{Object: p.object}), bytes.NewReader(content), int64(len(content)), s.Timeout)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// An upload is an object that no row refers to yet.
type upload struct {
	store     *Bucket
	object    string
	published bool
}

// Publish returns the key of the object.
func (u *upload) Publish(string) (object string, err error) {
	u.published = true
	return u.object, nil
}

// Discard removes the object if it was never published. Otherwise the transaction may have
// committed, even if it failed for its client: then [Store.Abandoned] decides.
func (u *upload) Discard() {
	if !u.published {
		_ = u.store.Remove(context.Background(), Ref{Object: u.object})
	}
}

// Exists asks for the headers of an object.
func (s *Bucket) Exists(ctx context.Context, file Ref) (bool, error) {
	err := s.do(ctx, s.Timeout, "look for media", func(ctx context.Context) error {
		_, err := s.core.Client.StatObject(ctx, s.Bucket, s.key(file), minio.StatObjectOptions{})
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Remove removes an object.
func (s *Bucket) Remove(ctx context.Context, file Ref) error {
	err := s.do(ctx, s.Timeout, "remove media", func(ctx context.Context) error {
		return s.core.Client.RemoveObject(ctx, s.Bucket, s.key(file), minio.RemoveObjectOptions{})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

const (
	// uploads begins the keys of objects after the prefix. No name of a media file begins so.
	uploads = ".uploads/"
	dayForm = "20060102"
	// minAge is the age at which an object without a row is of a transaction that has ended.
	minAge = 24 * time.Hour
	// searchedDays limits how far back objects without a row are looked for.
	searchedDays = 7
	// batch is the number of objects that are compared with the database at once.
	batch = 500
)

// newObject returns a key that no other upload has, below the day.
func (s *Bucket) newObject() string {
	return uploads + s.now().UTC().Format(dayForm) + "/" + rand.Text()
}

// Abandoned lists the uploads of the last days.
func (s *Bucket) Abandoned(ctx context.Context, f func(objects []string) (unused []string, err error)) error {
	for day := 1; day <= searchedDays; day++ {
		below := s.Prefix + uploads + s.now().UTC().AddDate(0, 0, -day).Format(dayForm) + "/"
		for after := ""; ; {
			objects, err := s.list(ctx, below, after)
			if err != nil || len(objects) == 0 {
				if err != nil {
					return err
				}
				break
			}
			after = s.Prefix + objects[len(objects)-1].Object
			if err := s.removeUnused(ctx, objects, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// list returns the next objects below a prefix that are old enough, or not.
func (s *Bucket) list(ctx context.Context, below, after string) (objects []aged, err error) {
	err = s.do(ctx, s.Timeout, "list media", func(ctx context.Context) error {
		found, err := s.core.ListObjectsV2(s.Bucket, below, after, "", "", batch)
		for _, object := range found.Contents {
			objects = append(objects, aged{object.Key[len(s.Prefix):], object.LastModified})
		}
		return err
	})
	return objects, err
}

// An aged object is one with the time of its upload.
type aged struct {
	Object  string
	changed time.Time
}

// removeUnused calls f with the old objects, and removes the objects that f returns because no row
// names them.
func (s *Bucket) removeUnused(ctx context.Context, objects []aged, f func([]string) ([]string, error)) error {
	var old []string
	for _, object := range objects {
		if s.now().Sub(object.changed) >= minAge {
			old = append(old, object.Object)
		}
	}
	if len(old) == 0 {
		return nil
	}
	unused, err := f(old)
	if err != nil {
		return err
	}
	for _, object := range unused {
		if err := s.Remove(ctx, Ref{Object: object}); err != nil {
			return err
		}
	}
	return nil
}
