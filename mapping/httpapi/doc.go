// Package httpapi serves the contract over HTTP: it mounts the pipeline of package mapping on
// a gin engine, with middleware for limits, request ids, the log, metrics and recovery from
// panics (middleware.go). Programs that embed Portico add middleware and routes of their own
// to the engine: see [Mount].
//
// # Principles
//
//  1. The route table of package contract interprets paths, not gin: the contract matches
//     segments in declared order, decodes them after splitting and answers unknown methods,
//     none of which a tree of patterns can do. So one gin handler gets all requests, and
//     routes are defined in one place only. [AddressOf] returns the one of a request.
//  2. Forwarding headers are believed only from trusted proxies.
//  3. Logs contain ids, call names, counts and the output of package redact; never the values of a
//     query, a body, a header or a secret. All lines about a request have its id. Metric labels are
//     call names, roles, formats and statuses, never a path.
//  4. Requests that the rules send to the legacy store of a migration are forwarded before any
//     other processing (legacy.go). This includes the OAuth pages, which package consent serves
//     otherwise.
//  5. The rules and limits of an API never change. To change them at run time, a program makes
//     another API ([API.With]) and routes new requests to it, so that each request is answered
//     under one set of rules.
//
// # How it is tested
//
// Over HTTP on loopback, with raw requests of clients and attackers; the recorded exchanges
// run through it as well.
package httpapi
