package consent

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/auth"
)

// formType is the media type of replies to programs.
const formType = "application/x-www-form-urlencoded"

// grant answers a program that requests a token (wire 13).
func (s *Site) grant(ctx context.Context, w http.ResponseWriter, r *http.Request, visitor Visitor, what action) (problem string, err error) {
	request := &auth.Request{
		Method: r.Method, Scheme: visitor.Scheme, Host: r.Host, Target: r.RequestURI,
		Authorization: r.Header.Get("Authorization"), ContentType: r.Header.Get("Content-Type"), Client: visitor.Address,
		Form: func() ([]byte, error) { return io.ReadAll(r.Body) },
	}
	var token adapter.Token
	more := ""
	if what == initiate {
		token, err = s.granting.Initiate(ctx, request)
		more = "&oauth_callback_confirmed=true"
	} else {
		token, err = s.granting.Token(ctx, request)
	}
	var refused *auth.Problem
	var tooLong *http.MaxBytesError
	switch {
	case err == nil:
		answer(w, http.StatusOK, "oauth_token="+token.Token+"&oauth_token_secret="+token.Secret+more)
	case errors.As(err, &refused):
		answer(w, refused.Status(), refused.Error())
		return refused.Code, nil
	case errors.Is(err, auth.ErrUnverifiable), errors.Is(err, auth.ErrNotConsented):
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		w.WriteHeader(http.StatusInternalServerError)
	case errors.As(err, &tooLong), errors.Is(err, io.ErrUnexpectedEOF):
		return "", errors.Join(ErrForm, err)
	default:
		return "", err
	}
	return "", nil
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", formType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // fails only if the client has disconnected
}
