package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/sqlstore/credentials"
)

// WritePrivately writes a file that only its owner can read. The file appears under its
// name when it is complete.
func WritePrivately(path string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".portico-*") // readable only by its owner
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err = errors.Join(write(file), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// CheckSecretKey fails unless the configured key decrypts the secrets of every consumer.
// With another key a server would refuse all calls, and new secrets would be encrypted
// under another key than the existing ones.
func CheckSecretKey(ctx context.Context, c *credentials.Store) error {
	grants, err := c.List(ctx)
	if err != nil {
		return err
	}
	for _, g := range grants {
		if _, err := c.Consumer(ctx, g.Consumer.Key); err != nil && adapter.KindOf(err) != adapter.NotFound {
			return fmt.Errorf("%w\nset auth.secret_key (PORTICO_AUTH_SECRET_KEY) to the key the store was filled with", err)
		}
	}
	return nil
}

// maxSecretFile is the maximum size of a file with a password, a key or a DSN, in bytes.
const maxSecretFile = 4 << 10

// ReadSecretFile returns the content of the file at path, or of standard input if path is
// -, without line breaks at the end.
func ReadSecretFile(cmd *cobra.Command, path string) (string, error) {
	in := cmd.InOrStdin()
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	content, err := io.ReadAll(io.LimitReader(in, maxSecretFile+1))
	switch {
	case err != nil:
		return "", err
	case len(content) > maxSecretFile:
		return "", fmt.Errorf("%s is longer than %d bytes", path, maxSecretFile)
	}
	return string(bytes.TrimRight(content, "\r\n")), nil
}
