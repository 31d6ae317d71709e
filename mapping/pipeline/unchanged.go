package pipeline

import (
	"context"
	"reflect"
	"slices"

	"github.com/portico-commerce/portico/mapping/codec"
	"github.com/portico-commerce/portico/mapping/contract"
	"github.com/portico-commerce/portico/mapping/resource"
)

// dropUnchanged drops what an update sends back as a read shows it, if the body also has a field that the
// caller cannot write: then the client has read the record, changed some of it, and sent all back. The
// rules of some fields refuse what a read shows (rulings 22).
func dropUnchanged(ctx context.Context, s *Pipeline, c *Run) error {
	if !s.dialect.OwnRecords || c.Method != contract.PUT {
		return nil
	}
	if c.Route.Shape == contract.Entity {
		sent := len(c.Body.Members)
		err := s.dropShown(ctx, c, c.Address, &c.Body)
		c.unchanged = sent > 0 && len(c.Body.Members) == 0
		return err
	}
	key := c.Route.Fields.Fields[0].Name
	for i := range c.Body.Members {
		entry := &c.Body.Members[i].Value
		id, ok := entry.Get(key)
		if !ok || id.Kind != codec.Text && id.Kind != codec.Number {
			continue
		}
		address, ok := s.table.Address("", contract.Base+c.Route.Path+"/"+id.Text)
		if !ok || address.Route == nil {
			continue
		}
		kept := *id
		if err := s.dropShown(ctx, c, address, entry); err != nil {
			return err
		}
		if _, ok := entry.Get(key); !ok { // the entry says by it which record it is about
			entry.Members = append([]codec.Member{{Key: key, Value: kept}}, entry.Members...)
		}
	}
	return nil
}

// dropShown drops the members of an update of the record at an address that a read shows, unless the
// client cannot have read it, and those for an option that the record lacks.
func (s *Pipeline) dropShown(ctx context.Context, c *Run, at contract.Address, update *codec.Node) error {
	at.Method, at.Known, at.ReadOnly = contract.GET, true, true
	read := Run{Call: c.Call}
	read.Address, read.Body = at, codec.Node{}
	isRead := func(m codec.Member) bool { return isOnlyRead(s.dialect, &read.Call, m.Key) }
	isAbsent := func(m codec.Member) bool { return isAbsentOption(at.Route.Fields, c.bodyFormat, &m) }
	if s.access(&read) != contract.Serve || !c.Principal.Grants.Allow(at.Route.Resource, contract.GET) ||
		!slices.ContainsFunc(update.Members, isRead) && !slices.ContainsFunc(update.Members, isAbsent) {
		return nil
	}
	names := make([]string, len(update.Members))
	for i, m := range update.Members {
		names[i] = m.Key
	}
	read.Query = codec.RecordNode(append([]codec.Member{{Key: "attrs", Value: codec.TextsNode(names)}}, c.Query.Members...)...)
	reply, err := s.handlers[read.Name()](ctx, &read.Call)
	if err != nil {
		return nil //nolint:nilerr // the update fails with its own message
	}
	shown, err := codec.Decode(c.bodyFormat, codec.Append(nil, c.bodyFormat, s.dialect.Root, reply.Body, false))
	if reply.Release != nil {
		reply.Release()
	}
	if err != nil {
		return err
	}
	isShown := func(m codec.Member) bool {
		value, ok := shown.Get(m.Key)
		return ok && reflect.DeepEqual(*value, m.Value)
	}
	wasRead := slices.ContainsFunc(update.Members, func(m codec.Member) bool { return isRead(m) && isShown(m) })
	update.Members = slices.DeleteFunc(update.Members, func(m codec.Member) bool { return isAbsent(m) || wasRead && isShown(m) })
	return nil
}

// isOnlyRead reports whether the caller may read a field, and not write it.
func isOnlyRead(d *contract.Dialect, c *resource.Call, name string) bool {
	i, ok := c.Route.Fields.Index(name)
	if !ok {
		return false
	}
	f := &c.Route.Fields.Fields[i]
	return !f.Writable(d, c.Principal.Role) && f.Queryable(d, c.Principal.Role)
}

// isAbsentOption reports whether a member has the form in which a read shows that a field has none of
// its options, unless the rules let an update remove the option by it.
func isAbsentOption(fields *contract.FieldTable, f contract.Format, m *codec.Member) bool {
	rule := fields.Rules.Of(m.Key)
	switch {
	case rule == nil || !rule.RejectsEmptyText:
		return false
	case f == contract.XML:
		return m.Value.Kind == codec.Text && m.Value.Text == ""
	default:
		return m.Value.Kind == codec.Null && !fields.Rules.RequiredLast
	}
}
