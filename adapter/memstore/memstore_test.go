package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/adaptertest"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/memstore"
	"github.com/portico-commerce/portico/config/testenv"
)

type attrs = adaptertest.Attributes

// demoData returns the demo store.
func demoData(tb testing.TB) *adapter.Dataset {
	tb.Helper()
	data, err := dataset.Load()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// shop returns an adapter with the demo store.
func shop(tb testing.TB, o memstore.Options) *memstore.Adapter {
	tb.Helper()
	a := memstore.New(o)
	if err := a.Load(tb.Context(), demoData(tb)); err != nil {
		tb.Fatal(err)
	}
	return a
}

// addGallery adds images to products, which no data set holds: some have values and types
// in the default scope, some at a store view, some at both.
func addGallery(tb testing.TB, a adapter.Adapter, schemas *adapter.Schemas) {
	tb.Helper()
	images := adaptertest.StoreOf(tb, a, adapter.ProductImages)
	for _, image := range []struct {
		product     int
		level       int64
		file, label string
		types       []string
	}{
		{1, 0, "o/n/one.png", "One", []string{"image", "small_image"}},
		{1, 2, "t/w/two.png", "Deux", []string{"thumbnail"}},
		{1, 0, "t/h/three.png", "", nil},
		{1, 2, "o/n/one.png", "Un", []string{"image"}},
		{2, 3, "s/i/six.png", " ", []string{"image", "thumbnail"}},
	} {
		r := attrs{"product_id": image.product, "file": image.file, "media_type": "image/png", "label": image.label, "types": image.types, "content": "the bytes of " + image.label}.Record(schemas.Of(adapter.ProductImages))
		if _, err := images.Create(tb.Context(), &adapter.CreateParams{Record: r, StoreID: image.level}); err != nil {
			tb.Fatal(err)
		}
	}
}

// snapshot returns a snapshot of an adapter.
func snapshot(tb testing.TB, a *memstore.Adapter) memstore.Snapshot {
	tb.Helper()
	s, err := a.Snapshot()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// restored returns a function that opens adapters with the current content of an adapter.
func restored(tb testing.TB, full *memstore.Adapter, schemas *adapter.Schemas) func(*testing.T) adapter.Adapter {
	tb.Helper()
	held := snapshot(tb, full)
	return func(t *testing.T) adapter.Adapter {
		t.Helper()
		a := memstore.New(memstore.Options{Schemas: schemas})
		if err := a.Restore(t.Context(), held); err != nil {
			t.Fatal(err)
		}
		return a
	}
}

func TestConformance(t *testing.T) {
	schemas := adapter.NewSchemas()
	full := shop(t, memstore.Options{Schemas: schemas})
	addGallery(t, full, schemas)
	sample := testenv.NewSample(t)
	adaptertest.Run(t, adaptertest.Harness{Open: restored(t, full, schemas), Sampled: func() bool { return sample.Takes(20) }})
}

// TestAddedAttributes runs the suite on attributes that the configuration adds.
func TestAddedAttributes(t *testing.T) {
	schemas, err := adapter.NewSchemas().With(adaptertest.AddedAttributes()...)
	if err != nil {
		t.Fatal(err)
	}
	full := shop(t, memstore.Options{Schemas: schemas})
	addGallery(t, full, schemas)
	for _, r := range []adapter.Resource{adapter.Customers, adapter.CustomerAddresses, adapter.Products} {
		setAdded(t, adaptertest.StoreOf(t, full, r), schemas.Of(r))
	}
	adaptertest.TestLevelReadings(t, adaptertest.StoreOf(t, full, adapter.Products), schemas.Of(adapter.Products), 2)
	sample := testenv.NewSample(t)
	adaptertest.Run(t, adaptertest.Harness{
		Open:       restored(t, full, schemas),
		Schemas:    schemas,
		Attributes: func(a adapter.Attribute) bool { return a.Added },
		Sampled:    func() bool { return sample.Takes(20) },
	})
}

// setAdded gives some records values of added attributes, in the default scope and, to
// products, at a store view.
func setAdded(t *testing.T, store adapter.Store, schema *adapter.Schema) {
	t.Helper()
	for n, r := range adaptertest.MustList(t, store, adapter.ListParams{}).Records {
		for _, level := range []int64{0, 2} {
			if schema.Resource != adapter.Products && level != 0 {
				continue
			}
			change := attrs{}
			for i, a := range schema.Attributes {
				if a.Added {
					change[a.Name] = adaptertest.AddedValue(a.Kind, n+i+int(level))
				}
			}
			if err := adaptertest.Update(t, store, r.Key(), level, change); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// count returns the number of the records of a resource.
func count(t *testing.T, a adapter.Adapter, r adapter.Resource) int64 {
	t.Helper()
	return adaptertest.MustList(t, adaptertest.StoreOf(t, a, r), adapter.ListParams{Count: true}).Total
}

func deleteProduct(t *testing.T, a adapter.Adapter, key adapter.Key) {
	t.Helper()
	adaptertest.MustDelete(t, adaptertest.StoreOf(t, a, adapter.Products), adapter.DeleteParams{Key: key})
}

// TestSnapshot restores snapshots, also in another adapter, and changes either.
func TestSnapshot(t *testing.T) {
	schemas := adapter.NewSchemas()
	a, b := shop(t, memstore.Options{Schemas: schemas}), memstore.New(memstore.Options{Schemas: schemas})
	full, before := snapshot(t, a), count(t, a, adapter.Products)
	deleteProduct(t, a, 1)
	if err := b.Restore(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	deleteProduct(t, b, 2)
	less := snapshot(t, b)
	deleteProduct(t, b, 3)
	for name, c := range map[string]struct {
		restored memstore.Snapshot
		missing  int64
	}{"full": {full, 0}, "one less": {less, 1}} {
		if err := a.Restore(t.Context(), c.restored); err != nil {
			t.Fatal(err)
		}
		if got := count(t, a, adapter.Products); got != before-c.missing {
			t.Errorf("%s: %d products, want %d", name, got, before-c.missing)
		}
	}
	if got := count(t, b, adapter.Products); got != before-2 {
		t.Errorf("the other adapter has %d products, want %d", got, before-2)
	}
	if err := memstore.New(memstore.Options{}).Restore(t.Context(), full); adapter.KindOf(err) != adapter.Invalid || err == nil {
		t.Errorf("Restore with other schemas: %v, want invalid", err)
	}
}

// TestWriteInProgress checks that readers do not see a write before it has ended, that
// another write waits for it at most as long as its context lasts, and that a write that
// panics leaves nothing.
func TestWriteInProgress(t *testing.T) {
	a := shop(t, memstore.Options{})
	stock := adaptertest.StoreOf(t, a, adapter.StockItems)
	qty := func() string {
		return adaptertest.MustGet(t, stock, adapter.GetParams{Key: 1}).Get("qty").Text()
	}
	set := func(ctx context.Context, during func()) error {
		return stock.Update(ctx, &adapter.UpdateParams{Key: 1, Change: func(current adapter.Record) (adapter.Record, error) {
			during()
			return attrs{"qty": "7.0000"}.Record(current.Schema), nil
		}})
	}
	before := qty()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = set(t.Context(), func() { panic("broken") })
	}()
	ctx, cancel := context.WithCancel(t.Context())
	if err := set(ctx, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("a write whose context ends: %v", err)
	}
	if got := qty(); got != before {
		t.Errorf("qty is %s after writes that failed, was %s", got, before)
	}
	err := set(t.Context(), func() {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if err := set(ctx, func() { t.Error("two writes at once") }); !errors.Is(err, context.Canceled) {
			t.Errorf("a write that waits: %v", err)
		}
		if got := qty(); got != before {
			t.Errorf("qty is %s during the write, was %s", got, before)
		}
	})
	if got := qty(); err != nil || got != "7.0000" {
		t.Errorf("qty is %s, %v", got, err)
	}
}

// TestErrorsNameOperation checks that errors name the operation that failed.
func TestErrorsNameOperation(t *testing.T) {
	a := shop(t, memstore.Options{})
	for _, r := range []adapter.Resource{adapter.Customers, adapter.CustomerAddresses, adapter.Products, adapter.ProductImages, adapter.StockItems} {
		err := adaptertest.StoreOf(t, a, r).Update(t.Context(), &adapter.UpdateParams{Key: 1 << 40})
		if want := fmt.Sprintf("update %s %d: not_found", r, 1<<40); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", r, err, want)
		}
	}
}

func TestClose(t *testing.T) {
	a := shop(t, memstore.Options{})
	store, before := adaptertest.StoreOf(t, a, adapter.Products), snapshot(t, a)
	for range 2 {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, list := store.List(t.Context(), &adapter.ListParams{})
	_, get := store.Get(t.Context(), &adapter.GetParams{Key: 1})
	_, _, _, file := a.ImageFile(t.Context(), "o/n/one.png")
	_, snapshot := a.Snapshot()
	for name, err := range map[string]error{
		"List": list, "Get": get, "ImageFile": file, "Snapshot": snapshot, "Ping": a.Ping(t.Context()),
		"Delete": store.Delete(t.Context(), &adapter.DeleteParams{Key: 1}), "Restore": a.Restore(t.Context(), before),
		"Load": a.Load(t.Context(), &adapter.Dataset{}),
	} {
		if adapter.KindOf(err) != adapter.Unavailable || err == nil {
			t.Errorf("%s: %v, want unavailable", name, err)
		}
	}
}

// TestImageFile reads the bytes of images. Files stay when their images are deleted.
func TestImageFile(t *testing.T) {
	schemas := adapter.NewSchemas()
	a := shop(t, memstore.Options{Schemas: schemas})
	start := time.Now()
	addGallery(t, a, schemas)
	adaptertest.MustDelete(t, adaptertest.StoreOf(t, a, adapter.ProductImages), adapter.DeleteParams{Key: 1})
	for file, want := range map[string]string{"o/n/one.png": "the bytes of One", "o/n/one_1.png": "the bytes of Un"} {
		bytes, mediaType, stored, err := a.ImageFile(t.Context(), file)
		if string(bytes) != want || mediaType != "image/png" || stored.Before(start) || err != nil {
			t.Errorf("%s: %q, %q, %v, %v", file, bytes, mediaType, stored, err)
		}
	}
	if _, _, _, err := a.ImageFile(t.Context(), "o/n/two.png"); !errors.Is(err, fs.ErrNotExist) || adapter.KindOf(err) != adapter.NotFound {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestPricesByWebsite runs the tests of prices that differ between websites.
func TestPricesByWebsite(t *testing.T) {
	schemas := adapter.NewSchemas().WithPricesByWebsite()
	full := shop(t, memstore.Options{Schemas: schemas})
	adaptertest.RunPricesByWebsite(t, adaptertest.Harness{Open: restored(t, full, schemas), Schemas: schemas})
}
