package adapter

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// counted returns a checker for hashes of a cost, and counts the rounds of bcrypt that
// it runs.
func counted(cost int) (c *PasswordChecker, rounds *int64) {
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

func hashed(t *testing.T, password string, cost int) string {
	t.Helper()
	hash, err := HashPassword(password, cost)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// TestWrongPasswordsTakeTheSameWork: whatever the accounts of a name are, a wrong
// password takes the same rounds of bcrypt.
func TestWrongPasswordsTakeTheSameWork(t *testing.T) {
	t.Parallel()
	const md5Salted = "c895aee09110d7f48c106ff77d8709ef:at" // of swordfish
	ours := hashed(t, "swordfish", 5)
	tests := []struct {
		name   string
		hashes []string
	}{
		{"no account", nil},
		{"account", []string{ours}},
		{"account of a cheap hash", []string{hashed(t, "swordfish", 4)}},
		{"account without a password", []string{""}},
		{"account with a digest", []string{md5Salted}},
		{"account with a hash of unknown form", []string{"$argon2id$v=19"}},
		{"account with a hash that would take hours", []string{strings.Replace(ours, "$05$", "$31$", 1)}},
		{"two cheap accounts", []string{hashed(t, "swordfish", 4), hashed(t, "swordfish", 4)}},
		{"cheap account beside a digest", []string{md5Salted, hashed(t, "swordfish", 4)}},
	}
	for _, password := range []string{"wrong", "", strings.Repeat("w", 72), strings.Repeat("w", 73), strings.Repeat("w", 1000)} {
		want := int64(1<<5) * int64(comparisons(password))
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, %d bytes", tt.name, len(password)), func(t *testing.T) {
				c, rounds := counted(5)
				if index, _ := c.Check(tt.hashes, password); index != -1 || *rounds != want {
					t.Errorf("index %d after %d rounds, want -1 after %d", index, *rounds, want)
				}
			})
		}
	}
}

// TestCostlyHashesRaiseTheWork: once an account needs more work than the checker was made
// for, every wrong password takes as much.
func TestCostlyHashesRaiseTheWork(t *testing.T) {
	t.Parallel()
	costly, ours := hashed(t, "swordfish", 7), hashed(t, "swordfish", 5)
	for name, hashes := range map[string][]string{"a costly hash": {costly}, "several accounts": {ours, ours, ours, ours}, "both": {costly, ours}} {
		t.Run(name, func(t *testing.T) {
			c, rounds := counted(5)
			c.Check(hashes, "wrong")
			want := *rounds
			for _, other := range [][]string{nil, {ours}, {costly}, hashes, {""}} {
				if *rounds = 0; name == "several accounts" && len(other) == 1 && other[0] == costly {
					continue // which needs as much
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
	c, _ := counted(4)
	hashes := []string{"", hashed(t, "first", 4), "c895aee09110d7f48c106ff77d8709ef:at", hashed(t, "first", 4)}
	for password, want := range map[string]struct {
		index   int
		upgrade bool
	}{"first": {1, false}, "swordfish": {2, true}, "": {-1, false}, "second": {-1, false}} {
		if index, upgrade := c.Check(hashes, password); index != want.index || upgrade != want.upgrade {
			t.Errorf("%q: %d %t, want %+v", password, index, upgrade, want)
		}
	}
}
