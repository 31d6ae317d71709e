package handlers

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/input"
	"github.com/portico-commerce/portico/mapping/resource"
)

// CreateProductImage handles POST /products/:id/images, with or without a store view. It
// checks the image before it looks up the store view and the product (product_parts 2.4).
func (h *Images) CreateProductImage(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	image, err := h.readUpload(ctx, c)
	if err != nil {
		return nil, err
	}
	product, view, err := h.finder.Product(ctx, c, attributes{})
	if err != nil {
		return nil, h.uploadFault(err)
	}
	image.Set("product_id", product.Get("entity_id"))
	key, err := h.Store.Create(ctx, &adapter.CreateParams{Record: image, StoreID: view.Id})
	switch {
	case resource.IsStoreError(err, adapter.Invalid, "product_id"): // deleted in the meantime
		return nil, h.uploadFault(h.Dialect.Fault(c.Route.NotFound))
	case resource.IsStoreError(err, adapter.Invalid, "file"): // too long once a number makes it unique
		return nil, h.Dialect.Fault(contract.ImageUnknownError)
	case err != nil && adapter.KindOf(err) == adapter.Unsupported:
		return nil, h.Dialect.Fault(contract.ImagesNotSupported)
	case err != nil:
		return nil, err
	}
	return resource.Created("/products/"+url.PathEscape(c.Param("id"))+"/images/", key), nil
}

// uploadFault returns the error of an upload whose store view or product was not found.
func (h *Images) uploadFault(err error) error {
	if refusal, ok := errors.AsType[contract.Fault](err); h.Dialect.UnknownUploads && ok && !refusal.Bare {
		return h.Dialect.Fault(contract.ImageUnknownError)
	}
	return err
}

// readUpload returns the image in the body of c, without its product.
func (h *Images) readUpload(ctx context.Context, c *resource.Call) (adapter.Record, error) {
	content, declared := c.BodyField("file_content"), c.BodyField("file_mime_type")
	if !input.Truthy(content) || !input.Truthy(declared) {
		return adapter.Record{}, contract.Faults{h.Dialect.Fault(contract.ImageMissing), h.Dialect.Fault(contract.ImagePreValidation)}
	}
	decoded, ok := decodeBase64(content.String())
	if !ok {
		return adapter.Record{}, h.Dialect.Fault(contract.ImageBase64)
	}
	types := contract.ImageTypes(h.Dialect)
	at := slices.IndexFunc(types, func(t contract.ImageType) bool { return t.MediaType == declared.String() })
	if at < 0 {
		return adapter.Record{}, h.Dialect.Fault(contract.ImageMediaType)
	}
	mediaType, err := h.checker.MediaType(ctx, decoded)
	if err != nil {
		return adapter.Record{}, err
	}
	if mediaType == "" && h.Dialect.KeepsAnyBytes {
		mediaType = types[at].MediaType
	}
	name, named := imageName(h.Dialect, c.BodyField("file_name"))
	file, usable := imageFile(name, types[at].Extension)
	if mediaType == "" || !usable {
		return adapter.Record{}, h.Dialect.Fault(contract.ImageUnknownError)
	}
	image := h.imageValues(c)
	image.Set("file", adapter.TextValue(file))
	image.Set("media_type", adapter.TextValue(mediaType))
	image.Set("content", adapter.TextValue(string(decoded)))
	if !named && h.Dialect.UnnamedFromTwo {
		image.Set("number_from", adapter.IntegerValue(2))
	}
	return image, nil
}

// imageValues returns the values for an image in the body of c, except the values for its
// file (product_parts 2.3).
func (h *Images) imageValues(c *resource.Call) adapter.Record {
	r := adapter.NewRecord(h.Schema)
	if n := c.BodyField("label"); h.isSent(n) {
		label := adapter.NullValue()
		if text, isText := input.StoredText(n); isText && text != "" {
			label = adapter.TextValue(input.TruncateRunes(text, contract.MaxTextLength))
		}
		r.Set("label", label)
	}
	if position, ok := h.imageNumber(c.BodyField("position")); ok {
		r.Set("position", adapter.IntegerValue(position))
	}
	if exclude, ok := h.imageNumber(c.BodyField("exclude")); ok {
		if h.Dialect.ExcludeFlag {
			exclude = min(exclude, 1)
		}
		r.Set("exclude", adapter.IntegerValue(exclude))
	}
	if uses, ok := imageUses(c.BodyField("types"), c.Method == contract.POST); ok {
		r.Set("types", adapter.TextsValue(uses))
	}
	return r
}

