package replica_test

import (
	"context"
	"errors"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"slices"
	"testing"
)

// newFileFixture returns a fixture whose backend owns no attributes of images, only their existence,
// and has a new image of product 3, whose file is read by read.
func newFileFixture(t *testing.T, read func(context.Context) (replica.File, error)) *fixture {
	t.Helper()
	f := newFixture(t)
	at := slices.IndexFunc(f.memory.resources, func(res replica.BackendResource) bool { return res.Resource == adapter.ProductImages })
	f.memory.resources[at].ImportsParts = true
	f.memory.edit(adapter.Products, f.id(adapter.Products, 3), func(d *memoryDoc) {
		d.parts[adapter.ProductImages] = append(slices.Clone(d.parts[adapter.ProductImages]), memoryItem{id: "new", record: adapter.NewRecord(schemas().Of(adapter.ProductImages)), file: read})
	})
	return f.restart()
}

// imagesOf returns the keys of the images of product 3.
func (f *fixture) imagesOf() []adapter.Key {
	f.t.Helper()
	return f.keys(adapter.ProductImages, where("product_id", "3"))
}

// TestImportFile imports an image with its file that only the backend has: by the next scan after a
// failure, once, and not again after it was deleted here.
func TestImportFile(t *testing.T) {
	reads := 0
	f := newFileFixture(t, func(context.Context) (replica.File, error) {
		if reads++; reads == 1 {
			return replica.File{}, &adapter.Error{Kind: adapter.Unavailable, Op: "read a file"}
		}
		return replica.File{Name: "n/e/new.png", MediaType: "image/png", Content: []byte("bytes")}, nil
	})
	before := f.imagesOf()
	if reads != 0 {
		t.Error("a read has waited for a file")
	}
	f.memory.edit(adapter.Products, f.id(adapter.Products, 3), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("theirs")) })
	f.scan()
	f.checkValues(adapter.Products, 3, attrs{"name": "theirs"})
	if got := f.imagesOf(); len(got) != len(before) || reads != 1 {
		t.Errorf("after a failure there are images %v, %d reads", got, reads)
	}
	f.scan()
	f.scan()
	got := f.imagesOf()
	if len(got) != len(before)+1 || reads != 2 {
		t.Fatalf("there are images %v, %d reads", got, reads)
	}
	added := got[len(got)-1]
	image := f.get(adapter.ProductImages, added)
	content, err := f.local.FileContent(t.Context(), image.Get("file").Text())
	if err != nil || string(content) != "bytes" || image.Get("media_type").Text() != "image/png" || f.id(adapter.ProductImages, added) != "new" {
		t.Errorf("the file has %q, %v; the image is %v", content, err, image)
	}
	f.checkNoIntents()
	if err := f.delete(adapter.ProductImages, added); err != nil {
		t.Fatal(err)
	}
	f.scan()
	if got := f.imagesOf(); !slices.Equal(got, before) || reads != 2 {
		t.Errorf("after the deletion there are images %v, %d reads", got, reads)
	}
}

// TestImportSharedFile imports an image that two products have at the backend for one of them, once.
func TestImportSharedFile(t *testing.T) {
	reads := 0
	read := func(context.Context) (replica.File, error) {
		reads++
		return replica.File{Name: "n/e/new.png", MediaType: "image/png", Content: []byte("bytes")}, nil
	}
	f := newFileFixture(t, read)
	for _, key := range []adapter.Key{3, 4} {
		f.memory.edit(adapter.Products, f.id(adapter.Products, key), func(d *memoryDoc) {
			d.record.Set("name", adapter.TextValue("theirs"))
			if key == 4 {
				d.parts[adapter.ProductImages] = append(slices.Clone(d.parts[adapter.ProductImages]), memoryItem{id: "new", record: adapter.NewRecord(schemas().Of(adapter.ProductImages)), file: read})
			}
		})
	}
	before := len(f.keys(adapter.ProductImages, adapter.Query{}))
	f.scan()
	f.scan()
	if got := len(f.keys(adapter.ProductImages, adapter.Query{})); got != before+1 || reads != 1 {
		t.Errorf("there are %d images, want %d; %d reads", got, before+1, reads)
	}
	f.checkNoIntents()
}

// TestImportFileCrash ends the process at each step of importing a file. The next process has the image
// exactly once.
func TestImportFileCrash(t *testing.T) {
	read := func(context.Context) (replica.File, error) {
		return replica.File{Name: "n/e/new.png", MediaType: "image/png", Content: []byte("bytes")}, nil
	}
	for at := 1; ; at++ {
		f := newFileFixture(t, read)
		before := len(f.imagesOf()) // it merges, and leaves the file to a scan
		f.memory.edit(adapter.Products, f.id(adapter.Products, 3), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("theirs")) })
		point := &crashPoint{crashAt: at, after: true}
		a, err := replica.New(replica.Options{Replica: &crashingReplica{f.local, point}, Backend: &crashingBackend{f.memory, point}})
		if err != nil {
			t.Fatal(err)
		}
		err = a.Scan(t.Context())
		if at > point.steps {
			if err != nil {
				t.Error(err)
			}
			return
		}
		f = f.restart()
		f.memory.edit(adapter.Products, f.id(adapter.Products, 3), func(d *memoryDoc) { d.record.Set("name", adapter.TextValue("again")) })
		f.scan()
		f.scan()
		if got := f.imagesOf(); len(got) != before+1 {
			t.Errorf("after step %d (%v) there are images %v", at, errors.Unwrap(err), got)
		}
		f.checkNoIntents()
	}
}

// TestReorder changes the order of images at the backend. Their positions follow it, but do not change
// when an image is removed or when a client has changed them.
func TestReorder(t *testing.T) {
	f := newFixture(t)
	at := slices.IndexFunc(f.memory.resources, func(res replica.BackendResource) bool { return res.Resource == adapter.ProductImages })
	f.memory.resources[at].OrderedBy = "position"
	f.memory.resources[at].Attributes = []string{"file", "label"}
	f = f.restart()
	for range 3 {
		if _, err := f.create(adapter.ProductImages, newImage(1)); err != nil {
			t.Fatal(err)
		}
	}
	keys := f.keys(adapter.ProductImages, where("product_id", "1"))
	positions := func() (all []int64) {
		t.Helper()
		for _, key := range keys {
			all = append(all, f.get(adapter.ProductImages, key).Get("position").Int())
		}
		return all
	}
	edit := func(change func(images []memoryItem) []memoryItem) {
		t.Helper()
		f.memory.edit(adapter.Products, f.id(adapter.Products, 1), func(d *memoryDoc) {
			d.parts[adapter.ProductImages] = change(slices.Clone(d.parts[adapter.ProductImages]))
		})
		f.get(adapter.Products, 1)
	}
	if err := f.update(adapter.ProductImages, keys[1], 0, attrs{"position": 70}); err != nil {
		t.Fatal(err)
	}
	before := positions()
	edit(func(images []memoryItem) []memoryItem {
		slices.Reverse(images)
		return images
	})
	want := make([]int64, len(keys))
	for i := range want {
		want[i] = int64(len(keys) - i)
	}
	if got := positions(); !slices.Equal(got, want) {
		t.Errorf("positions %v, want %v; they were %v", got, want, before)
	}
	removed := f.id(adapter.ProductImages, keys[0])
	edit(func(images []memoryItem) []memoryItem {
		return slices.DeleteFunc(images, func(one memoryItem) bool { return one.id == removed })
	})
	keys, want = keys[1:], want[1:]
	if got := positions(); !slices.Equal(got, want) {
		t.Errorf("after a removal: positions %v, want %v", got, want)
	}
}
