//go:build linux

package program

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// A mountedStore is a program whose folders are file systems of its own, in a mount namespace that
// nobody else sees.
type mountedStore struct {
	*apptest.Process
	folder       string
	admin, guest *apptest.Client
}

// mountedFolders are the folders to which the program writes.
const mountedFolders = "data media record spool"

// newMountedStore starts the program with the demo store. before runs in a shell before the program
// does.
func newMountedStore(t *testing.T, before string) *mountedStore {
	t.Helper()
	s := &mountedStore{folder: t.TempDir()}
	in := func(name string) string { return filepath.Join(s.folder, name) }
	script := `set -e; cd "$1"; for d in ` + mountedFolders + `; do mkdir -p $d; mount -t tmpfs -o size=8m tmpfs $d; done; cp "$2" data/store.db; ` + before + `
		shift 2; exec "$@"`
	s.Process = apptest.StartProgram(t, []string{
		apptest.FastPasswordHashing, "PORTICO_SQL_DSN=sqlite:" + in("data/store.db"), "PORTICO_SQL_MEDIA_DIR=" + in("media"),
		"PORTICO_RECORD_DIR=" + in("record"), "PORTICO_RECORD_SAMPLE=1", "PORTICO_LISTS_SPOOL_DIR=" + in("spool"), "PORTICO_LOG_LEVEL=warn",
	}, "unshare", append(namespaces("-r"), "--", "sh", "-c", script, "sh", s.folder, strings.TrimPrefix(demotest.SQLite(t), "sqlite:"),
		apptest.Program(t), "serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")...)
	return s
}

// namespaces returns the flags of unshare and nsenter for namespaces in which the test may mount. A
// user other than root also needs a user namespace, with the given flags.
func namespaces(ofUsers ...string) []string {
	if os.Geteuid() == 0 {
		return []string{"-m"}
	}
	return append(ofUsers, "-m")
}

// run runs a shell script in the folder, where the program sees its file systems.
func (s *mountedStore) run(t *testing.T, script string) {
	t.Helper()
	if out, err := exec.Command("nsenter", append(namespaces("-U", "--preserve-credentials"), "-t", strconv.Itoa(s.Cmd.Process.Pid), "--", "sh", "-c", `cd "$1" && `+script, "sh", s.folder)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// write adds an image to product 1, and changes the stock of product 2. It returns both statuses.
func (s *mountedStore) write(t *testing.T, n int) (image, stock int) {
	t.Helper()
	product := newVersionedProduct(t, "")
	product.path = "/products/1"
	call := func(method, path, body string) int {
		got, err := s.admin.Call(t.Context(), method, path, body)
		if err != nil {
			t.Fatal(err)
		}
		return got.Status
	}
	image = call(product.call(writeImage))
	stock = call(http.MethodPut, "/stockitems/2", fmt.Sprintf(`{"qty": %d}`, n))
	return image, stock
}

// checkReads checks that all reads go on, and that the program says that it serves.
func (s *mountedStore) checkReads(t *testing.T, image string, n int) {
	t.Helper()
	for what, got := range map[string]apptest.Reply{
		"a product": s.guest.Get(t, fmt.Sprint("/products/1?n=", n)), "a list": s.guest.Get(t, fmt.Sprint("/products?limit=0&n=", n)), "an image": s.guest.Get(t, image),
		"a customer": s.admin.Get(t, fmt.Sprint("/customers/1?n=", n)), "readiness": apptest.Send(t, "GET", s.Ops+"/readyz", ""),
	} {
		if got.Status != http.StatusOK {
			t.Errorf("%s: %d %s", what, got.Status, got.Body)
		}
	}
}

// TestReadOnlyFileSystems makes the file systems to which the program writes read-only, or fills
// them. Requests that need them fail, and the log names the cause. All other requests succeed, and
// all requests succeed again when the file systems are writable.
func TestReadOnlyFileSystems(t *testing.T) {
	testenv.OnlyNightly(t, "faults") // not everybody may mount
	const unavailable, ok = http.StatusServiceUnavailable, http.StatusOK
	for _, tt := range []struct {
		name, begin, end string
		image, stock     int
		logged           string
	}{
		{"images read-only", "mount -o remount,bind,ro media", "mount -o remount,bind,rw media", unavailable, ok, "media/.new-"},
		{"images full", "head -c 60000000 /dev/zero > media/fill || true", "rm media/fill", unavailable, ok, "media/.new-"},
		{"recordings read-only", "mount -o remount,bind,ro record", "mount -o remount,bind,rw record", ok, ok, "free space in record.dir"},
		{"database full", "head -c 60000000 /dev/zero > data/fill || true", "rm data/fill", unavailable, unavailable, "disk is full"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newMountedStore(t, "")
			s.AwaitAddresses(t, false)
			s.admin, s.guest = apptest.NewClient(t, s.Contract, apptest.DemoAdmin()), apptest.NewClient(t, s.Contract, "")
			if image, stock := s.write(t, 1); image != ok || stock != ok {
				t.Fatalf("before: %d and %d", image, stock)
			}
			var images []struct{ URL string }
			s.admin.Read(t, "/products/1/images", &images)
			shown := images[len(images)-1].URL
			s.run(t, tt.begin)
			for n := range 12 { // more often than a breaker bears
				image, stock := s.write(t, 2+n)
				if image != tt.image || stock != tt.stock {
					t.Errorf("an image: %d, want %d; stock: %d, want %d", image, tt.image, stock, tt.stock)
				}
				s.checkReads(t, shown, n)
			}
			s.Stderr.Await(t, s.Process, tt.logged)
			s.run(t, tt.end)
			testenv.Await(t, "writes again", func() bool {
				image, stock := s.write(t, 99)
				return image == ok && stock == ok
			})
			s.checkReads(t, shown, 99)
			s.Stop(t)
		})
	}
}

// TestStartsOnReadOnlyFileSystem starts the program where it cannot write. The error names the
// setting to change.
func TestStartsOnReadOnlyFileSystem(t *testing.T) {
	testenv.OnlyNightly(t, "faults")
	for folder, want := range map[string]string{"data": "read-only file system\nset sql.dsn", "spool": "read-only file system\nset lists.spool_dir"} {
		t.Run(folder, func(t *testing.T) {
			s := newMountedStore(t, "mount -o remount,bind,ro "+folder)
			if code := s.Wait(t); code != 1 || !strings.Contains(s.Stderr.Text(), want) {
				t.Errorf("exit code %d, want %q in %s", code, want, s.Stderr.Text())
			}
		})
	}
}
