package adaptertest

import (
	"context"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"maps"
	"strings"
	"sync"
)

// Verifier is the verifier of every token that a user has authorized.
const Verifier = "99999999999999999999999999999999"

// A Store holds one client and tokens. It implements the interfaces of package auth for
// credentials and grants, and counts lookups.
type Store struct {
	Client adapter.Consumer
	Tokens map[string]adapter.Token // by their texts in lower case
	Asked  map[string]int           // by key or token as asked for
	Begun  int                      // request tokens so far
	Fail   error                    // returned instead of an answer
	Block  <-chan struct{}          // awaited after the answer to a lookup is found

	mu sync.Mutex
}

// New returns a store of a client and its tokens, which get the ids 1, 2, and so on.
func New(client adapter.Consumer, tokens ...adapter.Token) *Store {
	s := &Store{Client: client, Tokens: map[string]adapter.Token{}, Asked: map[string]int{}}
	for i, t := range tokens {
		t.ID = int64(i + 1)
		s.Tokens[t.Token] = t
	}
	return s
}

// Consumer returns the client if the key is its own.
func (s *Store) Consumer(ctx context.Context, key string) (adapter.Consumer, error) {
	s.mu.Lock()
	s.Asked[key]++
	client := s.Client
	s.mu.Unlock()
	if err := s.answer(ctx, strings.ToLower(key) == client.Key); err != nil {
		return adapter.Consumer{}, err
	}
	return client, nil
}

// Token returns a token.
func (s *Store) Token(ctx context.Context, token string) (adapter.Token, error) {
	s.mu.Lock()
	s.Asked[token]++
	found, ok := s.Tokens[strings.ToLower(token)]
	s.mu.Unlock()
	return found, s.answer(ctx, ok)
}

// answer returns the error of a lookup.
func (s *Store) answer(ctx context.Context, found bool) error {
	if s.Block != nil {
		select {
		case <-s.Block:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.failure(found)
}

// failure returns Fail, or NotFound unless a token was found.
func (s *Store) failure(found bool) error {
	if s.Fail == nil && !found {
		return &adapter.Error{Kind: adapter.NotFound, Op: "find credentials"}
	}
	return s.Fail
}

// Begin stores a new request token.
func (s *Store) Begin(_ context.Context, consumerID int64, callback string) (adapter.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fail != nil {
		return adapter.Token{}, s.Fail
	}
	s.Begun++
	t := adapter.Token{ConsumerID: consumerID, Type: adapter.RequestToken, Callback: callback,
		Token: fmt.Sprintf("ticket%026d", s.Begun), Secret: fmt.Sprintf("secret%026d", s.Begun)}
	s.Tokens[t.Token] = t
	return t, nil
}

// Pending returns a token and the client.
func (s *Store) Pending(_ context.Context, token string) (adapter.Token, adapter.Consumer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.Tokens[strings.ToLower(token)]
	if err := s.failure(ok); err != nil {
		return adapter.Token{}, adapter.Consumer{}, err
	}
	return t, s.Client, nil
}

// Authorize gives a token a user, and deletes the user's other tokens of the same client.
func (s *Store) Authorize(_ context.Context, token string, adminID, customerID int64) (adapter.Token, error) {
	return s.replace(token, "", func(t *adapter.Token) {
		t.AdminID, t.CustomerID, t.Verifier = adminID, customerID, Verifier
		maps.DeleteFunc(s.Tokens, func(_ string, other adapter.Token) bool {
			return other.ConsumerID == t.ConsumerID && other.AdminID == adminID && other.CustomerID == customerID
		})
	})
}

// Reject deletes a request token that no user has authorized.
func (s *Store) Reject(_ context.Context, token string) error {
	_, err := s.replace(token, "", func(t *adapter.Token) { t.Token = "" })
	return err
}

// Exchange replaces a request token by an access token.
func (s *Store) Exchange(_ context.Context, token, verifier string) (adapter.Token, error) {
	return s.replace(token, verifier, func(t *adapter.Token) {
		t.Type, t.Token = adapter.AccessToken, "access"+t.Token[6:]
	})
}

// replace changes a request token with the given verifier, and deletes it if its text becomes
// empty.
func (s *Store) replace(token, verifier string, change func(*adapter.Token)) (adapter.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.Tokens[strings.ToLower(token)]
	if err := s.failure(ok && t.Type == adapter.RequestToken && t.Verifier == verifier); err != nil {
		return t, err
	}
	delete(s.Tokens, t.Token)
	if change(&t); t.Token != "" {
		s.Tokens[t.Token] = t
	}
	return t, nil
}
