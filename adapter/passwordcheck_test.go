package adapter

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// countingChecker returns a checker for hashes of a cost, and counts its bcrypt rounds.
func countingChecker(cost int) (c *PasswordChecker, rounds *int64) {
	c, rounds = NewPasswordChecker(cost), new(int64)
	c.compare = func(hash, password []byte) error {
		cost, err := bcrypt.Cost(hash)
		if err != nil {
			return err
		}
		*rounds += 1 << cost
		return bcrypt.CompareHashAndPassword(hash, password)
	}
	return c, rounds
}

func mustHash(t *testing.T, password string, cost int) string {
	t.Helper()
	hash, err := HashPassword(password, cost)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// TestWrongPasswordsTakeEqualWork checks that a wrong password takes the same number of
// bcrypt rounds regardless of the accounts with the name.
func TestWrongPasswordsTakeEqualWork(t *testing.T) {
	t.Parallel()
	const md5Salted = "c895aee09110d7f48c106ff77d8709ef:at" // of swordfish
	ours := mustHash(t, "swordfish", 5)
	tests := []struct {
		name   string
		hashes []string
	}{
		{"no account", nil},
		{"account", []string{ours}},
		{"account with a cheap hash", []string{mustHash(t, "swordfish", 4)}},
		{"account without a password", []string{""}},
		{"account with a digest", []string{md5Salted}},
		{"account with a hash of unknown form", []string{"$argon2id$v=19"}},
		{"account with a hash of excessive cost", []string{strings.Replace(ours, "$05$", "$31$", 1)}},
		{"two cheap accounts", []string{mustHash(t, "swordfish", 4), mustHash(t, "swordfish", 4)}},
		{"cheap account beside a digest", []string{md5Salted, mustHash(t, "swordfish", 4)}},
	}
	for _, password := range []string{"wrong", "", strings.Repeat("w", 72), strings.Repeat("w", 73), strings.Repeat("w", 1000)} {
		want := int64(1<<5) * int64(comparisonCount(password))
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, %d bytes", tt.name, len(password)), func(t *testing.T) {
				c, rounds := countingChecker(5)
				if index, _ := c.Check(tt.hashes, password); index != -1 || *rounds != want {
					t.Errorf("index %d after %d rounds, want -1 after %d", index, *rounds, want)
				}
			})
		}
	}
}

// TestCostlyHashesRaiseWork checks that once an account has needed more work than the
// checker was made for, every wrong password takes that much.
func TestCostlyHashesRaiseWork(t *testing.T) {
	t.Parallel()
	costly, ours := mustHash(t, "swordfish", 7), mustHash(t, "swordfish", 5)
	for name, hashes := range map[string][]string{"a costly hash": {costly}, "several accounts": {ours, ours, ours, ours}, "both": {costly, ours}} {
		t.Run(name, func(t *testing.T) {
			c, rounds := countingChecker(5)
			c.Check(hashes, "wrong")
			want := *rounds
			for _, other := range [][]string{nil, {ours}, {costly}, hashes, {""}} {
				if *rounds = 0; name == "several accounts" && len(other) == 1 && other[0] == costly {
					continue // it needs that much work itself
				}
				if c.Check(other, "wrong"); *rounds != want {
					t.Errorf("%d hashes: %d rounds, want %d", len(other), *rounds, want)
				}
			}
		})
	}
}

func TestPasswordChecker(t *testing.T) {
	t.Parallel()
	c, _ := countingChecker(4)
	hashes := []string{"", mustHash(t, "first", 4), "c895aee09110d7f48c106ff77d8709ef:at", mustHash(t, "first", 4)}
	for password, want := range map[string]struct {
		index   int
		upgrade bool
	}{"first": {1, false}, "swordfish": {2, true}, "": {-1, false}, "second": {-1, false}} {
		if index, upgrade := c.Check(hashes, password); index != want.index || upgrade != want.upgrade {
			t.Errorf("%q: %d %t, want %+v", password, index, upgrade, want)
		}
	}
}
