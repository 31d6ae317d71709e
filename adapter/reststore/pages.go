package reststore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/portico-commerce/portico/adapter/replica"
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
}

// addTo adds the query parameters of the next page.
func (w *pager) addTo(q url.Values) {
	p := w.pages
	if p == nil {
		return
	}
	if p.Limit != "" {
		q.Add(p.Limit, strconv.Itoa(p.Size))
	}
	switch {
	case p.Offset != "":
		q.Add(p.Offset, strconv.Itoa(w.documentCount))
	case p.Page != "":
		q.Add(p.Page, strconv.Itoa(p.First+w.pageCount))
	case w.cursor != "":
		q.Add(p.Cursor.Query, w.cursor)
	}
}

// fetchPage requests the next page and returns its documents.
func (b *Backend) fetchPage(ctx context.Context, k call, r *resource, w *pager, since any) (resp *response, documents []replica.Document, err error) {
	m, err := b.client.prepare(ctx, k, &r.Scan.request, nil, since)
	if err == nil {
		w.addTo(m.query)
		resp, err = b.client.sendWithRetry(ctx, m)
	}
	if err == nil {
		documents, err = b.parseDocuments(ctx, r, k, r.Scan, resp)
	}
	return resp, documents, readError(ctx, k.op(), err)
}

// advance records a page, whose body has been split, and reports whether there may be another.
func (w *pager) advance(body []byte, ids []string) (more bool, err error) {
	p := w.pages
	if p == nil {
		return false, nil
	}
	// Some backends repeat the last page for all page numbers beyond it.
	w.repeated = len(ids) > 0 && slices.Equal(ids, w.previous)
	w.previous = ids
	w.documentCount += len(ids)
	w.pageCount++
	switch {
	case p.Cursor != nil:
		before := w.cursor
		if w.cursor, err = textAt(body, p.Cursor.Next); err == nil && w.cursor != "" && w.cursor == before {
			err = errors.New("the next cursor is the same as the current one")
		}
		return w.cursor != "", err
	case len(ids) == 0 || w.repeated:
		return false, nil
	case p.Total == nil:
		return true, nil
	}
	count, err := textAt(body, p.Total)
	if err != nil {
		return false, err
	}
	total, err := parseInteger(count)
	if err != nil {
		return false, fmt.Errorf("%s %w", p.Total, err)
	}
	return int64(w.documentCount) < total, nil
}