// isSent reports whether a value for an image does not count as not sent.
func (h *Images) isSent(n *codec.Node) bool {
	return n.Kind != codec.Null && (n.Kind != codec.Struct || h.Dialect.CastsLists)
}

// imageNumber returns the number that a value is converted to. ok is false for a value
// that counts as not sent.
func (h *Images) imageNumber(n *codec.Node) (number int64, ok bool) {
	if !h.isSent(n) {
		return 0, false
	}
	return input.CastInteger(n, contract.MaxImagePosition), true
}

// imageUses returns the uses of an image (such as thumbnail) in a value that was sent, in
// the contract's order. allowSingle accepts a single use in place of a list. ok is false
// if the value says nothing about the uses.
func imageUses(n *codec.Node, allowSingle bool) (uses []string, ok bool) {
	sent := n.Members
	switch {
	case n.Kind == codec.Text && allowSingle:
		sent = []codec.Member{{Value: *n}}
	case n.Kind != codec.Struct:
		return nil, false
	}
	uses = []string{}
	for _, use := range contract.ImageUses() {
		if slices.ContainsFunc(sent, func(m codec.Member) bool { return m.Value.Kind == codec.Text && m.Value.Text == use }) {
			uses = append(uses, use)
		}
	}
	return uses, true
}

// An imageTarget is the existing image that a call writes.
type imageTarget struct {
	key     adapter.Key
	product int64
	view    resource.StoreView
	missing contract.Fault
}

// findImageTarget parses the image id in the path of c and finds its product.
func (h *Images) findImageTarget(ctx context.Context, c *resource.Call) (i imageTarget, err error) {
	product, view, err := h.finder.Product(ctx, c, attributes{})
	if err != nil {
		return i, err
	}
	i = imageTarget{product: product.Get("entity_id").Int(), view: view, missing: h.Dialect.Fault(contract.ImageHidden)}
	id, ok := codec.LeadingInteger(c.Param("image"))
	if !ok {
		return i, i.missing
	}
	i.key = adapter.Key(id)
	return i, nil
}

// checkProduct refuses an image of another product.
func (i *imageTarget) checkProduct(image adapter.Record) error {
	if image.Get("product_id").Int() != i.product {
		return i.missing
	}
	return nil
}

// replyTo returns the reply to a write that ended with err.
func (i *imageTarget) replyTo(err error) (*resource.Reply, error) {
	switch {
	case err == nil:
		return &resource.Reply{}, nil
	case adapter.KindOf(err) == adapter.NotFound:
		return nil, i.missing
	default:
		return nil, err
	}
}

// UpdateProductImage handles PUT /products/:id/images/:image, with or without a store
// view. It ignores the fields of the image's file.
func (h *Images) UpdateProductImage(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	i, err := h.findImageTarget(ctx, c)
	if err != nil {
		return nil, err
	}
	change := h.imageValues(c)
	return i.replyTo(h.Store.Update(ctx, &adapter.UpdateParams{
		Key: i.key, StoreID: i.view.Id,
		Change: func(current adapter.Record) (adapter.Record, error) { return change, i.checkProduct(current) },
	}))
}

// DeleteProductImage handles DELETE /products/:id/images/:image, with or without a store
// view.
func (h *Images) DeleteProductImage(ctx context.Context, c *resource.Call) (*resource.Reply, error) {
	i, err := h.findImageTarget(ctx, c)
	if err != nil {
		return nil, err
	}
	if i.view.Id == 0 || h.Dialect.DeletesEverywhere {
		return i.replyTo(h.Store.Delete(ctx, &adapter.DeleteParams{Key: i.key, StoreID: i.view.Id, Check: i.checkProduct}))
	}
	removed := adapter.NewRecord(h.Schema)
	removed.Set("types", adapter.TextsValue(nil))
	removed.Set("removed", adapter.IntegerValue(1))
	return i.replyTo(h.Store.Update(ctx, &adapter.UpdateParams{
		Key: i.key, StoreID: i.view.Id,
		Change: func(current adapter.Record) (adapter.Record, error) { return removed, i.checkProduct(current) },
	}))
}
