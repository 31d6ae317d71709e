package adapter

import (
	"cmp"
	"fmt"
	"sync/atomic"

	"golang.org/x/crypto/bcrypt"
)

// A PasswordChecker compares a password with the hashes of an account in such a way that
// every wrong password takes the same work: whether there is an account or not, however
// its hash was made, and however many accounts have the same name. Response times
// therefore reveal nothing. Work is counted in bcrypt rounds, 2 to the power of the cost.
// It is safe for concurrent use.
//
// Imported accounts may have hashes of a higher cost than the checker was made for. Once
// it has seen one, all wrong passwords take that much work.
type PasswordChecker struct {
	compare   func(hash, password []byte) error // bcrypt's; tests count the work
	maxRounds atomic.Int64                      // the most rounds that one check has needed
}

// NewPasswordChecker returns a checker for accounts that mostly have bcrypt hashes of the
// given cost, 0 for bcrypt.DefaultCost.
func NewPasswordChecker(cost int) *PasswordChecker {
	cost = cmp.Or(cost, bcrypt.DefaultCost)
	c := &PasswordChecker{compare: bcrypt.CompareHashAndPassword}
	c.maxRounds.Store(1 << cost)
	return c
}

// Check returns the index of the first hash that matches the password, or -1, and whether
// that hash should be replaced by one of HashPassword. It supports the forms that
// [VerifyPassword] supports.
func (c *PasswordChecker) Check(hashes []string, password string) (index int, upgrade bool) {
	for i, hash := range hashes {
		if ok, upgrade := verifyPasswordWith(hash, password, c.compare); ok {
			return i, upgrade
		}
	}
	c.equalizeWork(hashes, password)
	return -1, false
}

// equalizeWork does the work that a wrong password for these hashes has not taken yet.
func (c *PasswordChecker) equalizeWork(hashes []string, password string) {
	var done int64
	for _, hash := range hashes {
		if isBcrypt(hash) && KnownPasswordHash(hash) {
			cost, _ := bcrypt.Cost([]byte(hash)) // the hash is known, so it has a cost
			done += 1 << cost
		}
	}
	most := c.maxRounds.Load()
	for done > most && !c.maxRounds.CompareAndSwap(most, done) {
		most = c.maxRounds.Load()
	}
	missing := max(most, done) - done
	for cost := bcrypt.MaxCost; cost >= bcrypt.MinCost; cost-- {
		if missing&(1<<cost) == 0 {
			continue
		}
		stand := fmt.Appendf(nil, dummyHash, cost)
		for range comparisonCount(password) {
			_ = c.compare(stand, bcryptInput(password)) // the hash is a dummy
		}
	}
}
