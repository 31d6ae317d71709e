package consent

import (
	"net/netip"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/portico-commerce/portico/mapping/ratelimit"
)

// How many log-ins may fail at once, and after what time one more may, which the tests
// know as well.
const (
	// of one client at one account
	pairBurst, pairPause = 10, 30 * time.Second
	// of one client at all accounts
	clientBurst, clientPause = 30, 10 * time.Second
	// at one account, of all clients that have never logged in to it: so many that nobody
	// locks a user out by a few wrong passwords, so few that many clients cannot guess
	accountBurst, accountPause = 100, 6 * time.Second

	// rememberedLogins bounds how many clients are remembered because they logged in.
	rememberedLogins = 10_000
)

// A tryer is one client at one account, which may not exist.
type tryer struct {
	account string
	client  netip.Prefix
}

// attempts counts failed log-ins. Its counts are those of this process alone.
type attempts struct {
	byPair    *ratelimit.Limiter[tryer]
	byClient  *ratelimit.Limiter[netip.Prefix]
	byAccount *ratelimit.Limiter[string]
	// loggedIn has the clients that have logged in to an account: its user, most likely.
	// Strangers' attempts do not count against them.
	loggedIn *lru.Cache[tryer, struct{}]
}

func newAttempts(now func() time.Time) (a *attempts, err error) {
	a = &attempts{}
	if a.byPair, err = ratelimit.New[tryer](1/pairPause.Seconds(), pairBurst, now); err != nil {
		return nil, err
	}
	if a.byClient, err = ratelimit.New[netip.Prefix](1/clientPause.Seconds(), clientBurst, now); err != nil {
		return nil, err
	}
	if a.byAccount, err = ratelimit.New[string](1/accountPause.Seconds(), accountBurst, now); err != nil {
		return nil, err
	}
	a.loggedIn, err = lru.New[tryer, struct{}](rememberedLogins)
	return a, err
}

// begin counts an attempt as failed. If it is not allowed, wait is the number of seconds
// after which the next one may be; otherwise end must be called when it is over.
func (a *attempts) begin(t tryer) (wait int, end func(outcome)) {
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

// An outcome is how an attempt to log in ends.
type outcome uint8

const (
	wrongPassword outcome = iota
	rightPassword
	notTried // the store could not tell
)
