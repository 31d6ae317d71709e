// Package media stores the bytes of images: as files in a [Folder], or as objects in a [Bucket] of
// an S3-compatible store.
//
// # Principles
//
//  1. The bytes of an image are complete and durable before the transaction commits that refers to
//     them. Bytes that no row refers to do no harm, and are removed later.
//  2. A folder has each file under the name in table media_file. A bucket has no rename, and a late
//     upload could replace bytes that others have acknowledged since. Each upload is therefore an
//     object under a key of its own, which the row of the name also has. Images that were copied
//     from a folder are read under their names.
//  3. Objects without a row, of transactions that failed or processes that were killed, are found
//     by the day in their keys, after a day, and removed.
//  4. A store belongs to one database, which its [Marker] names. Other databases may read, but
//     neither write nor remove anything: a restored copy of a database knows the names of all
//     images of the original.
//  5. Every request to a bucket has a time limit. After several failures in a row no request is
//     sent for a moment, so that calls do not wait for a store that is unavailable.
//
// # How it is tested
//
// With files that are published, discarded and abandoned, and on versitygw, a server with the S3
// interface, which is killed and stopped. The tests of package sqlstore pass with a folder and with
// a bucket.
package media
