-- The tables of Magento 1.9 and OpenMage that matter. {p} is the table prefix. They have the
-- original's columns and the keys that reads use. Foreign keys are in keys.sql.

CREATE TABLE {p}core_website (
    website_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, code VARCHAR(32) DEFAULT NULL, name VARCHAR(64) DEFAULT NULL, sort_order SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    default_group_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, is_default SMALLINT UNSIGNED DEFAULT 0, PRIMARY KEY (website_id), UNIQUE KEY (code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}core_store_group (
    group_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, website_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, name VARCHAR(255) NOT NULL,
    root_category_id INT UNSIGNED NOT NULL DEFAULT 0, default_store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (group_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}core_store (
    store_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, code VARCHAR(32) DEFAULT NULL, website_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    group_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, name VARCHAR(255) NOT NULL, sort_order SMALLINT UNSIGNED NOT NULL DEFAULT 0, is_active SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (store_id), UNIQUE KEY (code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}core_config_data (
    config_id INT UNSIGNED NOT NULL AUTO_INCREMENT, scope VARCHAR(8) NOT NULL DEFAULT 'default', scope_id INT NOT NULL DEFAULT 0, path VARCHAR(255) NOT NULL DEFAULT 'general',
    value TEXT, updated_at TIMESTAMP NULL DEFAULT NULL, PRIMARY KEY (config_id), UNIQUE KEY (scope, scope_id, path)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}core_url_rewrite (
    url_rewrite_id INT UNSIGNED NOT NULL AUTO_INCREMENT, store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, id_path VARCHAR(255) DEFAULT NULL,
    request_path VARCHAR(255) DEFAULT NULL, target_path VARCHAR(255) DEFAULT NULL, is_system SMALLINT UNSIGNED DEFAULT 1, options VARCHAR(255) DEFAULT NULL,
    description VARCHAR(255) DEFAULT NULL, category_id INT UNSIGNED DEFAULT NULL, product_id INT UNSIGNED DEFAULT NULL, PRIMARY KEY (url_rewrite_id),
    UNIQUE KEY (id_path, is_system, store_id), UNIQUE KEY (request_path, store_id), KEY (target_path), KEY (id_path)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}directory_currency_rate (
    currency_from VARCHAR(3) NOT NULL DEFAULT '', currency_to VARCHAR(3) NOT NULL DEFAULT '', rate DECIMAL(24,12) NOT NULL DEFAULT 0.000000000000,
    PRIMARY KEY (currency_from, currency_to)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}directory_country (
    country_id VARCHAR(2) NOT NULL DEFAULT '', iso2_code VARCHAR(2) DEFAULT NULL, iso3_code VARCHAR(3) DEFAULT NULL, PRIMARY KEY (country_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}directory_country_region (
    region_id INT UNSIGNED NOT NULL AUTO_INCREMENT, country_id VARCHAR(4) NOT NULL DEFAULT '0', code VARCHAR(32) DEFAULT NULL, default_name VARCHAR(255) DEFAULT NULL,
    PRIMARY KEY (region_id), KEY (country_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_group (
    customer_group_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, customer_group_code VARCHAR(32) NOT NULL, tax_class_id INT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (customer_group_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}tax_class (
    class_id SMALLINT NOT NULL AUTO_INCREMENT, class_name VARCHAR(255) NOT NULL, class_type VARCHAR(8) NOT NULL DEFAULT 'CUSTOMER', PRIMARY KEY (class_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}tax_calculation_rate (
    tax_calculation_rate_id INT NOT NULL AUTO_INCREMENT, tax_country_id VARCHAR(2) NOT NULL, tax_region_id INT NOT NULL, tax_postcode VARCHAR(21) DEFAULT NULL,
    code VARCHAR(255) NOT NULL, rate DECIMAL(12,4) NOT NULL, zip_is_range SMALLINT DEFAULT NULL, zip_from INT UNSIGNED DEFAULT NULL, zip_to INT UNSIGNED DEFAULT NULL,
    PRIMARY KEY (tax_calculation_rate_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}tax_calculation_rule (
    tax_calculation_rule_id INT NOT NULL AUTO_INCREMENT, code VARCHAR(255) NOT NULL, priority INT NOT NULL, position INT NOT NULL, calculate_subtotal INT NOT NULL,
    PRIMARY KEY (tax_calculation_rule_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}tax_calculation (
    tax_calculation_id INT NOT NULL AUTO_INCREMENT, tax_calculation_rate_id INT NOT NULL, tax_calculation_rule_id INT NOT NULL, customer_tax_class_id SMALLINT NOT NULL,
    product_tax_class_id SMALLINT NOT NULL, PRIMARY KEY (tax_calculation_id), KEY (tax_calculation_rate_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}eav_entity_type (
    entity_type_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, entity_type_code VARCHAR(50) NOT NULL, entity_model VARCHAR(255) NOT NULL,
    attribute_model VARCHAR(255) DEFAULT NULL, entity_table VARCHAR(255) DEFAULT NULL, value_table_prefix VARCHAR(255) DEFAULT NULL, entity_id_field VARCHAR(255) DEFAULT NULL,
    is_data_sharing SMALLINT UNSIGNED NOT NULL DEFAULT 1, data_sharing_key VARCHAR(100) DEFAULT 'default', default_attribute_set_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    increment_model VARCHAR(255) DEFAULT '', increment_per_store SMALLINT UNSIGNED NOT NULL DEFAULT 0, increment_pad_length SMALLINT UNSIGNED NOT NULL DEFAULT 8,
    increment_pad_char VARCHAR(1) NOT NULL DEFAULT '0', additional_attribute_table VARCHAR(255) DEFAULT '', entity_attribute_collection VARCHAR(255) DEFAULT NULL,
    PRIMARY KEY (entity_type_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}eav_attribute (
    attribute_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_code VARCHAR(255) DEFAULT NULL,
    attribute_model VARCHAR(255) DEFAULT NULL, backend_model VARCHAR(255) DEFAULT NULL, backend_type VARCHAR(8) NOT NULL DEFAULT 'static',
    backend_table VARCHAR(255) DEFAULT NULL, frontend_model VARCHAR(255) DEFAULT NULL, frontend_input VARCHAR(50) DEFAULT NULL, frontend_label VARCHAR(255) DEFAULT NULL,
    frontend_class VARCHAR(255) DEFAULT NULL, source_model VARCHAR(255) DEFAULT NULL, is_required SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    is_user_defined SMALLINT UNSIGNED NOT NULL DEFAULT 0, default_value TEXT, is_unique SMALLINT UNSIGNED NOT NULL DEFAULT 0, note VARCHAR(255) DEFAULT NULL,
    PRIMARY KEY (attribute_id), UNIQUE KEY (entity_type_id, attribute_code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_eav_attribute (
    attribute_id SMALLINT UNSIGNED NOT NULL, frontend_input_renderer VARCHAR(255) DEFAULT NULL, is_global SMALLINT UNSIGNED NOT NULL DEFAULT 1,
    is_visible SMALLINT UNSIGNED NOT NULL DEFAULT 1, is_searchable SMALLINT UNSIGNED NOT NULL DEFAULT 0, is_filterable SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    is_comparable SMALLINT UNSIGNED NOT NULL DEFAULT 0, is_visible_on_front SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    is_html_allowed_on_front SMALLINT UNSIGNED NOT NULL DEFAULT 0, is_used_for_price_rules SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    is_filterable_in_search SMALLINT UNSIGNED NOT NULL DEFAULT 0, used_in_product_listing SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    used_for_sort_by SMALLINT UNSIGNED NOT NULL DEFAULT 0, is_configurable SMALLINT UNSIGNED NOT NULL DEFAULT 1, apply_to VARCHAR(255) DEFAULT NULL,
    is_visible_in_advanced_search SMALLINT UNSIGNED NOT NULL DEFAULT 0, position INT NOT NULL DEFAULT 0, is_wysiwyg_enabled SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    is_used_for_promo_rules SMALLINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_eav_attribute (
    attribute_id SMALLINT UNSIGNED NOT NULL, is_visible SMALLINT UNSIGNED NOT NULL DEFAULT 1, input_filter VARCHAR(255) DEFAULT NULL,
    multiline_count SMALLINT UNSIGNED NOT NULL DEFAULT 1, validate_rules TEXT, is_system SMALLINT UNSIGNED NOT NULL DEFAULT 0, sort_order INT UNSIGNED NOT NULL DEFAULT 0,
    data_model VARCHAR(255) DEFAULT NULL, PRIMARY KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}eav_attribute_set (
    attribute_set_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_set_name VARCHAR(255) DEFAULT NULL,
    sort_order SMALLINT NOT NULL DEFAULT 0, PRIMARY KEY (attribute_set_id), UNIQUE KEY (entity_type_id, attribute_set_name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}eav_entity_attribute (
    entity_attribute_id INT UNSIGNED NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_set_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    attribute_group_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, sort_order SMALLINT NOT NULL DEFAULT 0,
    PRIMARY KEY (entity_attribute_id), UNIQUE KEY (attribute_group_id, attribute_id), UNIQUE KEY (attribute_set_id, attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}eav_attribute_option (
    option_id INT UNSIGNED NOT NULL AUTO_INCREMENT, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, sort_order SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (option_id), KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}eav_attribute_option_value (
    value_id INT UNSIGNED NOT NULL AUTO_INCREMENT, option_id INT UNSIGNED NOT NULL DEFAULT 0, store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, value VARCHAR(255) DEFAULT NULL,
    PRIMARY KEY (value_id), KEY (option_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}eav_entity_store (
    entity_store_id INT UNSIGNED NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    increment_prefix VARCHAR(20) DEFAULT NULL, increment_last_id VARCHAR(50) DEFAULT NULL, PRIMARY KEY (entity_store_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_category_entity (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_set_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    parent_id INT UNSIGNED NOT NULL DEFAULT 0, created_at TIMESTAMP NULL DEFAULT NULL, updated_at TIMESTAMP NULL DEFAULT NULL, path VARCHAR(255) NOT NULL,
    position INT NOT NULL, level INT NOT NULL DEFAULT 0, children_count INT NOT NULL, PRIMARY KEY (entity_id), KEY (level), KEY (path(100), entity_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_category_entity_datetime (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, entity_id INT UNSIGNED NOT NULL DEFAULT 0, value DATETIME DEFAULT NULL, PRIMARY KEY (value_id),
    UNIQUE KEY (entity_type_id, entity_id, attribute_id, store_id), KEY (attribute_id), KEY (store_id), KEY (entity_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_category_entity_decimal (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, entity_id INT UNSIGNED NOT NULL DEFAULT 0, value DECIMAL(12,4) DEFAULT NULL, PRIMARY KEY (value_id),
    UNIQUE KEY (entity_type_id, entity_id, attribute_id, store_id), KEY (attribute_id), KEY (store_id), KEY (entity_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_category_entity_int (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, entity_id INT UNSIGNED NOT NULL DEFAULT 0, value INT DEFAULT NULL, PRIMARY KEY (value_id),
    UNIQUE KEY (entity_type_id, entity_id, attribute_id, store_id), KEY (attribute_id), KEY (store_id), KEY (entity_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_category_entity_text (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, entity_id INT UNSIGNED NOT NULL DEFAULT 0, value TEXT, PRIMARY KEY (value_id),
    UNIQUE KEY (entity_type_id, entity_id, attribute_id, store_id), KEY (attribute_id), KEY (store_id), KEY (entity_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_category_entity_varchar (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, entity_id INT UNSIGNED NOT NULL DEFAULT 0, value VARCHAR(255) DEFAULT NULL, PRIMARY KEY (value_id),
    UNIQUE KEY (entity_type_id, entity_id, attribute_id, store_id), KEY (attribute_id), KEY (store_id), KEY (entity_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_category_product (
    category_id INT UNSIGNED NOT NULL DEFAULT 0, product_id INT UNSIGNED NOT NULL DEFAULT 0, position INT NOT NULL DEFAULT 0, PRIMARY KEY (category_id, product_id),
    KEY (product_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_entity (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_set_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    type_id VARCHAR(32) NOT NULL DEFAULT 'simple', sku VARCHAR(64) DEFAULT NULL, has_options SMALLINT NOT NULL DEFAULT 0,
    required_options SMALLINT UNSIGNED NOT NULL DEFAULT 0, created_at TIMESTAMP NULL DEFAULT NULL, updated_at TIMESTAMP NULL DEFAULT NULL, PRIMARY KEY (entity_id), KEY (sku),
    KEY (attribute_set_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_entity_datetime (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, entity_id INT UNSIGNED NOT NULL DEFAULT 0, value DATETIME DEFAULT NULL, PRIMARY KEY (value_id),
    UNIQUE KEY (entity_id, attribute_id, store_id), KEY (attribute_id), KEY (store_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_entity_decimal (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, entity_id INT UNSIGNED NOT NULL DEFAULT 0, value DECIMAL(12,4) DEFAULT NULL, PRIMARY KEY (value_id),
    UNIQUE KEY (entity_id, attribute_id, store_id), KEY (attribute_id), KEY (store_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_entity_int (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, entity_id INT UNSIGNED NOT NULL DEFAULT 0, value INT DEFAULT NULL, PRIMARY KEY (value_id),
    UNIQUE KEY (entity_id, attribute_id, store_id), KEY (attribute_id), KEY (store_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_entity_text (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, entity_id INT UNSIGNED NOT NULL DEFAULT 0, value TEXT, PRIMARY KEY (value_id),
    UNIQUE KEY (entity_id, attribute_id, store_id), KEY (attribute_id), KEY (store_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_entity_varchar (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, entity_id INT UNSIGNED NOT NULL DEFAULT 0, value VARCHAR(255) DEFAULT NULL, PRIMARY KEY (value_id),
    UNIQUE KEY (entity_id, attribute_id, store_id), KEY (attribute_id), KEY (store_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_website (
    product_id INT UNSIGNED NOT NULL, website_id SMALLINT UNSIGNED NOT NULL, PRIMARY KEY (product_id, website_id), KEY (website_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_entity_group_price (
    value_id INT NOT NULL AUTO_INCREMENT, entity_id INT UNSIGNED NOT NULL DEFAULT 0, all_groups SMALLINT UNSIGNED NOT NULL DEFAULT 1,
    customer_group_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, value DECIMAL(12,4) NOT NULL DEFAULT 0.0000, website_id SMALLINT UNSIGNED NOT NULL,
    is_percent SMALLINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (value_id), UNIQUE KEY (entity_id, all_groups, customer_group_id, website_id), KEY (customer_group_id),
    KEY (website_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_entity_tier_price (
    value_id INT NOT NULL AUTO_INCREMENT, entity_id INT UNSIGNED NOT NULL DEFAULT 0, all_groups SMALLINT UNSIGNED NOT NULL DEFAULT 1,
    customer_group_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, qty DECIMAL(12,4) NOT NULL DEFAULT 1.0000, value DECIMAL(12,4) NOT NULL DEFAULT 0.0000,
    website_id SMALLINT UNSIGNED NOT NULL, PRIMARY KEY (value_id), UNIQUE KEY (entity_id, all_groups, customer_group_id, qty, website_id), KEY (customer_group_id),
    KEY (website_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_entity_media_gallery (
    value_id INT UNSIGNED NOT NULL AUTO_INCREMENT, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, entity_id INT UNSIGNED NOT NULL DEFAULT 0,
    value VARCHAR(255) DEFAULT NULL, PRIMARY KEY (value_id), KEY (attribute_id), KEY (entity_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_entity_media_gallery_value (
    value_id INT UNSIGNED NOT NULL DEFAULT 0, store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, label VARCHAR(255) DEFAULT NULL, position INT UNSIGNED DEFAULT NULL,
    disabled SMALLINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (value_id, store_id), KEY (store_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_relation (
    parent_id INT UNSIGNED NOT NULL, child_id INT UNSIGNED NOT NULL, PRIMARY KEY (parent_id, child_id), KEY (child_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_super_link (
    link_id INT UNSIGNED NOT NULL AUTO_INCREMENT, product_id INT UNSIGNED NOT NULL DEFAULT 0, parent_id INT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (link_id),
    UNIQUE KEY (product_id, parent_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_super_attribute (
    product_super_attribute_id INT UNSIGNED NOT NULL AUTO_INCREMENT, product_id INT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    position SMALLINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (product_super_attribute_id), UNIQUE KEY (product_id, attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_super_attribute_pricing (
    value_id INT UNSIGNED NOT NULL AUTO_INCREMENT, product_super_attribute_id INT UNSIGNED NOT NULL DEFAULT 0, value_index VARCHAR(255) DEFAULT NULL,
    is_percent SMALLINT UNSIGNED DEFAULT 0, pricing_value DECIMAL(12,4) DEFAULT NULL, website_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (value_id),
    UNIQUE KEY (product_super_attribute_id, value_index, website_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_link (
    link_id INT UNSIGNED NOT NULL AUTO_INCREMENT, product_id INT UNSIGNED NOT NULL DEFAULT 0, linked_product_id INT UNSIGNED NOT NULL DEFAULT 0,
    link_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (link_id), UNIQUE KEY (link_type_id, product_id, linked_product_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_link_type (
    link_type_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, code VARCHAR(32) DEFAULT NULL, PRIMARY KEY (link_type_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_option (
    option_id INT UNSIGNED NOT NULL AUTO_INCREMENT, product_id INT UNSIGNED NOT NULL DEFAULT 0, type VARCHAR(50) DEFAULT NULL, is_require SMALLINT NOT NULL DEFAULT 1,
    sku VARCHAR(64) DEFAULT NULL, max_characters INT UNSIGNED DEFAULT NULL, file_extension VARCHAR(50) DEFAULT NULL, image_size_x SMALLINT UNSIGNED DEFAULT NULL,
    image_size_y SMALLINT UNSIGNED DEFAULT NULL, sort_order INT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (option_id), KEY (product_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_bundle_option (
    option_id INT UNSIGNED NOT NULL AUTO_INCREMENT, parent_id INT UNSIGNED NOT NULL, required SMALLINT UNSIGNED NOT NULL DEFAULT 0, position INT UNSIGNED NOT NULL DEFAULT 0,
    type VARCHAR(255) DEFAULT NULL, PRIMARY KEY (option_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalog_product_bundle_selection (
    selection_id INT UNSIGNED NOT NULL AUTO_INCREMENT, option_id INT UNSIGNED NOT NULL, parent_product_id INT UNSIGNED NOT NULL, product_id INT UNSIGNED NOT NULL,
    position INT UNSIGNED NOT NULL DEFAULT 0, is_default SMALLINT UNSIGNED NOT NULL DEFAULT 0, selection_price_type SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    selection_price_value DECIMAL(12,4) NOT NULL DEFAULT 0.0000, selection_qty DECIMAL(12,4) DEFAULT NULL, selection_can_change_qty SMALLINT NOT NULL DEFAULT 0,
    PRIMARY KEY (selection_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}downloadable_link (
    link_id INT UNSIGNED NOT NULL AUTO_INCREMENT, product_id INT UNSIGNED NOT NULL DEFAULT 0, sort_order INT UNSIGNED NOT NULL DEFAULT 0, number_of_downloads INT DEFAULT NULL,
    is_shareable SMALLINT UNSIGNED NOT NULL DEFAULT 0, link_url VARCHAR(255) DEFAULT NULL, link_file VARCHAR(255) DEFAULT NULL, link_type VARCHAR(20) DEFAULT NULL,
    sample_url VARCHAR(255) DEFAULT NULL, sample_file VARCHAR(255) DEFAULT NULL, sample_type VARCHAR(20) DEFAULT NULL, PRIMARY KEY (link_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}cataloginventory_stock (
    stock_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, stock_name VARCHAR(255) DEFAULT NULL, PRIMARY KEY (stock_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}cataloginventory_stock_item (
    item_id INT UNSIGNED NOT NULL AUTO_INCREMENT, product_id INT UNSIGNED NOT NULL DEFAULT 0, stock_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    qty DECIMAL(12,4) NOT NULL DEFAULT 0.0000, min_qty DECIMAL(12,4) NOT NULL DEFAULT 0.0000, use_config_min_qty SMALLINT UNSIGNED NOT NULL DEFAULT 1,
    is_qty_decimal SMALLINT UNSIGNED NOT NULL DEFAULT 0, backorders SMALLINT UNSIGNED NOT NULL DEFAULT 0, use_config_backorders SMALLINT UNSIGNED NOT NULL DEFAULT 1,
    min_sale_qty DECIMAL(12,4) NOT NULL DEFAULT 1.0000, use_config_min_sale_qty SMALLINT UNSIGNED NOT NULL DEFAULT 1, max_sale_qty DECIMAL(12,4) NOT NULL DEFAULT 0.0000,
    use_config_max_sale_qty SMALLINT UNSIGNED NOT NULL DEFAULT 1, is_in_stock SMALLINT UNSIGNED NOT NULL DEFAULT 0, low_stock_date TIMESTAMP NULL DEFAULT NULL,
    notify_stock_qty DECIMAL(12,4) DEFAULT NULL, use_config_notify_stock_qty SMALLINT UNSIGNED NOT NULL DEFAULT 1, manage_stock SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    use_config_manage_stock SMALLINT UNSIGNED NOT NULL DEFAULT 1, stock_status_changed_auto SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    use_config_qty_increments SMALLINT UNSIGNED NOT NULL DEFAULT 1, qty_increments DECIMAL(12,4) NOT NULL DEFAULT 0.0000,
    use_config_enable_qty_inc SMALLINT UNSIGNED NOT NULL DEFAULT 1, enable_qty_increments SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    is_decimal_divided SMALLINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (item_id), UNIQUE KEY (product_id, stock_id), KEY (stock_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}cataloginventory_stock_status (
    product_id INT UNSIGNED NOT NULL, website_id SMALLINT UNSIGNED NOT NULL, stock_id SMALLINT UNSIGNED NOT NULL, qty DECIMAL(12,4) NOT NULL DEFAULT 0.0000,
    stock_status SMALLINT UNSIGNED NOT NULL, PRIMARY KEY (product_id, website_id, stock_id), KEY (stock_id), KEY (website_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}review_entity (
    entity_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, entity_code VARCHAR(32) NOT NULL, PRIMARY KEY (entity_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}review_status (
    status_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, status_code VARCHAR(32) NOT NULL, PRIMARY KEY (status_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}review (
    review_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, created_at TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00', entity_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    entity_pk_value INT UNSIGNED NOT NULL DEFAULT 0, status_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (review_id), KEY (entity_id), KEY (status_id),
    KEY (entity_pk_value)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}review_detail (
    detail_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, review_id BIGINT UNSIGNED NOT NULL DEFAULT 0, store_id SMALLINT UNSIGNED DEFAULT 0, title VARCHAR(255) NOT NULL,
    detail TEXT NOT NULL, nickname VARCHAR(128) NOT NULL, customer_id INT UNSIGNED DEFAULT NULL, PRIMARY KEY (detail_id), KEY (review_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}review_store (
    review_id BIGINT UNSIGNED NOT NULL, store_id SMALLINT UNSIGNED NOT NULL, PRIMARY KEY (review_id, store_id), KEY (store_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}review_entity_summary (
    primary_id BIGINT NOT NULL AUTO_INCREMENT, entity_pk_value BIGINT NOT NULL DEFAULT 0, entity_type SMALLINT NOT NULL DEFAULT 0, reviews_count SMALLINT NOT NULL DEFAULT 0,
    rating_summary SMALLINT NOT NULL DEFAULT 0, store_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (primary_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_entity (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_set_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    website_id SMALLINT UNSIGNED DEFAULT NULL, email VARCHAR(255) DEFAULT NULL, group_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, increment_id VARCHAR(50) DEFAULT NULL,
    store_id SMALLINT UNSIGNED DEFAULT 0, created_at TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00', updated_at TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00',
    is_active SMALLINT UNSIGNED NOT NULL DEFAULT 1, disable_auto_group_change SMALLINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (entity_id), UNIQUE KEY (email, website_id),
    KEY (store_id), KEY (website_id), KEY (email, website_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_entity_datetime (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    entity_id INT UNSIGNED NOT NULL DEFAULT 0, value DATETIME NOT NULL DEFAULT '0000-00-00 00:00:00', PRIMARY KEY (value_id), UNIQUE KEY (entity_id, attribute_id),
    KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_entity_decimal (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    entity_id INT UNSIGNED NOT NULL DEFAULT 0, value DECIMAL(12,4) NOT NULL DEFAULT 0.0000, PRIMARY KEY (value_id), UNIQUE KEY (entity_id, attribute_id), KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_entity_int (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    entity_id INT UNSIGNED NOT NULL DEFAULT 0, value INT NOT NULL DEFAULT 0, PRIMARY KEY (value_id), UNIQUE KEY (entity_id, attribute_id), KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_entity_text (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    entity_id INT UNSIGNED NOT NULL DEFAULT 0, value TEXT NOT NULL, PRIMARY KEY (value_id), UNIQUE KEY (entity_id, attribute_id), KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_entity_varchar (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    entity_id INT UNSIGNED NOT NULL DEFAULT 0, value VARCHAR(255) DEFAULT NULL, PRIMARY KEY (value_id), UNIQUE KEY (entity_id, attribute_id), KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_address_entity (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_set_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    increment_id VARCHAR(50) DEFAULT NULL, parent_id INT UNSIGNED DEFAULT NULL, created_at TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00',
    updated_at TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00', is_active SMALLINT UNSIGNED NOT NULL DEFAULT 1, PRIMARY KEY (entity_id), KEY (parent_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_address_entity_datetime (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    entity_id INT UNSIGNED NOT NULL DEFAULT 0, value DATETIME NOT NULL DEFAULT '0000-00-00 00:00:00', PRIMARY KEY (value_id), UNIQUE KEY (entity_id, attribute_id),
    KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_address_entity_decimal (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    entity_id INT UNSIGNED NOT NULL DEFAULT 0, value DECIMAL(12,4) NOT NULL DEFAULT 0.0000, PRIMARY KEY (value_id), UNIQUE KEY (entity_id, attribute_id), KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_address_entity_int (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    entity_id INT UNSIGNED NOT NULL DEFAULT 0, value INT NOT NULL DEFAULT 0, PRIMARY KEY (value_id), UNIQUE KEY (entity_id, attribute_id), KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_address_entity_text (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    entity_id INT UNSIGNED NOT NULL DEFAULT 0, value TEXT NOT NULL, PRIMARY KEY (value_id), UNIQUE KEY (entity_id, attribute_id), KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}customer_address_entity_varchar (
    value_id INT NOT NULL AUTO_INCREMENT, entity_type_id SMALLINT UNSIGNED NOT NULL DEFAULT 0, attribute_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    entity_id INT UNSIGNED NOT NULL DEFAULT 0, value VARCHAR(255) DEFAULT NULL, PRIMARY KEY (value_id), UNIQUE KEY (entity_id, attribute_id), KEY (attribute_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}sales_flat_order (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, state VARCHAR(32) DEFAULT NULL, status VARCHAR(32) DEFAULT NULL, coupon_code VARCHAR(255) DEFAULT NULL,
    protect_code VARCHAR(255) DEFAULT NULL, shipping_description VARCHAR(255) DEFAULT NULL, is_virtual SMALLINT UNSIGNED DEFAULT NULL, store_id SMALLINT UNSIGNED DEFAULT NULL,
    customer_id INT UNSIGNED DEFAULT NULL, base_discount_amount DECIMAL(12,4) DEFAULT NULL, base_discount_canceled DECIMAL(12,4) DEFAULT NULL,
    base_discount_invoiced DECIMAL(12,4) DEFAULT NULL, base_discount_refunded DECIMAL(12,4) DEFAULT NULL, base_grand_total DECIMAL(12,4) DEFAULT NULL,
    base_shipping_amount DECIMAL(12,4) DEFAULT NULL, base_shipping_canceled DECIMAL(12,4) DEFAULT NULL, base_shipping_invoiced DECIMAL(12,4) DEFAULT NULL,
    base_shipping_refunded DECIMAL(12,4) DEFAULT NULL, base_shipping_tax_amount DECIMAL(12,4) DEFAULT NULL, base_shipping_tax_refunded DECIMAL(12,4) DEFAULT NULL,
    base_subtotal DECIMAL(12,4) DEFAULT NULL, base_subtotal_canceled DECIMAL(12,4) DEFAULT NULL, base_subtotal_invoiced DECIMAL(12,4) DEFAULT NULL,
    base_subtotal_refunded DECIMAL(12,4) DEFAULT NULL, base_tax_amount DECIMAL(12,4) DEFAULT NULL, base_tax_canceled DECIMAL(12,4) DEFAULT NULL,
    base_tax_invoiced DECIMAL(12,4) DEFAULT NULL, base_tax_refunded DECIMAL(12,4) DEFAULT NULL, base_to_global_rate DECIMAL(12,4) DEFAULT NULL,
    base_to_order_rate DECIMAL(12,4) DEFAULT NULL, base_total_canceled DECIMAL(12,4) DEFAULT NULL, base_total_invoiced DECIMAL(12,4) DEFAULT NULL,
    base_total_invoiced_cost DECIMAL(12,4) DEFAULT NULL, base_total_offline_refunded DECIMAL(12,4) DEFAULT NULL, base_total_online_refunded DECIMAL(12,4) DEFAULT NULL,
    base_total_paid DECIMAL(12,4) DEFAULT NULL, base_total_qty_ordered DECIMAL(12,4) DEFAULT NULL, base_total_refunded DECIMAL(12,4) DEFAULT NULL,
    discount_amount DECIMAL(12,4) DEFAULT NULL, discount_canceled DECIMAL(12,4) DEFAULT NULL, discount_invoiced DECIMAL(12,4) DEFAULT NULL,
    discount_refunded DECIMAL(12,4) DEFAULT NULL, grand_total DECIMAL(12,4) DEFAULT NULL, shipping_amount DECIMAL(12,4) DEFAULT NULL,
    shipping_canceled DECIMAL(12,4) DEFAULT NULL, shipping_invoiced DECIMAL(12,4) DEFAULT NULL, shipping_refunded DECIMAL(12,4) DEFAULT NULL,
    shipping_tax_amount DECIMAL(12,4) DEFAULT NULL, shipping_tax_refunded DECIMAL(12,4) DEFAULT NULL, store_to_base_rate DECIMAL(12,4) DEFAULT NULL,
    store_to_order_rate DECIMAL(12,4) DEFAULT NULL, subtotal DECIMAL(12,4) DEFAULT NULL, subtotal_canceled DECIMAL(12,4) DEFAULT NULL,
    subtotal_invoiced DECIMAL(12,4) DEFAULT NULL, subtotal_refunded DECIMAL(12,4) DEFAULT NULL, tax_amount DECIMAL(12,4) DEFAULT NULL, tax_canceled DECIMAL(12,4) DEFAULT NULL,
    tax_invoiced DECIMAL(12,4) DEFAULT NULL, tax_refunded DECIMAL(12,4) DEFAULT NULL, total_canceled DECIMAL(12,4) DEFAULT NULL, total_invoiced DECIMAL(12,4) DEFAULT NULL,
    total_offline_refunded DECIMAL(12,4) DEFAULT NULL, total_online_refunded DECIMAL(12,4) DEFAULT NULL, total_paid DECIMAL(12,4) DEFAULT NULL,
    total_qty_ordered DECIMAL(12,4) DEFAULT NULL, total_refunded DECIMAL(12,4) DEFAULT NULL, can_ship_partially SMALLINT UNSIGNED DEFAULT NULL,
    can_ship_partially_item SMALLINT UNSIGNED DEFAULT NULL, customer_is_guest SMALLINT UNSIGNED DEFAULT NULL, customer_note_notify SMALLINT UNSIGNED DEFAULT NULL,
    billing_address_id INT DEFAULT NULL, customer_group_id SMALLINT DEFAULT NULL, edit_increment INT DEFAULT NULL, email_sent SMALLINT UNSIGNED DEFAULT NULL,
    forced_shipment_with_invoice SMALLINT UNSIGNED DEFAULT NULL, payment_auth_expiration INT DEFAULT NULL, quote_address_id INT DEFAULT NULL, quote_id INT DEFAULT NULL,
    shipping_address_id INT DEFAULT NULL, adjustment_negative DECIMAL(12,4) DEFAULT NULL, adjustment_positive DECIMAL(12,4) DEFAULT NULL,
    base_adjustment_negative DECIMAL(12,4) DEFAULT NULL, base_adjustment_positive DECIMAL(12,4) DEFAULT NULL, base_shipping_discount_amount DECIMAL(12,4) DEFAULT NULL,
    base_subtotal_incl_tax DECIMAL(12,4) DEFAULT NULL, base_total_due DECIMAL(12,4) DEFAULT NULL, payment_authorization_amount DECIMAL(12,4) DEFAULT NULL,
    shipping_discount_amount DECIMAL(12,4) DEFAULT NULL, subtotal_incl_tax DECIMAL(12,4) DEFAULT NULL, total_due DECIMAL(12,4) DEFAULT NULL, weight DECIMAL(12,4) DEFAULT NULL,
    customer_dob DATETIME DEFAULT NULL, increment_id VARCHAR(50) DEFAULT NULL, applied_rule_ids VARCHAR(255) DEFAULT NULL, base_currency_code VARCHAR(3) DEFAULT NULL,
    customer_email VARCHAR(255) DEFAULT NULL, customer_firstname VARCHAR(255) DEFAULT NULL, customer_lastname VARCHAR(255) DEFAULT NULL,
    customer_middlename VARCHAR(255) DEFAULT NULL, customer_prefix VARCHAR(255) DEFAULT NULL, customer_suffix VARCHAR(255) DEFAULT NULL,
    customer_taxvat VARCHAR(255) DEFAULT NULL, discount_description VARCHAR(255) DEFAULT NULL, ext_customer_id VARCHAR(255) DEFAULT NULL,
    ext_order_id VARCHAR(255) DEFAULT NULL, global_currency_code VARCHAR(3) DEFAULT NULL, hold_before_state VARCHAR(255) DEFAULT NULL,
    hold_before_status VARCHAR(255) DEFAULT NULL, order_currency_code VARCHAR(255) DEFAULT NULL, original_increment_id VARCHAR(50) DEFAULT NULL,
    relation_child_id VARCHAR(32) DEFAULT NULL, relation_child_real_id VARCHAR(32) DEFAULT NULL, relation_parent_id VARCHAR(32) DEFAULT NULL,
    relation_parent_real_id VARCHAR(32) DEFAULT NULL, remote_ip VARCHAR(255) DEFAULT NULL, shipping_method VARCHAR(255) DEFAULT NULL,
    store_currency_code VARCHAR(3) DEFAULT NULL, store_name VARCHAR(255) DEFAULT NULL, x_forwarded_for VARCHAR(255) DEFAULT NULL, customer_note TEXT,
    created_at TIMESTAMP NULL DEFAULT NULL, updated_at TIMESTAMP NULL DEFAULT NULL, total_item_count SMALLINT UNSIGNED NOT NULL DEFAULT 0, customer_gender INT DEFAULT NULL,
    hidden_tax_amount DECIMAL(12,4) DEFAULT NULL, base_hidden_tax_amount DECIMAL(12,4) DEFAULT NULL, shipping_hidden_tax_amount DECIMAL(12,4) DEFAULT NULL,
    base_shipping_hidden_tax_amnt DECIMAL(12,4) DEFAULT NULL, hidden_tax_invoiced DECIMAL(12,4) DEFAULT NULL, base_hidden_tax_invoiced DECIMAL(12,4) DEFAULT NULL,
    hidden_tax_refunded DECIMAL(12,4) DEFAULT NULL, base_hidden_tax_refunded DECIMAL(12,4) DEFAULT NULL, shipping_incl_tax DECIMAL(12,4) DEFAULT NULL,
    base_shipping_incl_tax DECIMAL(12,4) DEFAULT NULL, coupon_rule_name VARCHAR(255) DEFAULT NULL, paypal_ipn_customer_notified INT DEFAULT 0,
    gift_message_id INT DEFAULT NULL, PRIMARY KEY (entity_id), UNIQUE KEY (increment_id), KEY (status), KEY (state), KEY (store_id), KEY (created_at), KEY (customer_id),
    KEY (updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}sales_flat_order_item (
    item_id INT UNSIGNED NOT NULL AUTO_INCREMENT, order_id INT UNSIGNED NOT NULL DEFAULT 0, parent_item_id INT UNSIGNED DEFAULT NULL, quote_item_id INT UNSIGNED DEFAULT NULL,
    store_id SMALLINT UNSIGNED DEFAULT NULL, created_at TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00', updated_at TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00',
    product_id INT UNSIGNED DEFAULT NULL, product_type VARCHAR(255) DEFAULT NULL, product_options TEXT, weight DECIMAL(12,4) DEFAULT 0.0000,
    is_virtual SMALLINT UNSIGNED DEFAULT NULL, sku VARCHAR(255) DEFAULT NULL, name VARCHAR(255) DEFAULT NULL, description TEXT, applied_rule_ids TEXT, additional_data TEXT,
    free_shipping SMALLINT UNSIGNED NOT NULL DEFAULT 0, is_qty_decimal SMALLINT UNSIGNED DEFAULT NULL, no_discount SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    qty_backordered DECIMAL(12,4) DEFAULT 0.0000, qty_canceled DECIMAL(12,4) DEFAULT 0.0000, qty_invoiced DECIMAL(12,4) DEFAULT 0.0000,
    qty_ordered DECIMAL(12,4) DEFAULT 0.0000, qty_refunded DECIMAL(12,4) DEFAULT 0.0000, qty_shipped DECIMAL(12,4) DEFAULT 0.0000, base_cost DECIMAL(12,4) DEFAULT 0.0000,
    price DECIMAL(12,4) NOT NULL DEFAULT 0.0000, base_price DECIMAL(12,4) NOT NULL DEFAULT 0.0000, original_price DECIMAL(12,4) DEFAULT NULL,
    base_original_price DECIMAL(12,4) DEFAULT NULL, tax_percent DECIMAL(12,4) DEFAULT 0.0000, tax_amount DECIMAL(12,4) DEFAULT 0.0000,
    base_tax_amount DECIMAL(12,4) DEFAULT 0.0000, tax_invoiced DECIMAL(12,4) DEFAULT 0.0000, base_tax_invoiced DECIMAL(12,4) DEFAULT 0.0000,
    discount_percent DECIMAL(12,4) DEFAULT 0.0000, discount_amount DECIMAL(12,4) DEFAULT 0.0000, base_discount_amount DECIMAL(12,4) DEFAULT 0.0000,
    discount_invoiced DECIMAL(12,4) DEFAULT 0.0000, base_discount_invoiced DECIMAL(12,4) DEFAULT 0.0000, amount_refunded DECIMAL(12,4) DEFAULT 0.0000,
    base_amount_refunded DECIMAL(12,4) DEFAULT 0.0000, row_total DECIMAL(12,4) NOT NULL DEFAULT 0.0000, base_row_total DECIMAL(12,4) NOT NULL DEFAULT 0.0000,
    row_invoiced DECIMAL(12,4) NOT NULL DEFAULT 0.0000, base_row_invoiced DECIMAL(12,4) NOT NULL DEFAULT 0.0000, row_weight DECIMAL(12,4) DEFAULT 0.0000,
    base_tax_before_discount DECIMAL(12,4) DEFAULT NULL, tax_before_discount DECIMAL(12,4) DEFAULT NULL, ext_order_item_id VARCHAR(255) DEFAULT NULL,
    locked_do_invoice SMALLINT UNSIGNED DEFAULT NULL, locked_do_ship SMALLINT UNSIGNED DEFAULT NULL, price_incl_tax DECIMAL(12,4) DEFAULT NULL,
    base_price_incl_tax DECIMAL(12,4) DEFAULT NULL, row_total_incl_tax DECIMAL(12,4) DEFAULT NULL, base_row_total_incl_tax DECIMAL(12,4) DEFAULT NULL,
    hidden_tax_amount DECIMAL(12,4) DEFAULT NULL, base_hidden_tax_amount DECIMAL(12,4) DEFAULT NULL, hidden_tax_invoiced DECIMAL(12,4) DEFAULT NULL,
    base_hidden_tax_invoiced DECIMAL(12,4) DEFAULT NULL, hidden_tax_refunded DECIMAL(12,4) DEFAULT NULL, base_hidden_tax_refunded DECIMAL(12,4) DEFAULT NULL,
    is_nominal INT NOT NULL DEFAULT 0, tax_canceled DECIMAL(12,4) DEFAULT NULL, hidden_tax_canceled DECIMAL(12,4) DEFAULT NULL, tax_refunded DECIMAL(12,4) DEFAULT NULL,
    base_tax_refunded DECIMAL(12,4) DEFAULT NULL, discount_refunded DECIMAL(12,4) DEFAULT NULL, base_discount_refunded DECIMAL(12,4) DEFAULT NULL,
    gift_message_id INT DEFAULT NULL, gift_message_available INT DEFAULT NULL, base_weee_tax_applied_amount DECIMAL(12,4) DEFAULT NULL,
    base_weee_tax_applied_row_amnt DECIMAL(12,4) DEFAULT NULL, weee_tax_applied_amount DECIMAL(12,4) DEFAULT NULL, weee_tax_applied_row_amount DECIMAL(12,4) DEFAULT NULL,
    weee_tax_applied TEXT, weee_tax_disposition DECIMAL(12,4) DEFAULT NULL, weee_tax_row_disposition DECIMAL(12,4) DEFAULT NULL,
    base_weee_tax_disposition DECIMAL(12,4) DEFAULT NULL, base_weee_tax_row_disposition DECIMAL(12,4) DEFAULT NULL, PRIMARY KEY (item_id), KEY (order_id), KEY (store_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}sales_flat_order_address (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, parent_id INT UNSIGNED DEFAULT NULL, customer_address_id INT DEFAULT NULL, quote_address_id INT DEFAULT NULL,
    region_id INT DEFAULT NULL, customer_id INT DEFAULT NULL, fax VARCHAR(255) DEFAULT NULL, region VARCHAR(255) DEFAULT NULL, postcode VARCHAR(255) DEFAULT NULL,
    lastname VARCHAR(255) DEFAULT NULL, street VARCHAR(255) DEFAULT NULL, city VARCHAR(255) DEFAULT NULL, email VARCHAR(255) DEFAULT NULL, telephone VARCHAR(255) DEFAULT NULL,
    country_id VARCHAR(2) DEFAULT NULL, firstname VARCHAR(255) DEFAULT NULL, address_type VARCHAR(255) DEFAULT NULL, prefix VARCHAR(255) DEFAULT NULL,
    middlename VARCHAR(255) DEFAULT NULL, suffix VARCHAR(255) DEFAULT NULL, company VARCHAR(255) DEFAULT NULL, vat_id TEXT, vat_is_valid SMALLINT DEFAULT NULL,
    vat_request_id TEXT, vat_request_date TEXT, vat_request_success SMALLINT DEFAULT NULL, PRIMARY KEY (entity_id), KEY (parent_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}sales_flat_order_payment (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, parent_id INT UNSIGNED NOT NULL, base_shipping_captured DECIMAL(12,4) DEFAULT NULL,
    shipping_captured DECIMAL(12,4) DEFAULT NULL, amount_refunded DECIMAL(12,4) DEFAULT NULL, base_amount_paid DECIMAL(12,4) DEFAULT NULL,
    amount_canceled DECIMAL(12,4) DEFAULT NULL, base_amount_authorized DECIMAL(12,4) DEFAULT NULL, base_amount_paid_online DECIMAL(12,4) DEFAULT NULL,
    base_amount_refunded_online DECIMAL(12,4) DEFAULT NULL, base_shipping_amount DECIMAL(12,4) DEFAULT NULL, shipping_amount DECIMAL(12,4) DEFAULT NULL,
    amount_paid DECIMAL(12,4) DEFAULT NULL, amount_authorized DECIMAL(12,4) DEFAULT NULL, base_amount_ordered DECIMAL(12,4) DEFAULT NULL,
    base_shipping_refunded DECIMAL(12,4) DEFAULT NULL, shipping_refunded DECIMAL(12,4) DEFAULT NULL, base_amount_refunded DECIMAL(12,4) DEFAULT NULL,
    amount_ordered DECIMAL(12,4) DEFAULT NULL, base_amount_canceled DECIMAL(12,4) DEFAULT NULL, quote_payment_id INT DEFAULT NULL, additional_data TEXT,
    cc_exp_month VARCHAR(255) DEFAULT NULL, cc_ss_start_year VARCHAR(255) DEFAULT NULL, echeck_bank_name VARCHAR(255) DEFAULT NULL, method VARCHAR(255) DEFAULT NULL,
    cc_debug_request_body VARCHAR(255) DEFAULT NULL, cc_secure_verify VARCHAR(255) DEFAULT NULL, protection_eligibility VARCHAR(255) DEFAULT NULL,
    cc_approval VARCHAR(255) DEFAULT NULL, cc_last4 VARCHAR(255) DEFAULT NULL, cc_status_description VARCHAR(255) DEFAULT NULL, echeck_type VARCHAR(255) DEFAULT NULL,
    cc_debug_response_serialized VARCHAR(255) DEFAULT NULL, cc_ss_start_month VARCHAR(255) DEFAULT NULL, echeck_account_type VARCHAR(255) DEFAULT NULL,
    last_trans_id VARCHAR(255) DEFAULT NULL, cc_cid_status VARCHAR(255) DEFAULT NULL, cc_owner VARCHAR(255) DEFAULT NULL, cc_type VARCHAR(255) DEFAULT NULL,
    po_number VARCHAR(255) DEFAULT NULL, cc_exp_year VARCHAR(255) DEFAULT NULL, cc_status VARCHAR(255) DEFAULT NULL, echeck_routing_number VARCHAR(255) DEFAULT NULL,
    account_status VARCHAR(255) DEFAULT NULL, anet_trans_method VARCHAR(255) DEFAULT NULL, cc_debug_response_body VARCHAR(255) DEFAULT NULL,
    cc_ss_issue VARCHAR(255) DEFAULT NULL, echeck_account_name VARCHAR(255) DEFAULT NULL, cc_avs_status VARCHAR(255) DEFAULT NULL, cc_number_enc VARCHAR(255) DEFAULT NULL,
    cc_trans_id VARCHAR(255) DEFAULT NULL, paybox_request_number VARCHAR(255) DEFAULT NULL, address_status VARCHAR(255) DEFAULT NULL, additional_information TEXT,
    PRIMARY KEY (entity_id), KEY (parent_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}sales_flat_order_status_history (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, parent_id INT UNSIGNED NOT NULL, is_customer_notified INT DEFAULT NULL,
    is_visible_on_front SMALLINT UNSIGNED NOT NULL DEFAULT 0, comment TEXT, status VARCHAR(32) DEFAULT NULL, created_at TIMESTAMP NULL DEFAULT NULL,
    entity_name VARCHAR(32) DEFAULT NULL, PRIMARY KEY (entity_id), KEY (parent_id), KEY (created_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}sales_order_tax (
    tax_id INT UNSIGNED NOT NULL AUTO_INCREMENT, order_id INT UNSIGNED NOT NULL, code VARCHAR(255) DEFAULT NULL, title VARCHAR(255) DEFAULT NULL,
    percent DECIMAL(12,4) DEFAULT NULL, amount DECIMAL(12,4) DEFAULT NULL, priority INT NOT NULL, position INT NOT NULL, base_amount DECIMAL(12,4) DEFAULT NULL,
    process SMALLINT NOT NULL, base_real_amount DECIMAL(12,4) DEFAULT NULL, hidden SMALLINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (tax_id),
    KEY (order_id, priority, position)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}gift_message (
    gift_message_id INT UNSIGNED NOT NULL AUTO_INCREMENT, customer_id INT UNSIGNED NOT NULL DEFAULT 0, sender VARCHAR(255) DEFAULT NULL, recipient VARCHAR(255) DEFAULT NULL,
    message TEXT, PRIMARY KEY (gift_message_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}oauth_consumer (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP NULL DEFAULT NULL,
    name VARCHAR(255) NOT NULL, `key` VARCHAR(32) NOT NULL, secret VARCHAR(32) NOT NULL, callback_url VARCHAR(255) DEFAULT NULL, rejected_callback_url VARCHAR(255) NOT NULL,
    PRIMARY KEY (entity_id), UNIQUE KEY (`key`), UNIQUE KEY (secret)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}oauth_token (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, consumer_id INT UNSIGNED NOT NULL, admin_id INT UNSIGNED DEFAULT NULL, customer_id INT UNSIGNED DEFAULT NULL,
    type VARCHAR(16) NOT NULL, token VARCHAR(32) NOT NULL, secret VARCHAR(32) NOT NULL, verifier VARCHAR(32) DEFAULT NULL, callback_url VARCHAR(255) NOT NULL,
    revoked SMALLINT UNSIGNED NOT NULL DEFAULT 0, authorized SMALLINT UNSIGNED NOT NULL DEFAULT 0, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (entity_id), UNIQUE KEY (token), KEY (consumer_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}admin_user (
    user_id INT UNSIGNED NOT NULL AUTO_INCREMENT, firstname VARCHAR(32) DEFAULT NULL, lastname VARCHAR(32) DEFAULT NULL, email VARCHAR(128) DEFAULT NULL,
    username VARCHAR(40) DEFAULT NULL, password VARCHAR(255) DEFAULT NULL, created TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00', modified TIMESTAMP NULL DEFAULT NULL,
    logdate TIMESTAMP NULL DEFAULT NULL, lognum SMALLINT UNSIGNED NOT NULL DEFAULT 0, reload_acl_flag SMALLINT NOT NULL DEFAULT 0, is_active SMALLINT NOT NULL DEFAULT 1,
    extra TEXT, rp_token TEXT, rp_token_created_at TIMESTAMP NULL DEFAULT NULL, PRIMARY KEY (user_id), UNIQUE KEY (username)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}api2_acl_role (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP NULL DEFAULT NULL,
    role_name VARCHAR(255) NOT NULL, PRIMARY KEY (entity_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}api2_acl_rule (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, role_id INT UNSIGNED NOT NULL, resource_id VARCHAR(255) NOT NULL, privilege VARCHAR(20) DEFAULT NULL,
    PRIMARY KEY (entity_id), UNIQUE KEY (role_id, resource_id, privilege)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}api2_acl_user (
    admin_id INT UNSIGNED NOT NULL, role_id INT UNSIGNED NOT NULL, UNIQUE KEY (admin_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}api2_acl_attribute (
    entity_id INT UNSIGNED NOT NULL AUTO_INCREMENT, user_type VARCHAR(20) NOT NULL, resource_id VARCHAR(255) NOT NULL, operation VARCHAR(20) NOT NULL, allowed_attributes TEXT,
    PRIMARY KEY (entity_id), UNIQUE KEY (user_type, resource_id, operation)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}catalogrule_product_price (
    rule_product_price_id INT UNSIGNED NOT NULL AUTO_INCREMENT, rule_date DATE NOT NULL, customer_group_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    product_id INT UNSIGNED NOT NULL DEFAULT 0, rule_price DECIMAL(12,4) NOT NULL DEFAULT 0.0000, website_id SMALLINT UNSIGNED NOT NULL,
    latest_start_date DATE DEFAULT NULL, earliest_end_date DATE DEFAULT NULL, PRIMARY KEY (rule_product_price_id),
    UNIQUE KEY (rule_date, website_id, customer_group_id, product_id), KEY (customer_group_id), KEY (website_id), KEY (product_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
CREATE TABLE {p}log_customer (
    log_id INT NOT NULL AUTO_INCREMENT, visitor_id BIGINT UNSIGNED DEFAULT NULL, customer_id INT NOT NULL DEFAULT 0,
    login_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, logout_at TIMESTAMP NULL DEFAULT NULL, store_id SMALLINT UNSIGNED NOT NULL,
    PRIMARY KEY (log_id), KEY (visitor_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
