package reststore

import (
	"context"
	"errors"
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/adapter/replica"
	"github.com/portico-commerce/portico/adapter/reststore/expr"
	"slices"
)

// A pager requests the pages of a list. The list ends with an empty page, when the
// reported total is reached, or without a next cursor. A short page is not the end,
// because backends may apply a limit of their own.
type pager struct {
	pages         *pages // nil: there is only one page
	documentCount int    // documents so far
	pageCount     int    // pages so far
	cursor        string
	previous      []string // ids of the previous page
	repeated      bool     // the last page was the same as the previous one
	listing       *replica.Listing
}

// addTo adds the parameters of the next page to a request.
func (w *pager) addTo(m *preparedRequest) {
	p := w.pages
	if p == nil {
		return
	}
	if p.Limit != "" {
		m.addParameter(p.Limit, p.Size)
	}
	switch {
	case p.Offset != "":
		m.addParameter(p.Offset, w.documentCount)
	case p.Page != "":
		m.addParameter(p.Page, p.First+w.pageCount)
	case p.After != "" && w.pageCount > 0:
		m.addParameter(p.After, w.previous[len(w.previous)-1])
	case w.cursor != "":
		m.addParameter(p.Cursor.Query, w.cursor)
	}
}

// fetchPage requests the next page and returns its documents.
func (b *Backend) fetchPage(ctx context.Context, k call, r *resource, g *documentRequest, w *pager, variable any) (resp *response, documents []replica.Document, err error) {
	m, err := b.client.prepare(ctx, k, &g.request, nil, variable)
	if err == nil {
		w.addTo(m)
		resp, err = b.client.sendWithRetry(ctx, m)
	}
	if err == nil {
		documents, err = b.parseDocuments(ctx, r, k, g, resp)
	}
	return resp, documents, readError(ctx, k.op(), err)
}

// errLastPage ends eachPage.
var errLastPage = errors.New("no more pages are needed")

// eachPage calls found with the documents of each page that has any, until found returns an error,
// which eachPage returns, or errLastPage. After the last page it returns an error if documents may be
// missing.
func (b *Backend) eachPage(ctx context.Context, k call, r *resource, g *documentRequest, variable any, found func([]replica.Document) error) error {
	p := &pager{pages: g.Pages, listing: replica.NewListing()}
	for {
		resp, documents, err := b.fetchPage(ctx, k, r, g, p, variable)
		if err != nil {
			return err
		}
		ids := make([]string, len(documents))
		for i, d := range documents {
			ids[i] = d.ID
		}
		more, err := p.advance(resp.body, ids)
		if err != nil {
			return b.client.unusableDocuments(ctx, resp, err)
		}
		documents = slices.DeleteFunc(documents, func(d replica.Document) bool { return d.Read == nil })
		if len(documents) > 0 && !p.repeated {
			err = found(documents)
		}
		if err != nil {
			return err
		}
		if !more {
			return errorOf(ctx, adapter.Unavailable, k.op(), p.listing.Err())
		}
	}
}

// advance records a page, whose body has been split, and reports whether there may be another.
func (w *pager) advance(body []byte, ids []string) (more bool, err error) {
	p := w.pages
	// Some backends repeat the last page for all page numbers beyond it.
	w.repeated = len(ids) > 0 && slices.Equal(ids, w.previous)
	w.previous = ids
	w.documentCount += len(ids)
	w.pageCount++
	if !w.repeated {
		w.listing.Add(ids)
	}
	if p == nil {
		return false, nil
	}
	if p.Total != nil {
		if err := w.readTotal(body, len(ids)); err != nil {
			return false, err
		}
	}
	switch {
	case p.Whole:
		return false, nil
	case p.Cursor != nil:
		return w.advanceCursor(body)
	case len(ids) == 0 || w.repeated:
		return false, nil
	}
	return p.Total == nil || int64(w.documentCount) < w.listing.Total(), nil
}

// readTotal reads the number of all documents from a page that has n.
func (w *pager) readTotal(body []byte, n int) error {
	total, err := expr.IntegerAt(body, w.pages.Total)
	if err == nil && total < int64(n) {
		err = fmt.Errorf("%s is %d, and the page has %d documents: total must be the number of all documents", w.pages.Total, total, n)
	}
	w.listing.SetTotal(total)
	return err
}

// advanceCursor reads the next cursor, and reports whether there is another page.
func (w *pager) advanceCursor(body []byte) (more bool, err error) {
	c, before := w.pages.Cursor, w.cursor
	if c.More != nil {
		if more, err = expr.FlagAt(body, c.More); err != nil || !more {
			return false, err
		}
	}
	w.cursor, err = expr.TextAt(body, c.Next)
	switch {
	case err != nil:
	case w.cursor == "" && more:
		err = fmt.Errorf("%s is true, but there is no next cursor", c.More)
	case w.cursor != "" && w.cursor == before:
		err = errors.New("the next cursor is the same as the current one")
	}
	return w.cursor != "", err
}
