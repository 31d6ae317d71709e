// Package cache keeps finished replies.
package cache
