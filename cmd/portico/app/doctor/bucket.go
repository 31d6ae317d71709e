package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/portico-commerce/portico/adapter/sqlstore/media"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// checkBucket stores an object in the bucket of the images, reads it and removes it.
func (e *examination) checkBucket(ctx context.Context) Finding {
	name := "the bucket " + e.cfg.Media.Bucket
	store, err := program.MediaBucket(e.cfg)
	if err != nil {
		return failed("", err.Error(), "Correct the settings media.*.")
	}
	if err := tryObject(ctx, store); err != nil {
		return failed("", fmt.Sprintf("%s cannot be used: %v", name, err), "Check media.endpoint, media.region and media.path_style, that the bucket exists, and that media.access_key may list it, and get, put and delete objects.")
	}
	return passed("", name+" can be written to and read")
}

var errOtherBytes = errors.New("it returns other bytes than those that were stored")

// tryObject stores an object, reads it and removes it.
func tryObject(ctx context.Context, store media.Store) error {
	file, content := media.Ref{Name: ".doctor"}, []byte("portico doctor\n")
	if err := store.Put(ctx, file.Name, bytes.NewReader(content), int64(len(content))); err != nil {
		return err
	}
	opened, err := store.Open(ctx, file)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(opened)
	_ = opened.Close()
	switch {
	case err != nil:
		return err
	case !bytes.Equal(got, content):
		return errOtherBytes
	}
	return store.Remove(ctx, file)
}
