package adapter

import (
	"strings"
	"testing"
)

// The digests were made with md5sum, sha256sum and sha512sum, and the bcrypt hashes have
// the prefix that PHP writes.
func TestVerifyPassword(t *testing.T) {
	const (
		md5Salted      = "c895aee09110d7f48c106ff77d8709ef:at"
		md5Plain       = "15b29ffdce66e10527a65bc6d71ad94d"
		sha256Salted   = "731c43d58ae3da6b1d1540b9da227fa3aec66b8b574ab1a1495ed03df4bf22b1:Qx9LbnTz0pC4vR7sYwE2uK8mAaDfGhJk"
		sha256Plain    = "b9f195c5cc7ef6afadbfbc42892ad47d3b24c6bc94bb510c4564a90a14e8b799"
		sha512Salted   = "4dc3fa49b5b453d9eb6ae5c83881f22646ed9ea448f516f32a838317713e11d2547da9abded396f336aaddab9182e3964f59d25ae05e3f682be0a5feaf38db5e:salt"
		bcryptOfPHP    = "$2y$04$wQm0xO8XfjtikjsVG.ySQ.C6duXVi/mYfCl3S6Kfno7PiZnNbsIVO"
		bcryptCutByPHP = "$2y$04$J3/tJJQWAmZrF/3pd6EAbOyfBU11I.0Wi6R.m6ODQ1Uc2HL48vBKG"
	)
	long := strings.Repeat("long ", 20)
	ours, err := HashPassword("swordfish", 4)
	if err != nil {
		t.Fatal(err)
	}
	oursLong, err := HashPassword(long, 4)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, hash, password string
		ok, upgrade          bool
	}{
		{"bcrypt", ours, "swordfish", true, false},
		{"bcrypt, another password", ours, "Swordfish", false, false},
		{"bcrypt, password longer than 72 bytes", oursLong, long, true, false},
		{"bcrypt, password longer than 72 bytes, other ending", oursLong, long + "x", false, false},
		{"bcrypt of PHP", bcryptOfPHP, "swordfish", true, false},
		{"bcrypt of PHP, another password", bcryptOfPHP, "swordfis", false, false},
		{"bcrypt of a cut password", bcryptCutByPHP, long, true, true},
		{"bcrypt of a cut password, the 72 bytes", bcryptCutByPHP, long[:72], true, false},
		{"bcrypt of a cut password, 71 bytes", bcryptCutByPHP, long[:71], false, false},
		{"bcrypt of excessive cost", strings.Replace(bcryptOfPHP, "$04$", "$31$", 1), "swordfish", false, false},
		{"incomplete bcrypt", bcryptOfPHP[:40], "swordfish", false, false},
		{"bcrypt prefix only", "$2", "", false, false},
		{"MD5 with salt", md5Salted, "swordfish", true, true},
		{"MD5 with salt, another password", md5Salted, "swordfish ", false, false},
		{"MD5 with another salt", strings.Replace(md5Salted, ":at", ":ta", 1), "swordfish", false, false},
		{"MD5 with salt, salt missing", strings.TrimSuffix(md5Salted, ":at"), "swordfish", false, false},
		{"MD5 with salt, salt in the password", strings.TrimSuffix(md5Salted, ":at"), "atswordfish", true, true},
		{"MD5", md5Plain, "swordfish", true, true},
		{"MD5 with empty salt", md5Plain + ":", "swordfish", true, true},
		{"MD5 in upper case", strings.ToUpper(md5Plain), "swordfish", true, true},
		{"SHA-256 with salt", sha256Salted, "swordfish", true, true},
		{"SHA-256 with salt, another password", sha256Salted, "", false, false},
		{"SHA-256 with salt and a version", sha256Salted + ":1", "swordfish", false, false},
		{"SHA-256", sha256Plain, "swordfish", true, true},
		{"SHA-512 with salt", sha512Salted, "swordfish", true, true},
		{"no hash, no password", "", "", false, false},
		{"the password itself", "swordfish", "swordfish", false, false},
		{"a digest of another length", md5Plain[:30], "swordfish", false, false},
		{"not hexadecimal", strings.Replace(md5Plain, "1", "g", 1), "swordfish", false, false},
		{"longer than any hash", md5Plain + ":" + strings.Repeat("s", 300), "swordfish", false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ok, upgrade := VerifyPassword(test.hash, test.password)
			if ok != test.ok || upgrade != test.upgrade {
				t.Errorf("got %t, upgrade %t; want %t, %t", ok, upgrade, test.ok, test.upgrade)
			}
			if ok && !KnownPasswordHash(test.hash) {
				t.Error("the hash verifies, but its form is unknown")
			}
		})
	}
}

func TestKnownPasswordHash(t *testing.T) {
	for _, hash := range []string{"", "swordfish", "$2", "$2y$31$wQm0xO8XfjtikjsVG.ySQ.C6duXVi/mYfCl3S6Kfno7PiZnNbsIVO",
		"731c43d58ae3da6b1d1540b9da227fa3aec66b8b574ab1a1495ed03df4bf22b1:salt:1", "$argon2id$v=19$m=65536,t=4,p=1$c2FsdA$aGFzaA"} {
		if KnownPasswordHash(hash) {
			t.Errorf("KnownPasswordHash(%q) is true", hash)
		}
	}
}

// FuzzVerifyDigest checks that no stored text matches two passwords.
func FuzzVerifyDigest(f *testing.F) {
	for _, hash := range []string{"", ":", "::", "15b29ffdce66e10527a65bc6d71ad94d", "c895aee09110d7f48c106ff77d8709ef:at", "zz:at", "$2y$04$x"} {
		f.Add(hash, "swordfish")
	}
	f.Fuzz(func(t *testing.T, hash, password string) {
		if verifyDigest(hash, password) && verifyDigest(hash, password+"x") {
			t.Errorf("%q matches every password", hash)
		}
	})
}
