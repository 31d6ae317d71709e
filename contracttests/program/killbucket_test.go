//go:build linux

package program

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/adapter/sqlstore/sqltest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestKilledWithBucket is TestKilled with images in a bucket. Every object that no image refers to
// must be removed a day later, and no other.
func TestKilledWithBucket(t *testing.T) {
	testenv.OnlyNightly(t, "media")
	for engine, newDSN := range apptest.DemoDatabases(t) {
		t.Run(engine, func(t *testing.T) {
			bucket := sqltest.StartBucketServer(t)
			s := &killableStore{engine: engine, dsn: newDSN(t), images: bucket.Environ(), sample: testenv.NewSample(t)}
			s.start(t)
			s.killRepeatedly(t, 5)
			s.p.Stop(t)

			uploaded := ageUploads(t, s, bucket)
			db := apptest.OpenRecords(t, sqlstore.Options{DSN: s.dsn, Media: bucket.Open(t, nil)})
			removed, err := db.RemoveAbandonedMedia(t.Context())
			left := len(uploadsIn(t, bucket))
			t.Logf("%d objects, %d of them abandoned and removed", uploaded, removed)
			if err != nil || left != uploaded-removed {
				t.Errorf("%d of %d objects are removed, %d are left: %v", removed, uploaded, left, err)
			}
			if again, err := db.RemoveAbandonedMedia(t.Context()); again != 0 || err != nil {
				t.Errorf("%d abandoned objects are left: %v", again, err)
			}
			s.start(t)
			s.check(t) // the images are all there
			if images := s.countImages(t); images != left {
				t.Errorf("%d objects are left for %d images", left, images)
			}
		})
	}
}

// uploadsIn returns the paths of the objects of a bucket.
func uploadsIn(t *testing.T, bucket *sqltest.BucketServer) (paths []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(bucket.Folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasPrefix(path, ".uploads/") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// ageUploads makes all uploads two days older, in the bucket and in the store, and returns their
// number.
func ageUploads(t *testing.T, s *killableStore, bucket *sqltest.BucketServer) int {
	t.Helper()
	then := time.Now().Add(-48 * time.Hour)
	day := then.UTC().Format("20060102")
	uploads := uploadsIn(t, bucket)
	for _, path := range uploads {
		to := filepath.Join(bucket.Folder, ".uploads", day, filepath.Base(path))
		err := os.MkdirAll(filepath.Dir(to), 0o700)
		if err == nil {
			err = os.Rename(filepath.Join(bucket.Folder, filepath.FromSlash(path)), to)
		}
		if err == nil {
			err = os.Chtimes(to, then, then)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db := apptest.OpenStore(t, s.engine, s.dsn)
	for _, object := range apptest.SelectTexts(t, db, "SELECT object FROM media_file WHERE object LIKE '.uploads/%'") {
		apptest.Execute(t, db, "UPDATE media_file SET object = '.uploads/"+day+"/"+filepath.Base(object)+"' WHERE object = '"+object+"'")
	}
	return len(uploads)
}

// countImages returns the number of images of the created products that the store has.
func (s *killableStore) countImages(t *testing.T) (n int) {
	t.Helper()
	for _, a := range s.articles {
		if a.path == "" {
			continue
		}
		var list []struct{ URL string }
		s.admin.Read(t, a.path+"/images", &list)
		n += len(list)
	}
	return n
}
