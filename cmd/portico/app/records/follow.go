package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/adapter/importer"
	"github.com/portico-commerce/portico/adapter/magento1/binlog"
	"github.com/portico-commerce/portico/adapter/sqlstore"
	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/mapping/handlers"
	"github.com/portico-commerce/portico/mapping/legacy/follow"
)

// A followCommand holds the flags of "portico follow".
type followCommand struct {
	importSource
	media, sourceName                string
	interval, overlap, comparePeriod time.Duration
	removals                         int64 // -1: not given
	once, check, poll                bool
}

// FollowCommand returns the command "follow".
func FollowCommand(p *program.Program) *cobra.Command {
	flags := &followCommand{}
	cmd := &cobra.Command{
		Use:   "follow [--from DSN]",
		Short: "Keep the store equal to a legacy store that changes",
		Long: `Keep the configured store equal to the database of Magento 1 or OpenMage that it was filled
from, while people go on working in the old admin panel and customers go on ordering there.
Fill the store first, with "portico import all".

The command runs until it is stopped. "portico serve" does the same if follow.dsn is set:
then one of all its processes follows, and another one takes over when that one ends. Flags
override the settings of the section follow.

If the database has a binary log that the user may read, each change arrives within about a
second of its commit; --check says whether it has, and what is missing. Otherwise changes of
products, categories, customers, addresses and orders arrive within a few seconds, as the legacy
store dates them (--interval). So do credentials, revocations first. In turn everything is
compared with the legacy store, spread over --compare-period: this finds deletions and what the
legacy store does not date, such as stock that a program has changed or prices of catalogue price
rules. No change arrives later than that, and the log says how long each comparison took.

A record that cannot be stored is named in the log with its reason, and tried again after
other records have changed and from time to time; the others go on. If more than 5 % of the
records of a kind and more than 10 are gone, none of them are removed, and the log says so:
--allow-removals lets them go. Records of a resource of which the setting routes says that
Portico answers the writes, while there is a legacy store at legacy.url, are neither replaced
nor removed. Settings that the legacy store changes are named in the log: nobody takes them over.
The REST roles follow those of the legacy store with the credentials, unless they were set here.

With the adapter rest, each change is made at the backend, too, one by one. What that refuses
stays as it is on both sides, or unseen if it is new, and counts as a record that cannot be
stored. While the backend is away, the command waits, and then goes on where it has stopped.

--once polls and compares everything once, prints what it has taken over, and ends.
` + followSourceHelp,
		Example: `  portico import --from-file old.dsn --media /var/www/shop/media all
  portico follow --from-file old.dsn --check
  portico follow --from-file old.dsn --media /var/www/shop/media
  portico follow --from-file old.dsn --once`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runFollow(p, cmd, flags) },
	}
	p.AddSettingFlags(cmd, "adapter", "log.level", "log.format")
	flags.addDatabaseFlags(cmd)
	flags.addRateFlag(cmd, "rows that comparisons read per second at most, to spare the running shop; 0 is no limit")
	f := cmd.Flags()
	f.StringVar(&flags.media, "media", "", "where the files of images are: the legacy store's media folder, its http(s) URL, or a .tar or .tar.gz of it")
	f.StringVar(&flags.sourceName, "source", "", "name under which the store notes the legacy store: that of an earlier import if the shop has moved to another server since")
	f.DurationVar(&flags.interval, "interval", 0, "time between two polls (default: follow.interval)")
	f.DurationVar(&flags.overlap, "overlap", 0, "how long before the last poll a poll looks back (default: follow.overlap)")
	f.DurationVar(&flags.comparePeriod, "compare-period", 0, "time over which one comparison of everything is spread (default: follow.compare_period)")
	f.Int64Var(&flags.removals, "allow-removals", -1, "remove up to so many records of a kind even if they look like too many")
	f.BoolVar(&flags.once, "once", false, "poll and compare everything once, and end")
	f.BoolVar(&flags.poll, "poll", false, "poll even if the binary log can be read, as follow.mode polling does")
	f.BoolVar(&flags.check, "check", false, "say whether the binary log can be read and what is missing, and end")
	f.Bool("json", false, "with --once or --check: print JSON")
	cmd.MarkFlagsMutuallyExclusive("from", "from-file")
	cmd.MarkFlagsMutuallyExclusive("once", "check")
	return cmd
}

const followSourceHelp = `
The command reads the old database in small batches, and writes nothing there: a user with
the right to SELECT is enough. The database must be MySQL 5.6, MariaDB 10 or later.`

