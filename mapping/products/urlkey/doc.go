// Package urlkey generates the url_keys of products from texts (products 6): letters, spelled in
// Latin, and digits, with dashes between words.
//
// # How it is tested
//
// Table tests cover alphabets, accents, signs and texts without a usable character.
package urlkey
