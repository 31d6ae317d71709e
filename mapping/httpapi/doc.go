// Package httpapi serves the contract over HTTP: a gin engine around the
// pipeline of package mapping, with request ids, logs and metrics. It is the
// only package that knows gin.
//
// # Principles
//
//  1. The route table of package contract decides what a path means, not gin:
//     the contract matches segments in declared order, decodes them after
//     splitting and answers unknown methods, none of which a tree of patterns
//     can do. So every request reaches one handler, and there is no second place
//     that knows a route.
//  2. What a proxy says of a request is believed only of trusted proxies.
//  3. Logs carry ids, call names and counts; never a query, a body, a header or
//     a secret. Metric labels are call names, roles, formats and statuses, never
//     a path.
//  4. What rules send to the old system of a migration goes there before anything
//     else looks at it (legacy.go); without rules nothing is asked. That holds for the
//     pages of OAuth too, which package consent serves otherwise.
//
// # How it is tested
//
// Over real HTTP on loopback, with the raw requests that clients and attackers
// send; the recorded exchanges run through it as well.
package httpapi
