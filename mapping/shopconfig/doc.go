// Package shopconfig reads the merchant's configuration, which no call changes: websites, store
// views, customer groups and tax rates.
//
// # Principles
//
//  1. The configuration is read as a whole and used for ten seconds, so that a call sees one
//     state of it, and changes in the backend become visible soon.
//  2. Taxes are computed here, from the rates that apply at an address (taxes.go).
//  3. Amounts of money and taxes are integers, rounded where the original rounds (money.go).
//
// Files: cache.go reads the configuration, config.go describes it, and countries.go reads the
// directory of countries.
//
// # How it is tested
//
// Table tests cover the choice and the order of tax rates, rounding, and the values of a website
// that replace the settings.
package shopconfig
