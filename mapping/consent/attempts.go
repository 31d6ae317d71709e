package consent

import (
	"net/netip"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/portico-commerce/portico/mapping/limits"
)

// Limits on failed log-ins: how many may fail in a row, and the interval at which another
// one is allowed after that. The tests use them as well.
const (
	// per client and account
	pairBurst, pairPause = 10, 30 * time.Second
	// per client, over all accounts
	clientBurst, clientPause = 30, 10 * time.Second
	// per account, over all clients that have never logged in to it: high enough that no
	// client can lock a user out with a few wrong passwords, low enough that many clients
	// together cannot guess a password
	accountBurst, accountPause = 100, 6 * time.Second

	// maxRememberedLogins is the number of clients that are remembered as having logged in.
	maxRememberedLogins = 10_000
)

// A tryer is a client that tries to log in to an account, which may not exist.
type loginAttempt struct {
	account string
	client  netip.Prefix
}

// attempts counts failed log-ins, of all processes if they share their counts.
type attempts struct {
	byPair    *limits.Limiter[loginAttempt]
	byClient  *limits.Limiter[netip.Prefix]
	byAccount *limits.Limiter[string]
	// loggedIn has the clients that have logged in to an account, probably its user.
	// Attempts of other clients do not block them.
	loggedIn *lru.Cache[loginAttempt, struct{}]
}

func newAttempts(now func() time.Time, shared limits.SharedRates) (a *attempts, err error) {
	a = &attempts{}
	if a.byPair, err = limits.NewLimiter[loginAttempt](1/pairPause.Seconds(), pairBurst, now); err != nil {
		return nil, err
	}
	if a.byClient, err = limits.NewLimiter[netip.Prefix](1/clientPause.Seconds(), clientBurst, now); err != nil {
		return nil, err
	}
	if a.byAccount, err = limits.NewLimiter[string](1/accountPause.Seconds(), accountBurst, now); err != nil {
		return nil, err
	}
	a.byPair.Share("login pair", shared)
	a.byClient.Share("login client", shared)
	a.byAccount.Share("login account", shared)
	a.loggedIn, err = lru.New[loginAttempt, struct{}](maxRememberedLogins)
	return a, err
}

// begin counts an attempt as failed until end reports its outcome. If the attempt is not
// allowed, wait is the number of seconds until the next one may be made; otherwise the
// caller must call end.
func (a *attempts) begin(t loginAttempt) (wait int, end func(outcome)) {
	known := a.loggedIn.Contains(t)
	if wait, ok := a.byClient.Take(t.client); !ok {
		return wait, nil
	}
	if wait, ok := a.byPair.Take(t); !ok {
		return wait, nil
	}
	if !known {
		if wait, ok := a.byAccount.Take(t.account); !ok {
			return wait, nil
		}
	}
	return 0, func(o outcome) {
		if o == wrongPassword {
			return
		}
		a.byClient.GiveBack(t.client)
		a.byPair.GiveBack(t)
		if !known {
			a.byAccount.GiveBack(t.account)
		}
		if o == rightPassword {
			a.loggedIn.Add(t, struct{}{})
		}
	}
}

// An outcome is the result of an attempt to log in.
type outcome uint8

const (
	wrongPassword outcome = iota
	rightPassword
	notChecked // the store failed, so the password was not checked
)
