package records

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/dataset"
	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
)

// SeedCommand returns the command "seed".
func SeedCommand(p *program.Program) *cobra.Command {
	var path string
	var replace, whileRunning, example, schema bool
	cmd := &cobra.Command{
		Use:   "seed --dataset FILE",
		Short: "Fill the store with a data set",
		Long: `Fill the store of the configuration with the data set of a JSON file: websites,
stores, customers, products with images, orders and credentials. The command stores
everything or nothing: it reports all faults of a file with their lines.
Records may have the attributes that the configuration adds.

--example prints a data set to begin with. Comments in it say what every list and
every attribute means. --schema prints the JSON Schema of data sets, for editors and
other programs. "portico export" writes a data set of the store.

The command refuses a store that holds records unless --replace is given. --replace
refuses a store that other processes use: stop them first, or add --while-running,
which lets them notice. A data set without lists, {}, changes nothing.
With the adapter rest it then creates the records at the backend, as "portico ids
push" does: run that command if this one is interrupted.
The command refuses the public credentials of the demo store: create the store's
own with "portico credentials".`,
		Example: `  portico seed --example > store.json
  portico seed --schema > dataset.schema.json
  portico seed --dataset store.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case example:
				return printFormat(p, cmd, dataset.Example)
			case schema:
				return printFormat(p, cmd, dataset.Schema)
			default:
				return seedStore(p, cmd, path, replace, whileRunning)
			}
		},
	}
	p.AddSettingFlags(cmd, "adapter", "log.level", "log.format")
	cmd.Flags().StringVar(&path, "dataset", "", "the JSON file to read; paths of images in it are below its folder")
	cmd.Flags().BoolVar(&replace, "replace", false, "remove all records and credentials of the store first")
	program.AddWhileRunningFlag(cmd, &whileRunning)
	addAtOnce(cmd)
	cmd.Flags().BoolVar(&example, "example", false, "print an example of a data set, with comments")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of data sets")
	cmd.MarkFlagsOneRequired("dataset", "example", "schema")
	cmd.MarkFlagsMutuallyExclusive("dataset", "example", "schema")
	return cmd
}

// printFormat prints a description of data sets with the attributes that the configuration
// adds.
func printFormat(p *program.Program, cmd *cobra.Command, describe func(*adapter.Schemas) ([]byte, error)) error {
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		return err
	}
	schemas, err := program.Schemas(cfg)
	if err != nil {
		return err
	}
	text, err := describe(schemas)
	if err == nil {
		_, err = cmd.OutOrStdout().Write(text)
	}
	return err
}

// seedStore loads the data set at path into the configured store, after removing all
// records if replace is set, and creates the records at the backend if there is one.
func seedStore(p *program.Program, cmd *cobra.Command, path string, replace, whileRunning bool) (err error) {
	ctx := cmd.Context()
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		return err
	}
	if err := p.RequireOwnRecords(cfg, "seed"); err != nil {
		return err
	}
	data, closeFiles, err := readDataset(path, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeFiles()) }()
	if len(data.Records) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "nothing to store: the data set has no lists")
		return nil
	}
	data.Stock = program.StockDefaults(cfg.Stock)
	log := program.NewLogger(cmd.ErrOrStderr(), cfg)
	db, err := program.OpenStore(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	hasBackend := p.Backend(cfg.Adapter) != nil
	if hasBackend && replace {
		return fmt.Errorf("--replace cannot remove the records of a backend: empty the backend and the database of sql.dsn, and leave --replace out")
	}
	if err := program.ClaimMedia(ctx, db, log); err != nil {
		return err
	}
	announce := db.Changes().Announce
	if replace && !whileRunning {
		announce = db.Changes().AnnounceAlone
	}
	announcement, err := announce(ctx)
	if err != nil {
		return program.ExplainInUse(err)
	}
	defer func() { err = errors.Join(err, importer.EndAnnouncement(announcement)) }()
	progress, finish := newProgressBar(cmd.ErrOrStderr())
	defer finish()
	if replace {
		err = db.ResetAnnounced(ctx, data, announcement)
	} else {
		err = db.LoadAnnounced(ctx, data, announcement, progress)
	}
	if err != nil {
		if empty, lookErr := db.Empty(context.WithoutCancel(ctx)); !replace && lookErr == nil && !empty {
			return errors.New("the store holds records already: add --replace to remove them all first")
		}
		return err
	}
	finish()
	fmt.Fprintf(cmd.OutOrStdout(), "%d records stored\n", countRecords(data))
	if !hasBackend {
		return nil
	}
	store, err := p.OpenBackend(ctx, cfg, db, db.Adapter(), prometheus.NewRegistry(), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Adapter.Close()) }()
	return pushRecords(cmd, store)
}

// readDataset reads the data set at path. Its records may have the attributes that cfg adds. It
// refuses the public credentials of the demo store, with which anybody could call the store.
// closeFiles closes the folder with the images.
func readDataset(path string, cfg *config.Config) (data *adapter.Dataset, closeFiles func() error, err error) {
	schemas, err := program.Schemas(cfg)
	if err != nil {
		return nil, nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	folder, err := os.OpenRoot(filepath.Dir(path)) // links cannot lead out of it
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = folder.Close()
		}
	}()
	data, err = dataset.Decode(file, schemas, folder.FS())
	var faults adapter.LineErrors
	switch {
	case errors.As(err, &faults):
		return nil, nil, fmt.Errorf("%s: nothing is stored; correct these faults first:\n%w", path, faults)
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	public, err := dataset.PublicCredentials(data)
	if err != nil {
		return nil, nil, err
	}
	if public {
		return nil, nil, fmt.Errorf("%s holds the public credentials of the demo store: remove them, and add the store's own with \"portico credentials\"", path)
	}
	return data, folder.Close, nil
}

// countRecords returns the number of records of a data set, over all resources.
func countRecords(data *adapter.Dataset) (n int) {
	for _, list := range data.Records {
		n += len(list)
	}
	return n
}
