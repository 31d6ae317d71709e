// Package blobs stores the bytes of images as files.
//
// A file is complete on disk, under its name, before the transaction commits that refers to it. A
// file that no row refers to does no harm.
//
// It is tested with files that are published, discarded and abandoned.
package blobs
