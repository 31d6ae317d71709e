package program

import (
	"time"
)

// ReadyTimeout limits the readiness check of the upstream.
const ReadyTimeout = 2 * time.Second

// QueryTimeout limits the query of a running program, which itself answers within
// ReadyTimeout.
const QueryTimeout = ReadyTimeout + time.Second
