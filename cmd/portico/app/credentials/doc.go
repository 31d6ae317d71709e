// Package credentials has the commands "portico credentials …": they manage OAuth consumers and
// tokens, API keys and administrators in Portico's own database.
//
// The changes themselves are functions of a database ([AddConsumer], [RevokeToken] and so on),
// which the console calls, too, so that both make and refuse the same changes. Secrets are shown
// once, when they are made.
//
// # How it is tested
//
// By the tests of package app, which run the commands and log in with the new credentials.
package credentials
