// Package roots holds the knowledge of one process about the roots of a replica, outside the
// database: the roots that are being written, and the roots that must not be visible.
package roots
