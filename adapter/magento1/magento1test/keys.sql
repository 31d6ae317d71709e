-- What refers to what in a shop without broken rows. {p} is the table prefix. A customer's
-- group, an order's gift message and taxes, a review's product and a customer's default
-- addresses have no foreign keys: these rows may be gone.

ALTER TABLE {p}core_store_group
    ADD FOREIGN KEY (website_id) REFERENCES {p}core_website (website_id) ON DELETE CASCADE;
ALTER TABLE {p}core_store
    ADD FOREIGN KEY (website_id) REFERENCES {p}core_website (website_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (group_id) REFERENCES {p}core_store_group (group_id) ON DELETE CASCADE;
ALTER TABLE {p}core_url_rewrite
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (category_id) REFERENCES {p}catalog_category_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}tax_calculation
    ADD FOREIGN KEY (tax_calculation_rate_id) REFERENCES {p}tax_calculation_rate (tax_calculation_rate_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (tax_calculation_rule_id) REFERENCES {p}tax_calculation_rule (tax_calculation_rule_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (customer_tax_class_id) REFERENCES {p}tax_class (class_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (product_tax_class_id) REFERENCES {p}tax_class (class_id) ON DELETE CASCADE;
ALTER TABLE {p}eav_attribute
    ADD FOREIGN KEY (entity_type_id) REFERENCES {p}eav_entity_type (entity_type_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_eav_attribute
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE;
ALTER TABLE {p}customer_eav_attribute
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE;
ALTER TABLE {p}eav_attribute_set
    ADD FOREIGN KEY (entity_type_id) REFERENCES {p}eav_entity_type (entity_type_id) ON DELETE CASCADE;
ALTER TABLE {p}eav_entity_attribute
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (attribute_set_id) REFERENCES {p}eav_attribute_set (attribute_set_id) ON DELETE CASCADE;
ALTER TABLE {p}eav_attribute_option
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE;
ALTER TABLE {p}eav_attribute_option_value
    ADD FOREIGN KEY (option_id) REFERENCES {p}eav_attribute_option (option_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE;
ALTER TABLE {p}eav_entity_store
    ADD FOREIGN KEY (entity_type_id) REFERENCES {p}eav_entity_type (entity_type_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_category_entity
    ADD FOREIGN KEY (entity_type_id) REFERENCES {p}eav_entity_type (entity_type_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_category_entity_datetime
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_category_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_category_entity_decimal
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_category_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_category_entity_int
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_category_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_category_entity_text
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_category_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_category_entity_varchar
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_category_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_entity
    ADD FOREIGN KEY (entity_type_id) REFERENCES {p}eav_entity_type (entity_type_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (attribute_set_id) REFERENCES {p}eav_attribute_set (attribute_set_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_entity_datetime
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_entity_decimal
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_entity_int
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_entity_text
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_entity_varchar
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_category_product
    ADD FOREIGN KEY (category_id) REFERENCES {p}catalog_category_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_website
    ADD FOREIGN KEY (product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (website_id) REFERENCES {p}core_website (website_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_entity_group_price
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (customer_group_id) REFERENCES {p}customer_group (customer_group_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (website_id) REFERENCES {p}core_website (website_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_entity_tier_price
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (customer_group_id) REFERENCES {p}customer_group (customer_group_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (website_id) REFERENCES {p}core_website (website_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_entity_media_gallery
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_entity_media_gallery_value
    ADD FOREIGN KEY (value_id) REFERENCES {p}catalog_product_entity_media_gallery (value_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_relation
    ADD FOREIGN KEY (parent_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (child_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_super_link
    ADD FOREIGN KEY (product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (parent_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_super_attribute
    ADD FOREIGN KEY (product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_super_attribute_pricing
    ADD FOREIGN KEY (product_super_attribute_id) REFERENCES {p}catalog_product_super_attribute (product_super_attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (website_id) REFERENCES {p}core_website (website_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_link
    ADD FOREIGN KEY (product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (linked_product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (link_type_id) REFERENCES {p}catalog_product_link_type (link_type_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_option
    ADD FOREIGN KEY (product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_bundle_option
    ADD FOREIGN KEY (parent_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}catalog_product_bundle_selection
    ADD FOREIGN KEY (option_id) REFERENCES {p}catalog_product_bundle_option (option_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}downloadable_link
    ADD FOREIGN KEY (product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}cataloginventory_stock_item
    ADD FOREIGN KEY (product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (stock_id) REFERENCES {p}cataloginventory_stock (stock_id) ON DELETE CASCADE;
ALTER TABLE {p}cataloginventory_stock_status
    ADD FOREIGN KEY (product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (website_id) REFERENCES {p}core_website (website_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (stock_id) REFERENCES {p}cataloginventory_stock (stock_id) ON DELETE CASCADE;
ALTER TABLE {p}catalogrule_product_price
    ADD FOREIGN KEY (product_id) REFERENCES {p}catalog_product_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (website_id) REFERENCES {p}core_website (website_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (customer_group_id) REFERENCES {p}customer_group (customer_group_id) ON DELETE CASCADE;
ALTER TABLE {p}review
    ADD FOREIGN KEY (entity_id) REFERENCES {p}review_entity (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (status_id) REFERENCES {p}review_status (status_id);
ALTER TABLE {p}review_detail
    ADD FOREIGN KEY (review_id) REFERENCES {p}review (review_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE SET NULL,
    ADD FOREIGN KEY (customer_id) REFERENCES {p}customer_entity (entity_id) ON DELETE SET NULL;
ALTER TABLE {p}review_store
    ADD FOREIGN KEY (review_id) REFERENCES {p}review (review_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE CASCADE;
ALTER TABLE {p}customer_entity
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE SET NULL,
    ADD FOREIGN KEY (website_id) REFERENCES {p}core_website (website_id) ON DELETE SET NULL;
ALTER TABLE {p}customer_entity_datetime
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}customer_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}customer_entity_decimal
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}customer_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}customer_entity_int
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}customer_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}customer_entity_text
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}customer_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}customer_entity_varchar
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}customer_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}customer_address_entity
    ADD FOREIGN KEY (parent_id) REFERENCES {p}customer_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}customer_address_entity_datetime
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}customer_address_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}customer_address_entity_decimal
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}customer_address_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}customer_address_entity_int
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}customer_address_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}customer_address_entity_text
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}customer_address_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}customer_address_entity_varchar
    ADD FOREIGN KEY (attribute_id) REFERENCES {p}eav_attribute (attribute_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (entity_id) REFERENCES {p}customer_address_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}sales_flat_order
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE SET NULL,
    ADD FOREIGN KEY (customer_id) REFERENCES {p}customer_entity (entity_id) ON DELETE SET NULL;
ALTER TABLE {p}sales_flat_order_item
    ADD FOREIGN KEY (order_id) REFERENCES {p}sales_flat_order (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (store_id) REFERENCES {p}core_store (store_id) ON DELETE SET NULL;
ALTER TABLE {p}sales_flat_order_address
    ADD FOREIGN KEY (parent_id) REFERENCES {p}sales_flat_order (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}sales_flat_order_payment
    ADD FOREIGN KEY (parent_id) REFERENCES {p}sales_flat_order (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}sales_flat_order_status_history
    ADD FOREIGN KEY (parent_id) REFERENCES {p}sales_flat_order (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}oauth_token
    ADD FOREIGN KEY (consumer_id) REFERENCES {p}oauth_consumer (entity_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (admin_id) REFERENCES {p}admin_user (user_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (customer_id) REFERENCES {p}customer_entity (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}api2_acl_rule
    ADD FOREIGN KEY (role_id) REFERENCES {p}api2_acl_role (entity_id) ON DELETE CASCADE;
ALTER TABLE {p}api2_acl_user
    ADD FOREIGN KEY (admin_id) REFERENCES {p}admin_user (user_id) ON DELETE CASCADE,
    ADD FOREIGN KEY (role_id) REFERENCES {p}api2_acl_role (entity_id) ON DELETE CASCADE;
