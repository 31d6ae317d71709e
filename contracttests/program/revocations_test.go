package program

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/portico-commerce/portico/adapter/dataset/demotest"
	"github.com/portico-commerce/portico/cmd/portico/app/apptest"
	"github.com/portico-commerce/portico/config/testenv"
)

// TestRevokedWithoutRedis revokes credentials of every kind while Redis is away, or does not answer, and
// both replicas are being called with them. They are refused soon, nothing else fails, and they stay
// refused when Redis is back, which knows the nonces and replies of before.
func TestRevokedWithoutRedis(t *testing.T) {
	t.Parallel()
	const path, host = "/api/rest/stockitems/1", "http://store.example"
	for _, fault := range []struct {
		name       string
		away, mend func(*apptest.Redis)
	}{
		{"killed", (*apptest.Redis).Kill, (*apptest.Redis).Start},
		{"paused", (*apptest.Redis).Pause, (*apptest.Redis).Resume},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			dsn, redis := demotest.SQLite(t), apptest.NewRedis(t)
			commands := apptest.Environment{"PORTICO_SQL_DSN=" + dsn, "PORTICO_CACHE_REDIS_URL=" + redis.URL()}
			replicas := make([]*apptest.Process, 2)
			for i := range replicas {
				replicas[i] = apptest.Start(t, append(commands, "PORTICO_SQL_MEDIA_DIR="+t.TempDir(), "PORTICO_AUTH_BEARER=true", "PORTICO_PUBLIC_URL="+host))
			}
			var key struct {
				Key string `json:"key"`
				ID  int64  `json:"id"`
			}
			apptest.Parse(t, commands.MustRun(t, "credentials", "add-key", "--name", "probe", "--admin", "--json"), &key)
			other := commands.AddConsumer(t, "other")
			removed := commands.AddToken(t, other.Key, "--admin", "1")
			commands.AddAdmin(t, "leaver")
			leaver := commands.AddToken(t, strings.Repeat("a", 32), "--admin", "2")
			var nonces atomic.Int64
			of := func(letter string) string { return strings.Repeat(letter, 32) }
			tests := []struct {
				name          string
				authorization func() string
				revoke        []string
				problem       string
			}{
				{"token", apptest.DemoAdmin, []string{"revoke", of("c")}, "token_revoked"},
				{"signed calls with the same token", func() string {
					return apptest.SignedHeader("GET", host+path, "n"+strconv.FormatInt(nonces.Add(1), 10))
				}, nil, "token_revoked"},
				{"key", func() string { return "Bearer " + key.Key }, []string{"revoke", "--key", strconv.FormatInt(key.ID, 10)}, "token_revoked"},
				{"removed program", func() string { return apptest.PlaintextHeader(other.Key, other.Secret, removed.Token, removed.Secret) }, []string{"revoke", "--consumer", other.Key}, "consumer_key_rejected"},
				{"disabled administrator", func() string { return apptest.PlaintextHeader(of("a"), of("b"), leaver.Token, leaver.Secret) }, []string{"disable-admin", "--username", "leaver"}, "token_revoked"},
			}
			ask := func(p *apptest.Process, authorization string) apptest.Reply {
				return apptest.Send(t, "GET", p.Contract+path, "", "Authorization", authorization, "Accept", "application/json")
			}
			for _, tt := range tests {
				for _, p := range replicas {
					requireOK(t, ask(p, tt.authorization()))
				}
			}
			fault.away(redis)
			began := time.Now()
			for _, tt := range tests {
				if tt.revoke != nil {
					commands.MustRun(t, append([]string{"credentials"}, tt.revoke...)...)
				}
			}
			var all sync.WaitGroup
			for _, tt := range tests {
				for _, p := range replicas {
					all.Go(func() {
						testenv.Await(t, "the refusal of the "+tt.name, func() bool {
							got := ask(p, tt.authorization())
							if got.Status != http.StatusOK && got.Status != http.StatusUnauthorized {
								t.Errorf("%s: %d %s", tt.name, got.Status, got.Body)
							}
							return got.Status != http.StatusOK
						})
						requireOAuthProblem(t, ask(p, tt.authorization()), tt.problem)
					})
				}
			}
			all.Wait()
			t.Logf("refused everywhere after %s", time.Since(began).Round(time.Millisecond))
			fault.mend(redis)
			for _, tt := range tests {
				for _, p := range replicas {
					requireOAuthProblem(t, ask(p, tt.authorization()), tt.problem)
				}
			}
		})
	}
}
