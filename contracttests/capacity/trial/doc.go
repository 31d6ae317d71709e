// Package trial measures what requests cost with real replicas, and compares what replicas count with
// package capacity, in tests only.
//
// # Principles
//
//  1. Portico, Redis, the database and the client are processes of their own.
//  2. What is compared are counts, which do not depend on how busy the machine is.
//
// # How it is tested
//
// It is a test: .ci/nightly capacity runs it.
package trial
