-- +goose Up

-- One table for each resource, with columns named as the attributes of its schema.
-- These are the tables of the SQLite migration, which documents the columns, with the
-- types of MySQL and MariaDB.
--
-- Times are DATETIME in UTC. <name>_folded is compared byte by byte, so it holds
-- bytes: every collation that both servers have would sort "a" above "a" and a line
-- feed. The same applies to the keys, tokens and nonces of clients. Texts have the
-- lengths of the contract, in characters; a folded text takes up to four bytes for
-- each.
--
-- Keys are AUTO_INCREMENT of InnoDB, which preserves its counters over restarts
-- (MariaDB 10.2.4, MySQL 8.0): the id of a deleted record is never used again.
--
-- The server commits the transaction at every CREATE TABLE. If this migration fails
-- half-way, start again with an empty database.

CREATE TABLE website (
    website_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    code VARCHAR(255) NOT NULL,
    code_folded VARBINARY(1020),
    name VARCHAR(255) NOT NULL,
    name_folded VARBINARY(1020),
    default_store_id BIGINT
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE store (
    store_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    website_id BIGINT NOT NULL,
    code VARCHAR(255) NOT NULL,
    code_folded VARBINARY(1020),
    name VARCHAR(255) NOT NULL,
    name_folded VARBINARY(1020),
    KEY store_website_id (website_id),
    FOREIGN KEY (website_id) REFERENCES website (website_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE customer_group (
    group_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(255) NOT NULL,
    name_folded VARBINARY(1020),
    tax_class_id BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE category (
    category_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    parent_id BIGINT NOT NULL,
    name VARCHAR(255) NOT NULL,
    name_folded VARBINARY(1020),
    is_active BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE tax_rate (
    tax_rate_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    country_id VARCHAR(255) NOT NULL,
    country_id_folded VARBINARY(1020),
    region VARCHAR(255) NOT NULL,
    region_folded VARBINARY(1020),
    tax_class_id BIGINT NOT NULL,
    rate DECIMAL(12,4) NOT NULL,
    name VARCHAR(255) NOT NULL,
    name_folded VARBINARY(1020)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE country (
    country_number BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    country_id VARCHAR(255) NOT NULL,
    country_id_folded VARBINARY(1020),
    iso3_code VARCHAR(255) NOT NULL,
    iso3_code_folded VARBINARY(1020)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE region (
    region_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    country_id VARCHAR(255) NOT NULL,
    country_id_folded VARBINARY(1020),
    code VARCHAR(255) NOT NULL,
    code_folded VARBINARY(1020),
    name VARCHAR(255) NOT NULL,
    name_folded VARBINARY(1020),
    UNIQUE KEY (country_id, code),
    KEY region_name_folded (name_folded)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE admin (
    admin_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    username VARCHAR(255) NOT NULL,
    username_folded VARBINARY(1020),
    password_hash VARCHAR(255),
    UNIQUE KEY (username_folded)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE customer (
    entity_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    website_id BIGINT NOT NULL,
    store_id BIGINT,
    email VARCHAR(320) NOT NULL,
    email_folded VARBINARY(1280),
    group_id BIGINT NOT NULL,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    disable_auto_group_change BIGINT NOT NULL,
    prefix VARCHAR(255),
    prefix_folded VARBINARY(1020),
    firstname VARCHAR(255),
    firstname_folded VARBINARY(1020),
    middlename VARCHAR(255),
    middlename_folded VARBINARY(1020),
    lastname VARCHAR(255),
    lastname_folded VARBINARY(1020),
    suffix VARCHAR(255),
    suffix_folded VARBINARY(1020),
    taxvat VARCHAR(255),
    taxvat_folded VARBINARY(1020),
    created_in VARCHAR(255),
    created_in_folded VARBINARY(1020),
    confirmation VARCHAR(255),
    confirmation_folded VARBINARY(1020),
    dob DATETIME,
    gender BIGINT,
    reward_update_notification BIGINT,
    reward_warning_notification BIGINT,
    last_logged_in DATETIME,
    password_hash VARCHAR(255),
    nulls VARCHAR(2000) NOT NULL DEFAULT '',
    UNIQUE KEY (website_id, email_folded),
    KEY customer_email_folded (email_folded),
    KEY customer_lastname_folded (lastname_folded),
    KEY customer_firstname_folded (firstname_folded),
    KEY customer_created_at (created_at),
    KEY customer_group_id (group_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE customer_address (
    entity_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    customer_id BIGINT NOT NULL,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    prefix VARCHAR(255),
    prefix_folded VARBINARY(1020),
    firstname VARCHAR(255),
    firstname_folded VARBINARY(1020),
    middlename VARCHAR(255),
    middlename_folded VARBINARY(1020),
    lastname VARCHAR(255),
    lastname_folded VARBINARY(1020),
    suffix VARCHAR(255),
    suffix_folded VARBINARY(1020),
    company VARCHAR(255),
    company_folded VARBINARY(1020),
    street MEDIUMTEXT,
    city VARCHAR(255),
    city_folded VARBINARY(1020),
    country_id VARCHAR(255),
    country_id_folded VARBINARY(1020),
    region VARCHAR(255),
    region_folded VARBINARY(1020),
    region_id BIGINT,
    postcode VARCHAR(255),
    postcode_folded VARBINARY(1020),
    telephone VARCHAR(255),
    telephone_folded VARBINARY(1020),
    fax VARCHAR(255),
    fax_folded VARBINARY(1020),
    vat_id VARCHAR(255),
    vat_id_folded VARBINARY(1020),
    is_default_billing BIGINT NOT NULL,
    is_default_shipping BIGINT NOT NULL,
    nulls VARCHAR(2000) NOT NULL DEFAULT '',
    KEY customer_address_customer_id (customer_id),
    FOREIGN KEY (customer_id) REFERENCES customer (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE product (
    entity_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    attribute_set_id BIGINT NOT NULL,
    type_id VARCHAR(255) NOT NULL,
    type_id_folded VARBINARY(1020),
    sku VARCHAR(255) NOT NULL,
    sku_folded VARBINARY(1020),
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    name VARCHAR(255),
    name_folded VARBINARY(1020),
    url_key VARCHAR(255),
    url_key_folded VARBINARY(1020),
    meta_title VARCHAR(255),
    meta_title_folded VARBINARY(1020),
    meta_description VARCHAR(255),
    meta_description_folded VARBINARY(1020),
    custom_design VARCHAR(255),
    custom_design_folded VARBINARY(1020),
    page_layout VARCHAR(255),
    page_layout_folded VARBINARY(1020),
    options_container VARCHAR(255),
    options_container_folded VARBINARY(1020),
    country_of_manufacture VARCHAR(255),
    country_of_manufacture_folded VARBINARY(1020),
    msrp_enabled VARCHAR(255),
    msrp_enabled_folded VARBINARY(1020),
    msrp_display_actual_price_type VARCHAR(255),
    msrp_display_actual_price_type_folded VARBINARY(1020),
    gift_message_available VARCHAR(255),
    gift_message_available_folded VARBINARY(1020),
    description MEDIUMTEXT,
    description_folded MEDIUMBLOB,
    short_description MEDIUMTEXT,
    short_description_folded MEDIUMBLOB,
    meta_keyword MEDIUMTEXT,
    meta_keyword_folded MEDIUMBLOB,
    custom_layout_update MEDIUMTEXT,
    custom_layout_update_folded MEDIUMBLOB,
    price DECIMAL(12,4),
    weight DECIMAL(12,4),
    special_price DECIMAL(12,4),
    msrp DECIMAL(12,4),
    cost DECIMAL(12,4),
    news_from_date DATETIME,
    news_to_date DATETIME,
    special_from_date DATETIME,
    special_to_date DATETIME,
    custom_design_from DATETIME,
    custom_design_to DATETIME,
    status BIGINT,
    visibility BIGINT,
    tax_class_id BIGINT,
    manufacturer BIGINT,
    color BIGINT,
    nulls VARCHAR(2000) NOT NULL DEFAULT '',
    KEY product_sku_folded (sku_folded),
    KEY product_name_folded (name_folded),
    KEY product_created_at (created_at),
    KEY product_updated_at (updated_at),
    KEY product_price (price),
    KEY product_status (status)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE product_value (
    product_id BIGINT NOT NULL,
    store_id BIGINT NOT NULL,
    attribute VARCHAR(255) NOT NULL,
    value MEDIUMTEXT,
    value_folded MEDIUMBLOB,
    PRIMARY KEY (product_id, store_id, attribute),
    KEY product_value_attribute (attribute, store_id, value_folded(255)),
    FOREIGN KEY (product_id) REFERENCES product (entity_id) ON DELETE CASCADE,
    FOREIGN KEY (store_id) REFERENCES store (store_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE product_group_price (
    value_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    product_id BIGINT NOT NULL,
    website_id BIGINT NOT NULL,
    cust_group BIGINT NOT NULL,
    price DECIMAL(12,4) NOT NULL,
    UNIQUE KEY (product_id, website_id, cust_group),
    FOREIGN KEY (product_id) REFERENCES product (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE product_tier_price (
    value_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    product_id BIGINT NOT NULL,
    website_id BIGINT NOT NULL,
    cust_group BIGINT NOT NULL,
    price DECIMAL(12,4) NOT NULL,
    price_qty DECIMAL(12,4) NOT NULL,
    UNIQUE KEY (product_id, website_id, cust_group, price_qty),
    FOREIGN KEY (product_id) REFERENCES product (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE product_website (
    assignment_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    product_id BIGINT NOT NULL,
    website_id BIGINT NOT NULL,
    UNIQUE KEY (product_id, website_id),
    KEY product_website_website_id (website_id),
    FOREIGN KEY (product_id) REFERENCES product (entity_id) ON DELETE CASCADE,
    FOREIGN KEY (website_id) REFERENCES website (website_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE product_category (
    assignment_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    product_id BIGINT NOT NULL,
    category_id BIGINT NOT NULL,
    position BIGINT NOT NULL,
    UNIQUE KEY (product_id, category_id),
    KEY product_category_category_id (category_id),
    FOREIGN KEY (product_id) REFERENCES product (entity_id) ON DELETE CASCADE,
    FOREIGN KEY (category_id) REFERENCES category (category_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE product_image (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    product_id BIGINT NOT NULL,
    file VARCHAR(255) NOT NULL,
    media_type VARCHAR(255) NOT NULL,
    KEY product_image_product_id (product_id),
    FOREIGN KEY (product_id) REFERENCES product (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE product_image_value (
    image_id BIGINT NOT NULL,
    store_id BIGINT NOT NULL,
    label VARCHAR(255),
    position BIGINT,
    exclude BIGINT,
    PRIMARY KEY (image_id, store_id),
    FOREIGN KEY (image_id) REFERENCES product_image (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE product_image_pointer (
    product_id BIGINT NOT NULL,
    store_id BIGINT NOT NULL,
    type VARCHAR(255) NOT NULL,
    image_id BIGINT,
    PRIMARY KEY (product_id, store_id, type),
    KEY product_image_pointer_image_id (image_id),
    FOREIGN KEY (product_id) REFERENCES product (entity_id) ON DELETE CASCADE,
    FOREIGN KEY (image_id) REFERENCES product_image (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE stock_item (
    item_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    product_id BIGINT NOT NULL,
    stock_id BIGINT NOT NULL,
    qty DECIMAL(12,4) NOT NULL,
    min_qty DECIMAL(12,4) NOT NULL,
    use_config_min_qty BIGINT NOT NULL,
    is_qty_decimal BIGINT NOT NULL,
    backorders BIGINT NOT NULL,
    use_config_backorders BIGINT NOT NULL,
    min_sale_qty DECIMAL(12,4) NOT NULL,
    use_config_min_sale_qty BIGINT NOT NULL,
    max_sale_qty DECIMAL(12,4) NOT NULL,
    use_config_max_sale_qty BIGINT NOT NULL,
    is_in_stock BIGINT NOT NULL,
    low_stock_date DATETIME,
    notify_stock_qty DECIMAL(12,4),
    use_config_notify_stock_qty BIGINT NOT NULL,
    manage_stock BIGINT NOT NULL,
    use_config_manage_stock BIGINT NOT NULL,
    stock_status_changed_auto BIGINT NOT NULL,
    use_config_qty_increments BIGINT NOT NULL,
    qty_increments DECIMAL(12,4) NOT NULL,
    use_config_enable_qty_inc BIGINT NOT NULL,
    enable_qty_increments BIGINT NOT NULL,
    is_decimal_divided BIGINT NOT NULL,
    UNIQUE KEY (product_id),
    FOREIGN KEY (product_id) REFERENCES product (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE sales_order (
    entity_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    increment_id VARCHAR(255),
    increment_id_folded VARBINARY(1020),
    customer_id BIGINT,
    store_id BIGINT NOT NULL,
    state VARCHAR(255),
    state_folded VARBINARY(1020),
    status VARCHAR(255),
    status_folded VARBINARY(1020),
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    coupon_code VARCHAR(255),
    coupon_code_folded VARBINARY(1020),
    shipping_description VARCHAR(255),
    shipping_description_folded VARBINARY(1020),
    discount_description VARCHAR(255),
    discount_description_folded VARBINARY(1020),
    remote_ip VARCHAR(255),
    remote_ip_folded VARBINARY(1020),
    base_currency_code VARCHAR(255),
    base_currency_code_folded VARBINARY(1020),
    store_currency_code VARCHAR(255),
    store_currency_code_folded VARBINARY(1020),
    order_currency_code VARCHAR(255),
    order_currency_code_folded VARBINARY(1020),
    store_name VARCHAR(255),
    store_name_folded VARBINARY(1020),
    store_to_order_rate DECIMAL(12,4),
    payment_method VARCHAR(255),
    payment_method_folded VARBINARY(1020),
    gift_message_from VARCHAR(255),
    gift_message_from_folded VARBINARY(1020),
    gift_message_to VARCHAR(255),
    gift_message_to_folded VARBINARY(1020),
    gift_message_body MEDIUMTEXT,
    gift_message_body_folded MEDIUMBLOB,
    tax_name VARCHAR(255),
    tax_name_folded VARBINARY(1020),
    tax_rate DECIMAL(12,4),
    subtotal DECIMAL(12,4),
    base_subtotal DECIMAL(12,4),
    subtotal_incl_tax DECIMAL(12,4),
    base_subtotal_incl_tax DECIMAL(12,4),
    discount_amount DECIMAL(12,4),
    base_discount_amount DECIMAL(12,4),
    shipping_amount DECIMAL(12,4),
    base_shipping_amount DECIMAL(12,4),
    shipping_tax_amount DECIMAL(12,4),
    base_shipping_tax_amount DECIMAL(12,4),
    shipping_incl_tax DECIMAL(12,4),
    shipping_discount_amount DECIMAL(12,4),
    base_shipping_discount_amount DECIMAL(12,4),
    tax_amount DECIMAL(12,4),
    base_tax_amount DECIMAL(12,4),
    grand_total DECIMAL(12,4),
    base_grand_total DECIMAL(12,4),
    total_paid DECIMAL(12,4),
    base_total_paid DECIMAL(12,4),
    total_refunded DECIMAL(12,4),
    base_total_refunded DECIMAL(12,4),
    total_due DECIMAL(12,4),
    base_total_due DECIMAL(12,4),
    KEY sales_order_customer_id (customer_id),
    KEY sales_order_increment_id_folded (increment_id_folded),
    KEY sales_order_status_folded (status_folded),
    KEY sales_order_created_at (created_at),
    FOREIGN KEY (customer_id) REFERENCES customer (entity_id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE order_item (
    item_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_id BIGINT NOT NULL,
    parent_item_id BIGINT,
    product_id BIGINT,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    sku VARCHAR(255),
    sku_folded VARBINARY(1020),
    name VARCHAR(255),
    name_folded VARBINARY(1020),
    qty_canceled DECIMAL(12,4),
    qty_invoiced DECIMAL(12,4),
    qty_ordered DECIMAL(12,4),
    qty_refunded DECIMAL(12,4),
    qty_shipped DECIMAL(12,4),
    price DECIMAL(12,4),
    base_price DECIMAL(12,4),
    original_price DECIMAL(12,4),
    base_original_price DECIMAL(12,4),
    tax_percent DECIMAL(12,4),
    tax_amount DECIMAL(12,4),
    base_tax_amount DECIMAL(12,4),
    discount_amount DECIMAL(12,4),
    base_discount_amount DECIMAL(12,4),
    row_total DECIMAL(12,4),
    base_row_total DECIMAL(12,4),
    price_incl_tax DECIMAL(12,4),
    base_price_incl_tax DECIMAL(12,4),
    row_total_incl_tax DECIMAL(12,4),
    base_row_total_incl_tax DECIMAL(12,4),
    KEY order_item_order_id (order_id),
    FOREIGN KEY (order_id) REFERENCES sales_order (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE order_address (
    entity_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    parent_id BIGINT NOT NULL,
    address_type VARCHAR(255) NOT NULL,
    address_type_folded VARBINARY(1020),
    region VARCHAR(255),
    region_folded VARBINARY(1020),
    postcode VARCHAR(255),
    postcode_folded VARBINARY(1020),
    lastname VARCHAR(255),
    lastname_folded VARBINARY(1020),
    street MEDIUMTEXT,
    street_folded MEDIUMBLOB,
    city VARCHAR(255),
    city_folded VARBINARY(1020),
    email VARCHAR(320),
    email_folded VARBINARY(1280),
    telephone VARCHAR(255),
    telephone_folded VARBINARY(1020),
    country_id VARCHAR(255),
    country_id_folded VARBINARY(1020),
    firstname VARCHAR(255),
    firstname_folded VARBINARY(1020),
    prefix VARCHAR(255),
    prefix_folded VARBINARY(1020),
    middlename VARCHAR(255),
    middlename_folded VARBINARY(1020),
    suffix VARCHAR(255),
    suffix_folded VARBINARY(1020),
    company VARCHAR(255),
    company_folded VARBINARY(1020),
    KEY order_address_parent_id (parent_id),
    FOREIGN KEY (parent_id) REFERENCES sales_order (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE order_comment (
    entity_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    parent_id BIGINT NOT NULL,
    created_at DATETIME NOT NULL,
    comment MEDIUMTEXT,
    comment_folded MEDIUMBLOB,
    is_customer_notified BIGINT NOT NULL,
    is_visible_on_front BIGINT NOT NULL,
    status VARCHAR(255),
    status_folded VARBINARY(1020),
    KEY order_comment_parent_id (parent_id),
    FOREIGN KEY (parent_id) REFERENCES sales_order (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE oauth_consumer (
    consumer_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(255) NOT NULL,
    consumer_key VARCHAR(255) NOT NULL,
    consumer_key_lower VARBINARY(255) NOT NULL,
    secret MEDIUMTEXT NOT NULL,
    created_at DATETIME NOT NULL,
    UNIQUE KEY (consumer_key_lower)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE oauth_token (
    token_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    consumer_id BIGINT NOT NULL,
    type VARCHAR(255) NOT NULL,
    token VARCHAR(255) NOT NULL,
    token_lower VARBINARY(255) NOT NULL,
    secret MEDIUMTEXT NOT NULL,
    verifier VARCHAR(255),
    admin_id BIGINT,
    customer_id BIGINT,
    revoked BIGINT NOT NULL DEFAULT 0,
    created_at DATETIME NOT NULL,
    UNIQUE KEY (token_lower),
    KEY oauth_token_consumer_id (consumer_id),
    KEY oauth_token_customer_id (customer_id),
    FOREIGN KEY (consumer_id) REFERENCES oauth_consumer (consumer_id) ON DELETE CASCADE,
    FOREIGN KEY (customer_id) REFERENCES customer (entity_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE oauth_nonce (
    nonce_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    nonce VARBINARY(255) NOT NULL,
    timestamp BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    UNIQUE KEY (nonce),
    KEY oauth_nonce_received_at (received_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