// runFollow runs the command.
func runFollow(p *program.Program, cmd *cobra.Command, flags *followCommand) (err error) {
	cfg, err := p.LoadConfig(cmd)
	if err != nil {
		return err
	}
	if err := flags.override(cmd, cfg); err != nil {
		return err
	}
	if flags.check {
		return checkFollowing(cmd, cfg)
	}
	log := program.NewLogger(cmd.ErrOrStderr(), cfg)
	db, err := program.OpenStore(cmd.Context(), cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := program.CheckSecretKey(cmd.Context(), db.Credentials()); err != nil {
		return err
	}
	if cfg.Follow.Media != "" {
		if err := program.ClaimMedia(cmd.Context(), db, log); err != nil {
			return err
		}
	}
	metrics := follow.NewMetrics(prometheus.NewRegistry()) // the metrics are not served
	follower, err := NewFollower(p, cfg, func() *config.Config { return cfg }, db, flags.removals, writtenHere(cfg), metrics, log)
	if err != nil {
		return err
	}
	if !flags.once {
		return program.ExplainFollowing(cfg, follower.Run(cmd.Context()))
	}
	report, err := follower.Once(cmd.Context())
	if err != nil {
		return program.ExplainFollowing(cfg, err)
	}
	printed := printedRecords{Report: *report}
	return program.WriteResult(cmd, printed, func(w io.Writer) { printed.print(w) })
}

// A PrintedCheck is the JSON output of "portico follow --check".
type PrintedCheck struct {
	Mode     string           `json:"mode"` // "log" or "polling"
	Findings []printedFinding `json:"findings"`
}

// A printedFinding is a problem that makes reading the log impossible or unreliable.
type printedFinding struct {
	Name    string `json:"name"`
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
	Fatal   bool   `json:"fatal"` // the log cannot be read until it is mended
}

// checkFollowing checks that the binary log can be read, and prints its findings.
func checkFollowing(cmd *cobra.Command, cfg *config.Config) error {
	findings, err := binlog.Check(cmd.Context(), binlog.Options{DSN: cfg.Follow.DSN, Prefix: cfg.Follow.Prefix, OldTLS: cfg.Follow.OldTLS})
	if err != nil {
		return program.ExplainFollowing(cfg, err)
	}
	done := PrintedCheck{Mode: "log", Findings: make([]printedFinding, len(findings))}
	for i, f := range findings {
		done.Findings[i] = printedFinding(f)
		if f.Fatal {
			done.Mode = "polling"
		}
	}
	if cfg.Follow.PollOnly() {
		done.Mode = "polling"
	}
	return program.WriteResult(cmd, done, func(w io.Writer) {
		for _, f := range findings {
			fmt.Fprintf(w, "%s: %s\n  %s\n", f.Name, f.Problem, f.Remedy)
		}
		if done.Mode == "log" {
			fmt.Fprintln(w, "the binary log can be read: changes arrive as they are committed")
		} else {
			fmt.Fprintf(w, "the binary log is not read: changes arrive within %s if the legacy store dates them, and within %s otherwise\n", cfg.Follow.Interval, cfg.Follow.ComparePeriod)
		}
	})
}

// override makes the flags that are given override the settings.
func (flags *followCommand) override(cmd *cobra.Command, cfg *config.Config) error {
	given := cmd.Flags().Changed
	if given("from") || given("from-file") {
		dsn, err := flags.read(cmd)
		if err != nil {
			return err
		}
		cfg.Follow.DSN = dsn
	}
	if cfg.Follow.DSN == "" {
		return errors.New("name the old database: add --from or --from-file, or set follow.dsn")
	}
	for name, override := range map[string]func(){
		"prefix":   func() { cfg.Follow.Prefix = flags.tablePrefix },
		"charset":  func() { cfg.Follow.Charset = flags.charset },
		"old-tls":  func() { cfg.Follow.OldTLS = flags.oldTLS },
		"rate":     func() { cfg.Follow.Rate = flags.rate },
		"source":   func() { cfg.Follow.Source = flags.sourceName },
		"media":    func() { cfg.Follow.Media = flags.media },
		"interval": func() { cfg.Follow.Interval = flags.interval },
		"overlap":  func() { cfg.Follow.Overlap = flags.overlap },
		"poll": func() {
			if cfg.Follow.Mode = "auto"; flags.poll {
				cfg.Follow.Mode = "polling"
			}
		},
		"compare-period": func() { cfg.Follow.ComparePeriod = flags.comparePeriod },
	} {
		if given(name) {
			override()
		}
	}
	if cfg.Follow.Source != "" && !importer.IsSourceName(cfg.Follow.Source) {
		return fmt.Errorf("--source must have at most %d letters, digits, underscores and hyphens", importer.MaxSourceName)
	}
	if cfg.Follow.Interval <= 0 || cfg.Follow.Overlap < 0 || cfg.Follow.ComparePeriod <= 0 {
		return errors.New("--interval and --compare-period must be longer than 0, and --overlap must not be negative")
	}
	return nil
}

// NewFollower returns a follower of the legacy store that cfg names. removals is the most
// records that it may remove at once (-1 is the default bound), and writtenHere is [importer.Options.WrittenHere].
func NewFollower(p *program.Program, cfg *config.Config, inForce func() *config.Config, db *sqlstore.DB, removals int64, writtenHere func(resource string) bool, metrics *follow.Metrics, log *slog.Logger) (*follow.Follower, error) {
	if err := p.RequireOwnRecords(cfg, "follow"); err != nil {
		return nil, err
	}
	var join func(ctx context.Context, local *sqlstore.RecordAdapter) (importer.Joined, error)
	if p.Backend(cfg.Adapter) != nil {
		join = func(ctx context.Context, local *sqlstore.RecordAdapter) (importer.Joined, error) {
			store, err := p.JoinForImport(ctx, cfg, db, local, log)
			if err != nil {
				return nil, err
			}
			return store.Adapter, nil
		}
	}
	schemas, err := program.Schemas(cfg)
	if err != nil {
		return nil, err
	}
	source := importSource{tablePrefix: cfg.Follow.Prefix, charset: cfg.Follow.Charset, oldTLS: cfg.Follow.OldTLS, rate: cfg.Follow.Rate}
	return follow.New(follow.Options{
		Options: importer.Options{
			From: source.options(cfg.Follow.DSN, schemas), Store: db, Join: join, Media: cfg.Follow.Media, MaxMedia: cfg.Limits.BodyBytes,
			Settings: settingTexts(cfg), URLKey: handlers.URLKeyFromName, Lists: settingLists(inForce), WrittenHere: writtenHere, AllowRemovals: removals, Source: cfg.Follow.Source,
		},
		Interval: cfg.Follow.Interval, Overlap: cfg.Follow.Overlap, ComparePeriod: cfg.Follow.ComparePeriod, PollOnly: cfg.Follow.PollOnly(), Wait: cfg.Follow.Wait,
		Holder: program.HolderName(), Log: log, Metrics: metrics,
	}), nil
}
