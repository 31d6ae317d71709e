package mapping

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/numeric"
)

// createProductImage handles POST /products/:id/images, with or without a store view. It
// checks the image before it looks up the store view and the product (product_parts 2.4).
func (s *Service) createProductImage(ctx context.Context, c *Call) (*Reply, error) {
	image, err := s.readUpload(ctx, c)
	if err != nil {
		return nil, err
	}
	product, view, err := s.findProduct(ctx, c, productAttributes{})
	if err != nil {
		return nil, s.uploadFault(err)
	}
	image.Set("product_id", product.Get("entity_id"))
	key, err := s.productImages.store.Create(ctx, &adapter.CreateParams{Record: image, StoreID: view.id})
	switch {
	case isStoreError(err, adapter.Invalid, "product_id"): // deleted in the meantime
		return nil, s.uploadFault(s.dialect.Fault(c.Route.NotFound))
	case isStoreError(err, adapter.Invalid, "file"): // too long once a number makes it unique
		return nil, s.dialect.Fault(contract.ImageUnknownError)
	case err != nil && adapter.KindOf(err) == adapter.Unsupported:
		return nil, s.dialect.Fault(contract.ImagesNotSupported)
	case err != nil:
		return nil, err
	}
	return createdReply("/products/"+url.PathEscape(c.Param("id"))+"/images/", key), nil
}

// uploadFault returns the error of an upload whose store view or product was not found.
func (s *Service) uploadFault(err error) error {
	var refusal contract.Fault
	if s.dialect.UnknownUploads && errors.As(err, &refusal) && !refusal.Bare {
		return s.dialect.Fault(contract.ImageUnknownError)
	}
	return err
}

// readUpload returns the image in the body of c, without its product.
func (s *Service) readUpload(ctx context.Context, c *Call) (adapter.Record, error) {
	content, declared := c.bodyField("file_content"), c.bodyField("file_mime_type")
	if !truthy(content) || !truthy(declared) {
		return adapter.Record{}, contract.Faults{s.dialect.Fault(contract.ImageMissing), s.dialect.Fault(contract.ImagePreValidation)}
	}
	decoded, ok := decodeBase64(content.String())
	if !ok {
		return adapter.Record{}, s.dialect.Fault(contract.ImageBase64)
	}
	types := contract.ImageTypes()
	at := slices.IndexFunc(types, func(t contract.ImageType) bool { return t.MediaType == declared.String() })
	if at < 0 {
		return adapter.Record{}, s.dialect.Fault(contract.ImageMediaType)
	}
	mediaType, err := s.imageChecker.mediaType(ctx, decoded)
	if err != nil {
		return adapter.Record{}, err
	}
	name, named := imageName(s.dialect, c.bodyField("file_name"))
	file, usable := imageFile(name, types[at].Extension)
	if mediaType == "" || !usable {
		return adapter.Record{}, s.dialect.Fault(contract.ImageUnknownError)
	}
	image := s.imageValues(c)
	image.Set("file", adapter.TextValue(file))
	image.Set("media_type", adapter.TextValue(mediaType))
	image.Set("content", adapter.TextValue(string(decoded)))
	if !named && s.dialect.UnnamedFromTwo {
		image.Set("number_from", adapter.IntegerValue(2))
	}
	return image, nil
}

// imageValues returns the values for an image in the body of c, except those for its file
// (product_parts 2.3).
func (s *Service) imageValues(c *Call) adapter.Record {
	r := adapter.NewRecord(s.productImages.schema)
	if n := c.bodyField("label"); n.Kind != codec.Null && n.Kind != codec.Struct {
		text, _ := storedText(n)
		label := adapter.NullValue()
		if text != "" {
			label = adapter.TextValue(truncateRunes(text, contract.MaxTextLength))
		}
		r.Set("label", label)
	}
	if position, ok := s.imageNumber(c.bodyField("position")); ok {
		r.Set("position", adapter.IntegerValue(position))
	}
	if exclude, ok := s.imageNumber(c.bodyField("exclude")); ok {
		if s.dialect.ExcludeFlag {
			exclude = min(exclude, 1)
		}
		r.Set("exclude", adapter.IntegerValue(exclude))
	}
	if uses, ok := imageUses(c.bodyField("types"), c.Method == contract.POST); ok {
		r.Set("types", adapter.TextsValue(uses))
	}
	return r
}

// imageNumber returns the number that a value is converted to. ok is false for a value
// that counts as not sent.
func (s *Service) imageNumber(n *codec.Node) (number int64, ok bool) {
	if n.Kind == codec.Null || n.Kind == codec.Struct && !s.dialect.CastsLists {
		return 0, false
	}
	return castInteger(n, contract.MaxImagePosition), true
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
	view    storeView
	missing contract.Fault
}

// findImageTarget parses the image id in the path of c and finds its product.
func (s *Service) findImageTarget(ctx context.Context, c *Call) (i imageTarget, err error) {
	product, view, err := s.findProduct(ctx, c, productAttributes{})
	if err != nil {
		return i, err
	}
	i = imageTarget{product: product.Get("entity_id").Int(), view: view, missing: s.dialect.Fault(contract.ImageHidden)}
	id, ok := numeric.LeadingInteger(c.Param("image"))
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
func (i *imageTarget) replyTo(err error) (*Reply, error) {
	switch {
	case err == nil:
		return &Reply{}, nil
	case adapter.KindOf(err) == adapter.NotFound:
		return nil, i.missing
	default:
		return nil, err
	}
}

// updateProductImage handles PUT /products/:id/images/:image, with or without a store
// view. It ignores the fields of the image's file.
func (s *Service) updateProductImage(ctx context.Context, c *Call) (*Reply, error) {
	i, err := s.findImageTarget(ctx, c)
	if err != nil {
		return nil, err
	}
	change := s.imageValues(c)
	return i.replyTo(s.productImages.store.Update(ctx, &adapter.UpdateParams{
		Key: i.key, StoreID: i.view.id,
		Change: func(current adapter.Record) (adapter.Record, error) { return change, i.checkProduct(current) },
	}))
}

// deleteProductImage handles DELETE /products/:id/images/:image, with or without a store
// view.
func (s *Service) deleteProductImage(ctx context.Context, c *Call) (*Reply, error) {
	i, err := s.findImageTarget(ctx, c)
	if err != nil {
		return nil, err
	}
	if i.view.id == 0 || s.dialect.DeletesEverywhere {
		return i.replyTo(s.productImages.store.Delete(ctx, &adapter.DeleteParams{Key: i.key, StoreID: i.view.id, Check: i.checkProduct}))
	}
	removed := adapter.NewRecord(s.productImages.schema)
	removed.Set("types", adapter.TextsValue(nil))
	removed.Set("removed", adapter.IntegerValue(1))
	return i.replyTo(s.productImages.store.Update(ctx, &adapter.UpdateParams{
		Key: i.key, StoreID: i.view.id,
		Change: func(current adapter.Record) (adapter.Record, error) { return removed, i.checkProduct(current) },
	}))
}
