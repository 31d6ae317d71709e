package adapter

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/crypto/bcrypt"
)

// A PasswordChecker compares a password with the hashes of an account such that a wrong
// answer takes the same work whether there is an account, however its hash was made, and
// however many accounts have one name: the time tells strangers nothing. Work is counted
// in rounds of bcrypt, 2 to the power of the cost. It is safe for concurrent use.
//
// Accounts that came over may have hashes of a higher cost than the checker was made for.
// From the first time that it meets one, all wrong answers take as long.
type PasswordChecker struct {
	compare func(hash, password []byte) error // bcrypt's; tests count its work
	most    atomic.Int64                      // rounds that one name has needed
}

// NewPasswordChecker returns a checker for accounts most of whose hashes are bcrypt's of a
// cost, 0 for bcrypt.DefaultCost.
func NewPasswordChecker(cost int) *PasswordChecker {
	if cost == 0 {
		cost = bcrypt.DefaultCost
	}
	c := &PasswordChecker{compare: bcrypt.CompareHashAndPassword}
	c.most.Store(1 << cost)
	return c
}

// Check returns the index of the first of the stored hashes that is that of a password,
// -1 for none, and whether it should be replaced by one of HashPassword. It knows the
// forms that [VerifyPassword] knows.
func (c *PasswordChecker) Check(hashes []string, password string) (index int, upgrade bool) {
	for i, hash := range hashes {
		if ok, upgrade := verifyPassword(hash, password, c.compare); ok {
			return i, upgrade
		}
	}
	c.fill(hashes, password)
	return -1, false
}

// fill does the work that a wrong answer for these hashes lacks.
func (c *PasswordChecker) fill(hashes []string, password string) {
	var done int64
	for _, hash := range hashes {
		if isBcrypt(hash) && KnownPasswordHash(hash) {
			cost, _ := bcrypt.Cost([]byte(hash)) // it is known
			done += 1 << cost
		}
	}
	most := c.most.Load()
	for done > most && !c.most.CompareAndSwap(most, done) {
		most = c.most.Load()
	}
	missing := max(most, done) - done
	for cost := bcrypt.MaxCost; cost >= bcrypt.MinCost; cost-- {
		if missing&(1<<cost) == 0 {
			continue
		}
		stand := fmt.Appendf(nil, noPassword, cost)
		for range comparisons(password) {
			_ = c.compare(stand, passwordBytes(password)) // it is nobody's
		}
	}
}
