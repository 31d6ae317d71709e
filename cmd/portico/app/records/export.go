package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
)

// exportOptions are the flags of the command "export".
type exportOptions struct {
	media       string
	inline      bool
	credentials bool
}

// ExportCommand returns the command "export".
func ExportCommand(p *program.Program) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write all records of the store as a data set",
		Long: `Write all records of the configured store as a data set that "portico seed" reads,
into FILE or to standard output: records with their ids and times, values of store
views, prices, assignments, images, stock items, orders and password hashes. A store
that is seeded with it answers the same, and exports the same.

The bytes of images are files in a folder beside the data set: --media DIR, by
default FILE-media. --inline puts them into the data set instead.

The data set holds personal data and password hashes: only you can read the files,
and you should keep it so. It holds consumers and tokens with their secrets, readable,
only with --credentials; API keys are never in it.

Records that change meanwhile are in it as they were before or after the change. Of
records of a backend (adapter: rest) the command writes what Portico's own database
holds.`,
		Example: `  portico export store.json
  portico export --inline | gzip > store.json.gz`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := ""
			if len(args) == 1 {
				file = args[0]
			}
			return exportStore(p, cmd, file, o)
		},
	}
	p.AddSettingFlags(cmd, "adapter", "log.level", "log.format")
	cmd.Flags().StringVar(&o.media, "media", "", "folder for the images, in the folder of the data set")
	cmd.Flags().BoolVar(&o.inline, "inline", false, "put the images into the data set, in base64")
	cmd.Flags().BoolVar(&o.credentials, "credentials", false, "include consumers and tokens with their secrets")
	cmd.MarkFlagsMutuallyExclusive("media", "inline")
	return cmd
}

// exportStore writes the records of the configured store into the file at path, or to
// standard output if path is empty.
func exportStore(p *program.Program, cmd *cobra.Command, path string, o exportOptions) (err error) {
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		return err
	}
	if err := p.RequireOwnRecords(cfg, "export"); err != nil {
		return err
	}
	schemas, err := program.Schemas(cfg)
	if err != nil {
		return err
	}
	db, err := program.OpenStore(cmd.Context(), cfg, program.NewLogger(cmd.ErrOrStderr(), program.WarningsOnly(cfg)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	media, err := newMediaFolder(db, path, o)
	if err != nil {
		return err
	}
	write := func(out io.Writer) error {
		encoder := dataset.NewEncoder(out, schemas, func(file string) (dataset.Content, error) { return media.content(cmd.Context(), file) })
		return exportRecords(cmd.Context(), encoder, db, o)
	}
	if path == "" {
		return write(cmd.OutOrStdout())
	}
	return program.WritePrivately(path, write)
}

// exportBatch is the number of records that are read in one batch.
const exportBatch = 100

// exportRecords writes all records of a store.
func exportRecords(ctx context.Context, encoder *dataset.Encoder, db *sqlstore.DB, o exportOptions) error {
	for _, r := range encoder.Lists() {
		err := encoder.WriteList(r, func(after adapter.Key) ([]adapter.Aggregate, error) {
			return db.Adapter().Export(ctx, r, after, exportBatch)
		})
		if err != nil {
			return err
		}
	}
	roles, err := db.Credentials().AccessRoles(ctx)
	if err == nil {
		err = encoder.WriteRoles(roles)
	}
	if err != nil {
		return err
	}
	if o.credentials {
		grants, err := db.Credentials().Export(ctx)
		if err == nil {
			err = encoder.WriteConsumers(grants)
		}
		if err != nil {
			return err
		}
	}
	return encoder.Close()
}

// A mediaFolder takes the images of an exported store.
type mediaFolder struct {
	db     *sqlstore.DB
	inline bool
	base   string // the folder of the data set
	name   string // of the folder below it; empty: no such folder
}

// newMediaFolder returns the folder for the images of a data set at path. It is created
// with the first image.
func newMediaFolder(db *sqlstore.DB, path string, o exportOptions) (*mediaFolder, error) {
	m := &mediaFolder{db: db, inline: o.inline, base: filepath.Dir(path)}
	folder := o.media
	if folder == "" && path != "" {
		folder = path + "-media"
	}
	if folder == "" || o.inline {
		return m, nil
	}
	name, err := relativePath(m.base, folder)
	if err != nil || !filepath.IsLocal(name) || name == "." {
		return nil, fmt.Errorf("--media %s: must be a folder in that of the data set, %s", folder, cmp.Or(m.base, "."))
	}
	m.name = name
	return m, nil
}

// relativePath returns path as seen from a folder.
func relativePath(folder, path string) (string, error) {
	from, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.Rel(from, to)
}

// content returns the content of an image for the data set. It first copies the image into the
// folder, unless images are inline.
func (m *mediaFolder) content(ctx context.Context, file string) (c dataset.Content, err error) {
	in, err := m.db.OpenMedia(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil // lost, or never there
	}
	if err != nil {
		return c, err
	}
	defer func() { _ = in.Close() }()
	if m.inline {
		c.Bytes, err = io.ReadAll(in)
		return c, err
	}
	if m.name == "" {
		return c, errors.New("the store has images: name a file for the data set, or a folder with --media, or use --inline")
	}
	c.Path = filepath.ToSlash(filepath.Join(m.name, filepath.FromSlash(file)))
	target := filepath.Join(m.base, filepath.FromSlash(c.Path))
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return c, err
	}
	return c, program.WritePrivately(target, func(out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	})
}
