package importer_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/magento1/magento1test"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
)

// BenchmarkImport imports a large shop part by part, each in a process of its own: products with
// values at three store views, two images each, their stock items, half as many customers with an
// address, and as many orders. PORTICO_TEST_PRODUCTS is the number of products (2,000). It then
// imports the products again, updates them by comparing all, and updates them by the digests of
// ranges. It reports records per second (images with their bytes), and the largest resident memory
// of these processes. PORTICO_TEST_BEFORE is the path of an earlier program, if any, which imports the
// products beside this one, into a database of its own: products/before is this program's rate as a
// multiple of the earlier one's. The two databases must be exported equally. With it, only products are imported.
func BenchmarkImport(b *testing.B) {
	products := 2_000
	if n, err := strconv.Atoi(os.Getenv("PORTICO_TEST_PRODUCTS")); err == nil {
		products = n
	}
	size := magento1test.Size{Products: products, Customers: products / 2, Orders: products}
	dsn, old := magento1test.NewShop(b, magento1test.Demo, "")
	if err := magento1test.Grow(b.Context(), old, "", size); err != nil {
		b.Fatal(err)
	}
	media := b.TempDir()
	folder := filepath.Join(media, "catalog", "product", "g", "r")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		b.Fatal(err)
	}
	for i := range 10 {
		if err := os.WriteFile(filepath.Join(folder, "grown_"+strconv.Itoa(i)+".png"), make([]byte, 50_000), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for _, engine := range []struct {
		name string
		dsn  func(testing.TB) string
	}{
		{"sqlite", func(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "store.db") }},
		{"postgres", sqltest.Postgres},
		{"mariadb", sqltest.MariaDB},
	} {
		b.Run(engine.name, func(b *testing.B) {
			for b.Loop() {
				target := []string{"PORTICO_SQL_DSN=" + engine.dsn(b), "PORTICO_SQL_MEDIA_DIR=" + b.TempDir()}
				var resident int64
				run := func(metric string, records int, arguments ...string) time.Duration {
					took, memory := timedImport(b, apptest.Program(b), target, append([]string{"--from", dsn}, arguments...)...)
					resident = max(resident, memory)
					if metric != "" {
						b.ReportMetric(float64(records)/took.Seconds(), metric+"/s")
					}
					return took
				}
				run("", 0, "websites", "customer-groups", "taxes", "categories")
				took := run("products", size.Products, "products")
				if before := os.Getenv("PORTICO_TEST_BEFORE"); before != "" {
					other := []string{"PORTICO_SQL_DSN=" + engine.dsn(b), "PORTICO_SQL_MEDIA_DIR=" + b.TempDir()}
					timedImport(b, before, other, "--from", dsn, "websites", "customer-groups", "taxes", "categories")
					tookBefore, _ := timedImport(b, before, other, "--from", dsn, "products")
					b.ReportMetric(tookBefore.Seconds()/took.Seconds(), "products/before")
					compareExports(b, other, target)
					continue
				}
				run("images", 2*size.Products, "--media", media, "images")
				run("stock", size.Products, "stock")
				run("customers", size.Customers, "customers")
				run("addresses", size.Customers, "addresses")
				run("orders", size.Orders, "orders")
				run("products_kept", size.Products, "products")
				run("products_compared", size.Products, "--update", "products")
				run("products_unchanged", size.Products, "--update", "products")
				b.ReportMetric(float64(resident)/1024, "MiB")
			}
		})
	}
}

// compareExports fails if two databases are not exported equally by this program, which changes the tables of the
// first to its own layout.
func compareExports(b *testing.B, first, second []string) {
	b.Helper()
	var exports [2][]byte
	for i, environ := range [][]string{first, second} {
		for _, arguments := range [][]string{{"migrate"}, {"export"}} {
			cmd := exec.Command(apptest.Program(b), arguments...)
			cmd.Env = append(apptest.WithoutSettings(os.Environ()), environ...)
			var err error
			if exports[i], err = cmd.Output(); err != nil {
				b.Fatalf("portico %v: %v", arguments, err)
			}
		}
	}
	if !bytes.Equal(exports[0], exports[1]) {
		b.Fatal("the programs have imported other records")
	}
}

// timedImport runs the command import of a program, and returns how long it took and its largest resident
// memory in KiB.
func timedImport(b *testing.B, program string, environ []string, arguments ...string) (took time.Duration, memory int64) {
	b.Helper()
	cmd := exec.Command(program, append([]string{"import"}, arguments...)...)
	cmd.Env = append(apptest.WithoutSettings(os.Environ()), environ...)
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("portico import %v: %v\n%s", arguments, err, out)
	}
	return time.Since(began), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
}
