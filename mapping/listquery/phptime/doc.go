// Package phptime parses dates and times as PHP's function strtotime does, which the original
// system applies to the ends of a range in a filter (wire 10.9).
//
// # Principles
//
//  1. A text is a sequence of tokens, such as a date, a time, a time zone or "+1 day". The
//     longest token wins. Each kind may occur once, except relative ones.
//  2. The time zone is UTC unless the text names another one. What the text leaves open
//     comes from the current time.
//  3. Input may come from anybody: long texts, and texts of many tokens, are refused before
//     they cost time.
//
// Not supported are names of places as time zones, weeks by number, weekdays of a month such as
// "first monday of", Roman numerals for months, and numbers as words.
//
// # How it is tested
//
// A table holds what PHP 8.2 makes of some hundred texts. A fuzz target checks that no text
// causes a panic.
package phptime
