package contract

// ShownBy returns the resources whose reads may change with a write of a resource, itself among
// them: a product shows its stock, and a deleted product loses its images.
func ShownBy(resource string) []string {
	product := []string{"products", "product_images", "product_websites", "product_categories", "stock_items"}
	switch resource {
	case "products":
		return product
	case "product_images", "product_websites", "product_categories", "stock_items":
		return []string{"products", "product_categories", resource}
	case "customers", "customer_addresses":
		return []string{"customers", "customer_addresses", "orders"}
	case "orders", "order_items", "order_addresses", "order_comments":
		return []string{"orders", "order_items", "order_addresses", "order_comments"}
	default:
		return []string{resource}
	}
}
