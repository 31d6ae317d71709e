// Package media TODO.
//
// # Blobs
//
// Package blobs stores the bytes of images: as files in a folder, or by an implementation of [Store]
// in a package below.
//
// # Principles
//
//  1. The bytes of an image are complete and durable before the transaction commits that refers to
//     them. Bytes that no row refers to do no harm, and are removed later.
//  2. A folder has each file under the name that table media_file has. A store without a rename, in
//     which a late write could replace bytes that others have acknowledged since, stores each
//     upload under a key of its own instead, which the row of the name then has as well.
//  3. A store belongs to one database, which its marker names. Others may read and neither write nor
//     remove anything: a restored copy of a database knows the names of all images of the original.
//
// It is tested with files that are published, discarded and abandoned.
//
// # S3
//
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
package media
