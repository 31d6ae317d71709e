//go:build linux

package sqltest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"github.com/portico-commerce/portico/config/testenv"
)

// version is the program that the tests run.
const version = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

const (
	accessKey, secretKey = "test", "a secret of the tests"
	bucket               = "media"
	bucketStartTimeout   = time.Minute
)

// build builds the server once for all tests of a process.
var build = sync.OnceValues(func() (path string, err error) {
	folder := filepath.Join(os.TempDir(), "portico-s3test")
	path = filepath.Join(folder, "versitygw")
	command := exec.Command("go", "install", version)
	command.Env = append(os.Environ(), "GOBIN="+folder, "GOFLAGS=-mod=mod")
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install %s: %w\n%s", version, err, output)
	}
	return path, nil
})

// A BucketServer is a running server.
type BucketServer struct {
	// Folder has the objects of the bucket, in files with their keys as paths.
	Folder  string
	address string
	path    string
	cmd     *exec.Cmd
	ended   <-chan struct{}
}

// StartBucketServer starts a server with an empty bucket. It ends with the test.
func StartBucketServer(tb testing.TB) *BucketServer {
	tb.Helper()
	path, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	s := &BucketServer{Folder: filepath.Join(tb.TempDir(), bucket), address: testenv.FreeAddress(tb), path: path}
	if err := os.Mkdir(s.Folder, 0o700); err != nil {
		tb.Fatal(err)
	}
	s.Restart(tb)
	return s
}

// Restart starts the server again, after it was killed.
func (s *BucketServer) Restart(tb testing.TB) {
	tb.Helper()
	s.cmd = exec.Command(s.path, "--access", accessKey, "--secret", secretKey, "--port", s.address, "--quiet", "posix", filepath.Dir(s.Folder))
	s.ended = testenv.StartProgram(tb, s.cmd)
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.Dial("tcp", s.address)
		if err == nil {
			_ = connection.Close()
			return
		}
		if time.Since(began) > bucketStartTimeout {
			tb.Fatalf("versitygw does not listen on %s: %v", s.address, err)
		}
	}
}

// Kill ends the server at once.
func (s *BucketServer) Kill(tb testing.TB) {
	tb.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		tb.Fatal(err)
	}
	<-s.ended
}

// Pause stops the server, so that connections stay open and nothing is answered, until resume is
// called.
func (s *BucketServer) Pause(tb testing.TB) (resume func()) {
	tb.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		tb.Fatal(err)
	}
	return func() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }
}

// Options returns how to use the bucket.
func (s *BucketServer) Options() media.BucketOptions {
	return media.BucketOptions{
		Endpoint: "http://" + s.address, Region: "us-east-1", Bucket: bucket, PathStyle: true,
		AccessKey: accessKey, SecretKey: secretKey, Timeout: 5 * time.Second,
	}
}

// Environ returns the same as settings of Portico.
func (s *BucketServer) Environ() []string {
	o := s.Options()
	return []string{
		"PORTICO_MEDIA_ENDPOINT=" + o.Endpoint, "PORTICO_MEDIA_REGION=" + o.Region, "PORTICO_MEDIA_BUCKET=" + o.Bucket,
		"PORTICO_MEDIA_PATH_STYLE=true", "PORTICO_MEDIA_ACCESS_KEY=" + o.AccessKey, "PORTICO_MEDIA_SECRET_KEY=" + o.SecretKey,
	}
}

// Open opens the bucket with changed options. It is closed with the test.
func (s *BucketServer) Open(tb testing.TB, change func(*media.BucketOptions)) *media.Bucket {
	tb.Helper()
	o := s.Options()
	if change != nil {
		change(&o)
	}
	store, err := media.OpenBucket(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = store.Close() })
	return store
}
