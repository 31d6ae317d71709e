package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/mapping"
	"github.com/portico-commerce/portico/mapping/legacy/recording"
)

// ReportCommand returns the command "report".
func ReportCommand(p *program.Program) *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Report which consumers make which calls, from recorded counts",
		Long: `Report which consumers make which calls. The report has three parts: the calls of each
consumer with their numbers, errors, formats and list modifiers; all calls by the number
of successful requests, which tells what Portico has to serve first; and the calls that no
consumer makes. A table of the requests outside /api/rest follows: which programs use SOAP,
XML-RPC, /oauth/, images, the admin panel under /admin, and the storefront, which is all
the rest. The counts cover all requests to all servers that write to record.dir.

Consumers are named by the beginning of their key. The counts contain no data of
customers.`,
		Example: `  portico report --dir /var/lib/portico/record
  portico report --config portico.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := p.LoadConfig(cmd)
			if err != nil {
				return err
			}
			if dir = cmp.Or(dir, cfg.Record.Dir); dir == "" {
				return errors.New("there is no folder to read: give --dir, or set record.dir (PORTICO_RECORD_DIR)")
			}
			usage, err := recording.ReadUsage(os.DirFS(dir))
			if err != nil {
				return fmt.Errorf("%s: %w\nname the folder that is record.dir of a running server", dir, err)
			}
			report := recording.NewUsageReport(usage, mapping.Calls())
			if asJSON {
				return program.WriteJSON(cmd.OutOrStdout(), report)
			}
			return report.Write(cmd.OutOrStdout())
		},
	}
	p.AddSettingFlags(cmd)
	cmd.Flags().StringVar(&dir, "dir", "", "folder of the counts (default record.dir)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
