// Package s3 stores the bytes of images in a bucket of an S3-compatible store.
//
// # Principles
//
//  1. Each upload is an object of its own, under a key that no other upload has, and complete before
//     the transaction begins that refers to it. A late upload can therefore never replace what
//     others have acknowledged.
//  2. Objects without a row, of transactions that failed or processes that were killed, are found
//     by the day in their keys, after [minAge], and removed.
//  3. Images that were copied from a folder are read under the names that they had there.
//  4. Every request has a limit of time. After several failures in a row no request is sent for a
//     moment, so that calls do not wait for a store that is away.
//
// # How it is tested
//
// On versitygw, a server of the same interface, which is killed and stopped, and with the tests of
// package sqlstore that a folder passes.
package s3
