package sqlstore

import (
	"fmt"
	"github.com/portico-commerce/portico/adapter"
	"slices"
)

// importedShop makes batches of products as a legacy store has them: each with values at
// three store views, a website, a category, a stock item and two images.
type importedShop struct{ schemas *adapter.Schemas }

// benchBatch is the number of products in a batch.
const benchBatch = 100

func (s importedShop) record(r adapter.Resource, values attrs) adapter.Record {
	return values.Record(s.schemas.Of(r))
}

// batch returns the records of benchBatch products from an id on.
func (s importedShop) batch(first int) []adapter.Aggregate {
	var products, stock, images []adapter.Aggregate
	for id := first; id < first+benchBatch; id++ {
		products = append(products, s.product(id))
		item := s.record(adapter.StockItems, attrs{"item_id": id, "product_id": id, "stock_id": 1})
		for i, a := range item.Schema.Attributes {
			if a.Required && item.Values[i].Kind() == adapter.Absent {
				item.Values[i] = map[adapter.Kind]adapter.Value{adapter.KindInteger: adapter.IntegerValue(1), adapter.KindDecimal: adapter.TextValue("2.0000")}[a.Kind]
			}
		}
		stock = append(stock, adapter.Aggregate{Record: item})
		images = append(images, s.images(id))
	}
	return slices.Concat(products, stock, images)
}

func (s importedShop) product(id int) adapter.Aggregate {
	one := adapter.Aggregate{
		Record: s.record(adapter.Products, attrs{
			"entity_id": id, "attribute_set_id": 4, "type_id": "simple", "sku": fmt.Sprintf("imported-%d", id),
			"created_at": "2013-01-02 03:04:05", "updated_at": "2013-01-02 03:04:05", "name": fmt.Sprintf("Product %d", id),
			"url_key": fmt.Sprintf("product-%d", id), "description": "A description of some length, as shops have them.", "short_description": "Short",
			"price": "12.5000", "weight": "1.0000", "special_price": nil, "status": 1, "visibility": 4, "tax_class_id": 2, "meta_title": nil,
			"options_container": "container1", "msrp_enabled": "2", "msrp_display_actual_price_type": "4", "news_from_date": nil,
		}),
		PartsOf: []adapter.Resource{adapter.ProductWebsites, adapter.ProductCategories},
		Parts: []adapter.Record{
			s.record(adapter.ProductWebsites, attrs{"product_id": id, "website_id": 1}),
			s.record(adapter.ProductCategories, attrs{"product_id": id, "category_id": 3, "position": id % 10}),
		},
	}
	for view := 1; view <= 3; view++ {
		one.Levels = append(one.Levels, adapter.Level{StoreID: int64(view), Record: s.record(adapter.Products, attrs{
			"entity_id": id, "name": fmt.Sprintf("Name %d at %d", id, view), "description": "Another description", "status": 1, "visibility": 4, "meta_title": nil,
		})})
	}
	return one
}

func (s importedShop) images(id int) adapter.Aggregate {
	one := adapter.Aggregate{
		Record: s.record(adapter.Products, attrs{"entity_id": id}), PartsOnly: true, PartsOf: []adapter.Resource{adapter.ProductImages},
		Levels: []adapter.Level{{Record: s.record(adapter.Products, attrs{"entity_id": id, "image_id": 2 * id, "small_image_id": 2 * id, "thumbnail_id": 2*id + 1})}},
	}
	for image := 2 * id; image <= 2*id+1; image++ {
		one.Parts = append(one.Parts, s.record(adapter.ProductImages, attrs{"id": image, "product_id": id, "file": fmt.Sprintf("p/r/product-%d.png", image)}))
		one.Levels = append(one.Levels, adapter.Level{Record: s.record(adapter.ProductImages, attrs{"id": image, "label": "Label", "position": 1, "exclude": 0})})
	}
	return one
}
