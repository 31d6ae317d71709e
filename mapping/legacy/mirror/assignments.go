package mirror

import (
	"github.com/portico-commerce/portico/adapter"
	"github.com/portico-commerce/portico/mapping/codec"
)

// websiteMembers returns the body that assigns a product to a website, with the copies that
// the assignment makes. The original copies values of website scope as well, whatever the
// record says (product_parts 3.5).
func websiteMembers(record adapter.Record) []codec.Member {
	members := integerMembers(record, "website_id")
	var copies []codec.Node
	for _, entry := range record.Get("copies").Records() {
		copies = append(copies, codec.RecordNode(integerMembers(entry, "store_from", "store_to")...))
	}
	if len(copies) > 0 {
		members = append(members, codec.Member{Key: "copy_to_stores", Value: codec.ListNode(copies)})
	}
	return members
}

// commentMembers returns the body that adds a comment to an order, and sets the order's
// status unless the comment leaves it absent (stock_orders 6). If the comment says that the
// customer was notified, the original sends the e-mail.
func commentMembers(record adapter.Record) []codec.Member {
	members := integerMembers(record, "is_visible_on_front", "is_customer_notified")
	if comment := record.Get("comment"); !comment.Empty() {
		members = append(members, codec.Member{Key: "comment", Value: codec.TextNode(comment.Text())})
	}
	if status := record.Get("status"); status.Kind() != adapter.Absent { // an empty text for null
		members = append(members, codec.Member{Key: "status", Value: codec.TextNode(status.Text())})
	}
	return members
}

// integerMembers returns the integers among some values of a record.
func integerMembers(record adapter.Record, names ...string) (members []codec.Member) {
	for _, name := range names {
		if v := record.Get(name); v.Kind() == adapter.Integer {
			members = append(members, codec.Member{Key: name, Value: codec.NumberNode(v.Text())})
		}
	}
	return members
}
