// Package credentials stores OAuth consumers, tokens, nonces, API keys and administrators.
//
// # Principles
//
//  1. Secrets are encrypted under the configured key, bound to their row (sealer.go). API keys are
//     stored only as hashes.
//  2. Keys and tokens are compared without regard to letter case.
//  3. Credentials of another system are imported under their ids, all or none, and existing ones
//     stay unchanged unless the caller asks to replace them.
//
// # How it is tested
//
// On all engines, also in package sqlstore together with the records that credentials belong to.
package credentials
