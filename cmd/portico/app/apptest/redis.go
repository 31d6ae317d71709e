//go:build linux

package apptest

import (
	"testing"

	"github.com/portico-commerce/portico/config/testenv"
)

// A Redis is a private redis-server that a test can break.
type Redis = testenv.Redis

// NewRedis starts a server that is stopped at the end of the test, with more arguments. It keeps its
// port, and persists all acknowledged writes.
func NewRedis(t testing.TB, arguments ...string) *Redis {
	t.Helper()
	return testenv.NewRedis(t, append([]string{"--save", "", "--appendonly", "yes", "--appendfsync", "no"}, arguments...)...)
}
