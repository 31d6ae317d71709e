// Package images handles the calls on images of products.
//
// # Principles
//
//  1. An upload is decoded as a whole before it is stored, since a truncated image is refused
//     (check.go). The images that are decoded at the same time have a limited number of pixels,
//     so that small files cannot exhaust the memory.
//  2. The name of a file is made of the name that was sent, and leads to no other folder
//     (name.go).
//
// Files: images.go has the calls that read, writes.go the calls that write, and mediapaths.go
// the addresses of files.
//
// # How it is tested
//
// Table and fuzz tests cover formats, names and base64. Tests of package mapping upload, change
// and remove images at store views.
package images
