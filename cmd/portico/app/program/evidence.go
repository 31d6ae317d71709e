package program

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/portico-commerce/portico/adapter/sqlstore"
)

// Noted returns the evidence that a store holds under name, or nil.
func Noted[T any](ctx context.Context, db *sqlstore.DB, name string) (*T, error) {
	text, _, err := db.Evidence(ctx, name)
	if err != nil || text == "" {
		return nil, err
	}
	var found T
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return nil, fmt.Errorf("the note of the last %s: %w", name, err)
	}
	return &found, nil
}
