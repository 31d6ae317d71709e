// Package galera tests the whole program on a Galera cluster, in tests only: replicas that write at several
// nodes, and nodes that fail under load.
//
// # Principles
//
//  1. The cluster and HAProxy before it are real (package galeratest), and clients speak HTTP.
//  2. The observations of clients decide: no acknowledged write is lost, and calls fail for
//     seconds at most.
//
// # How it is tested
//
// The tests run in the stage galera of .ci/nightly, as a cluster takes half a minute to start.
package galera
