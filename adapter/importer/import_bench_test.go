package importer_test

import (
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
// of these processes.
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
				run := func(metric string, records int, arguments ...string) {
					took, memory := timedImport(b, target, append([]string{"--from", dsn}, arguments...)...)
					resident = max(resident, memory)
					if metric != "" {
						b.ReportMetric(float64(records)/took.Seconds(), metric+"/s")
					}
				}
				run("", 0, "websites", "customer-groups", "taxes", "categories")
				run("products", size.Products, "products")
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

// timedImport runs "portico import" and returns how long it took and its largest resident
// memory in KiB.
func timedImport(b *testing.B, environ []string, arguments ...string) (took time.Duration, memory int64) {
	b.Helper()
	cmd := exec.Command(apptest.Program(b), append([]string{"import"}, arguments...)...)
	cmd.Env = append(apptest.WithoutSettings(os.Environ()), environ...)
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("portico import %v: %v\n%s", arguments, err, out)
	}
	return time.Since(began), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
}
