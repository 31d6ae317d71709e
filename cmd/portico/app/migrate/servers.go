package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/portico-commerce/portico/cmd/portico/app/program"
	"github.com/portico-commerce/portico/config"
	"github.com/portico-commerce/portico/config/buildinfo"
	"github.com/portico-commerce/portico/mapping/legacy/compare"
	"github.com/portico-commerce/portico/mapping/legacy/plan"
)

// maxStatus is the maximum size of a Status in bytes.
const maxStatus = 4 << 20

// A ServerStatus is the status of a migration at one running Portico.
type ServerStatus struct {
	Status
	Server string // URL of its operators' port
}

// queryMigration asks the operators' ports of running servers, by default the port of ops.listen on
// this machine. faults has an entry for each server that did not answer.
func queryMigration(ctx context.Context, cfg *config.Config, servers []string) (statuses []ServerStatus, faults []string) {
	if len(servers) == 0 {
		local, err := program.LocalURL(cfg.OpsListen)
		if err != nil {
			return nil, []string{"No running Portico was asked: " + err.Error()}
		}
		servers = []string{local}
	}
	for _, server := range servers {
		status, err := QueryServer(ctx, server, cfg.OpsToken)
		if err != nil {
			faults = append(faults, fmt.Sprintf("The running Portico at %s was not asked: %v", server, err))
			continue
		}
		statuses = append(statuses, ServerStatus{*status, server})
	}
	return statuses, faults
}

// QueryServer asks one operators' port.
func QueryServer(ctx context.Context, server, token string) (*Status, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, errors.New("--ops must be a URL such as http://127.0.0.1:9464")
	}
	ctx, cancel := context.WithTimeout(ctx, program.QueryTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("migration").String(), nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	request.Header.Set("User-Agent", buildinfo.UserAgent("portico"))
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request) // through no proxy
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxStatus))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized:
		return nil, ErrOtherToken
	default:
		return nil, fmt.Errorf("it answers %d, so it is no operators' port of this version", response.StatusCode)
	}
	status := &Status{}
	if err := json.Unmarshal(text, status); err != nil {
		return nil, fmt.Errorf("it is no operators' port: %w", err)
	}
	return status, nil
}

// ErrOtherToken is the error of [QueryServer] if the server has another ops.token.
var ErrOtherToken = errors.New("it wants another ops.token (PORTICO_OPS_TOKEN)")

// addShadows adds up the counts of servers, which begin when the first server began to compare. It
// returns nil if no server compares.
func addShadows(statuses []ServerStatus) *plan.Shadow {
	var all *plan.Shadow
	for _, status := range statuses {
		if status.Shadow == nil {
			continue
		}
		if all == nil {
			all = &plan.Shadow{}
		}
		all.Calls = append(all.Calls, status.Shadow.Calls...)
		if all.Since.IsZero() || status.Shadow.Since.Before(all.Since) {
			all.Since = status.Shadow.Since
		}
	}
	return all
}

// followOf returns the status of following the legacy store, or nil if no server follows it or is
// configured to.
func followOf(cfg *config.Config, statuses []ServerStatus) *plan.Follow {
	for _, status := range statuses {
		if status.Follow != nil {
			return status.Follow
		}
	}
	if cfg.Follow.DSN != "" {
		return &plan.Follow{}
	}
	return nil
}

// A Status is the status of a migration at one process. The operators' port serves it under
// /migration, for "portico plan".
type Status struct {
	Listen string   `json:"listen"` // configured address of the contract's port
	Routes []string `json:"routes"` // in force, as DescribeRoutes formats them
	// Shadow has the counts of shadow reads, nil without a shadowed route.
	Shadow *ShadowStatus `json:"shadow"`
	// Follow is the progress of following the legacy store, nil if this process does not follow.
	Follow *plan.Follow `json:"follow"`
}

// A ShadowStatus has the counts of shadow reads of a process.
type ShadowStatus struct {
	Since time.Time             `json:"since"` // the counts begin
	Calls []compare.ShadowCount `json:"calls"`
}
