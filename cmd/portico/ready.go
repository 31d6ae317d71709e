package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// askTimeout is how long a running program may take to say whether it is ready,
// which is longer than it takes itself to find out.
const askTimeout = readyTimeout + time.Second

func readyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Ask a running Portico whether it is ready",
		Long: `Ask /readyz of the Portico that runs with the same settings on this machine. The
exit code is 0 when it is ready and 1 when it is not, or does not run. It is the
health check of a container, whose image has no shell.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			if err := askReady(cmd.Context(), cfg.OpsListen); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "ready")
			return nil
		},
	}
	addSettingFlags(cmd, "ops.listen")
	return cmd
}

// askReady asks the operators' port that listens on an address of this machine. The
// error says why the program is not ready.
func askReady(ctx context.Context, listens string) error {
	address, err := net.ResolveTCPAddr("tcp", listens)
	if err != nil {
		return err
	}
	if address.IP == nil {
		address.IP = net.IPv4zero
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(address)+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request) // through no proxy
	if err != nil {
		return err
	}
	const longest = 200
	said, err := io.ReadAll(io.LimitReader(response.Body, longest))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", strings.TrimSpace(string(said)))
	}
	return nil
}
