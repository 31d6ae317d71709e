-- +goose Up

-- One table for each resource, with columns named as the attributes of its schema.
--
-- Decimals are DECIMAL(12,4), of numeric affinity: SQLite stores them as integers or
-- doubles, which hold twelve digits exactly. Times are TEXT 'YYYY-MM-DD HH:MM:SS' in
-- UTC, which sorts correctly; the driver would return a column declared DATETIME as
-- another type.
--
-- <name>_folded holds the folded form of the text <name>, by which all engines compare
-- and sort alike. It is written together with the text.
--
-- Keys are AUTOINCREMENT, so that the id of a deleted record is never used again.

CREATE TABLE website (
    website_id INTEGER PRIMARY KEY AUTOINCREMENT,
    code TEXT NOT NULL,
    code_folded TEXT,
    name TEXT NOT NULL,
    name_folded TEXT,
    default_store_id INTEGER
);

CREATE TABLE store (
    store_id INTEGER PRIMARY KEY AUTOINCREMENT,
    website_id INTEGER NOT NULL REFERENCES website(website_id) ON DELETE CASCADE,
    code TEXT NOT NULL,
    code_folded TEXT,
    name TEXT NOT NULL,
    name_folded TEXT
);
CREATE INDEX store_website_id ON store (website_id);

CREATE TABLE customer_group (
    group_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    name_folded TEXT,
    tax_class_id INTEGER NOT NULL
);

-- parent_id may be 1, the root of the tree, which has no record.
CREATE TABLE category (
    category_id INTEGER PRIMARY KEY AUTOINCREMENT,
    parent_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    name_folded TEXT,
    is_active INTEGER NOT NULL
);

CREATE TABLE tax_rate (
    tax_rate_id INTEGER PRIMARY KEY AUTOINCREMENT,
    country_id TEXT NOT NULL,
    country_id_folded TEXT,
    region TEXT NOT NULL,
    region_folded TEXT,
    tax_class_id INTEGER NOT NULL,
    rate DECIMAL(12,4) NOT NULL,
    name TEXT NOT NULL,
    name_folded TEXT
);

CREATE TABLE country (
    country_number INTEGER PRIMARY KEY AUTOINCREMENT,
    country_id TEXT NOT NULL,
    country_id_folded TEXT,
    iso3_code TEXT NOT NULL,
    iso3_code_folded TEXT
);

CREATE TABLE region (
    region_id INTEGER PRIMARY KEY AUTOINCREMENT,
    country_id TEXT NOT NULL,
    country_id_folded TEXT,
    code TEXT NOT NULL,
    code_folded TEXT,
    name TEXT NOT NULL,
    name_folded TEXT,
    UNIQUE (country_id, code)
);
CREATE INDEX region_name_folded ON region (name_folded);

CREATE TABLE admin (
    admin_id INTEGER PRIMARY KEY AUTOINCREMENT,
    username TEXT NOT NULL,
    username_folded TEXT,
    password_hash TEXT,
    UNIQUE (username_folded)
);

-- nulls: as in product. website_id, group_id and store_id may be 0, which has no
-- record.
CREATE TABLE customer (
    entity_id INTEGER PRIMARY KEY AUTOINCREMENT,
    website_id INTEGER NOT NULL,
    store_id INTEGER,
    email TEXT NOT NULL,
    email_folded TEXT,
    group_id INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    disable_auto_group_change INTEGER NOT NULL,
    prefix TEXT,
    prefix_folded TEXT,
    firstname TEXT,
    firstname_folded TEXT,
    middlename TEXT,
    middlename_folded TEXT,
    lastname TEXT,
    lastname_folded TEXT,
    suffix TEXT,
    suffix_folded TEXT,
    taxvat TEXT,
    taxvat_folded TEXT,
    created_in TEXT,
    created_in_folded TEXT,
    confirmation TEXT,
    confirmation_folded TEXT,
    dob TEXT,
    gender INTEGER,
    reward_update_notification INTEGER,
    reward_warning_notification INTEGER,
    last_logged_in TEXT,
    password_hash TEXT,
    nulls TEXT NOT NULL DEFAULT '',
    UNIQUE (website_id, email_folded)
);
CREATE INDEX customer_email_folded ON customer (email_folded);
CREATE INDEX customer_lastname_folded ON customer (lastname_folded);
CREATE INDEX customer_firstname_folded ON customer (firstname_folded);
CREATE INDEX customer_created_at ON customer (created_at);
CREATE INDEX customer_group_id ON customer (group_id);

-- nulls: as in product. street holds the lines, joined by line feeds.
CREATE TABLE customer_address (
    entity_id INTEGER PRIMARY KEY AUTOINCREMENT,
    customer_id INTEGER NOT NULL REFERENCES customer(entity_id) ON DELETE CASCADE,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    prefix TEXT,
    prefix_folded TEXT,
    firstname TEXT,
    firstname_folded TEXT,
    middlename TEXT,
    middlename_folded TEXT,
    lastname TEXT,
    lastname_folded TEXT,
    suffix TEXT,
    suffix_folded TEXT,
    company TEXT,
    company_folded TEXT,
    street TEXT,
    city TEXT,
    city_folded TEXT,
    country_id TEXT,
    country_id_folded TEXT,
    region TEXT,
    region_folded TEXT,
    region_id INTEGER,
    postcode TEXT,
    postcode_folded TEXT,
    telephone TEXT,
    telephone_folded TEXT,
    fax TEXT,
    fax_folded TEXT,
    vat_id TEXT,
    vat_id_folded TEXT,
    is_default_billing INTEGER NOT NULL,
    is_default_shipping INTEGER NOT NULL,
    nulls TEXT NOT NULL DEFAULT ''
);
CREATE INDEX customer_address_customer_id ON customer_address (customer_id);

-- Products hold the values of the default scope; values of store views are rows of
-- product_value. nulls lists the attributes that are stored as null, each between
-- commas (",meta_title,custom_design,"). A column that is NULL but not listed was
-- never stored, which clients can distinguish.
-- sku_folded is not unique: a new SKU, without blanks around it, must differ from the
-- others as they are stored, which no index can check. The store checks it within the
-- transaction.
CREATE TABLE product (
    entity_id INTEGER PRIMARY KEY AUTOINCREMENT,
    attribute_set_id INTEGER NOT NULL,
    type_id TEXT NOT NULL,
    type_id_folded TEXT,
    sku TEXT NOT NULL,
    sku_folded TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    name TEXT,
    name_folded TEXT,
    url_key TEXT,
    url_key_folded TEXT,
    meta_title TEXT,
    meta_title_folded TEXT,
    meta_description TEXT,
    meta_description_folded TEXT,
    custom_design TEXT,
    custom_design_folded TEXT,
    page_layout TEXT,
    page_layout_folded TEXT,
    options_container TEXT,
    options_container_folded TEXT,
    country_of_manufacture TEXT,
    country_of_manufacture_folded TEXT,
    msrp_enabled TEXT,
    msrp_enabled_folded TEXT,
    msrp_display_actual_price_type TEXT,
    msrp_display_actual_price_type_folded TEXT,
    gift_message_available TEXT,
    gift_message_available_folded TEXT,
    description TEXT,
    description_folded TEXT,
    short_description TEXT,
    short_description_folded TEXT,
    meta_keyword TEXT,
    meta_keyword_folded TEXT,
    custom_layout_update TEXT,
    custom_layout_update_folded TEXT,
    price DECIMAL(12,4),
    weight DECIMAL(12,4),
    special_price DECIMAL(12,4),
    msrp DECIMAL(12,4),
    cost DECIMAL(12,4),
    news_from_date TEXT,
    news_to_date TEXT,
    special_from_date TEXT,
    special_to_date TEXT,
    custom_design_from TEXT,
    custom_design_to TEXT,
    status INTEGER,
    visibility INTEGER,
    tax_class_id INTEGER,
    manufacturer INTEGER,
    color INTEGER,
    nulls TEXT NOT NULL DEFAULT ''
);
CREATE INDEX product_sku_folded ON product (sku_folded);
CREATE INDEX product_name_folded ON product (name_folded);
CREATE INDEX product_created_at ON product (created_at);
CREATE INDEX product_updated_at ON product (updated_at);
CREATE INDEX product_price ON product (price);
CREATE INDEX product_status ON product (status);

-- Values of store views. A value of website scope is stored for each of its store
-- views. Without a row the store view shows the default scope; value NULL is a stored
-- null.
CREATE TABLE product_value (
    product_id INTEGER NOT NULL REFERENCES product(entity_id) ON DELETE CASCADE,
    store_id INTEGER NOT NULL REFERENCES store(store_id) ON DELETE CASCADE,
    attribute TEXT NOT NULL,
    value TEXT,
    value_folded TEXT,
    PRIMARY KEY (product_id, store_id, attribute)
);
CREATE INDEX product_value_attribute ON product_value (attribute, store_id, value_folded);

CREATE TABLE product_group_price (
    value_id INTEGER PRIMARY KEY AUTOINCREMENT,
    product_id INTEGER NOT NULL REFERENCES product(entity_id) ON DELETE CASCADE,
    website_id INTEGER NOT NULL,
    cust_group INTEGER NOT NULL,
    price DECIMAL(12,4) NOT NULL,
    UNIQUE (product_id, website_id, cust_group)
);

CREATE TABLE product_tier_price (
    value_id INTEGER PRIMARY KEY AUTOINCREMENT,
    product_id INTEGER NOT NULL REFERENCES product(entity_id) ON DELETE CASCADE,
    website_id INTEGER NOT NULL,
    cust_group INTEGER NOT NULL,
    price DECIMAL(12,4) NOT NULL,
    price_qty DECIMAL(12,4) NOT NULL,
    UNIQUE (product_id, website_id, cust_group, price_qty)
);

CREATE TABLE product_website (
    assignment_id INTEGER PRIMARY KEY AUTOINCREMENT,
    product_id INTEGER NOT NULL REFERENCES product(entity_id) ON DELETE CASCADE,
    website_id INTEGER NOT NULL REFERENCES website(website_id) ON DELETE CASCADE,
    UNIQUE (product_id, website_id)
);
CREATE INDEX product_website_website_id ON product_website (website_id);

CREATE TABLE product_category (
    assignment_id INTEGER PRIMARY KEY AUTOINCREMENT,
    product_id INTEGER NOT NULL REFERENCES product(entity_id) ON DELETE CASCADE,
    category_id INTEGER NOT NULL REFERENCES category(category_id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    UNIQUE (product_id, category_id)
);
CREATE INDEX product_category_category_id ON product_category (category_id);

-- The gallery. product_image_value holds the values by level (0 is the default scope),
-- product_image_pointer the image to which each type points.
CREATE TABLE product_image (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    product_id INTEGER NOT NULL REFERENCES product(entity_id) ON DELETE CASCADE,
    file TEXT NOT NULL,
    media_type TEXT NOT NULL
);
CREATE INDEX product_image_product_id ON product_image (product_id);

CREATE TABLE product_image_value (
    image_id INTEGER NOT NULL REFERENCES product_image(id) ON DELETE CASCADE,
    store_id INTEGER NOT NULL,
    label TEXT,
    position INTEGER,
    exclude INTEGER,
    PRIMARY KEY (image_id, store_id)
);

-- type is image, small_image or thumbnail. Without a row the level shows level 0;
-- image_id NULL points to no image and hides level 0.
CREATE TABLE product_image_pointer (
    product_id INTEGER NOT NULL REFERENCES product(entity_id) ON DELETE CASCADE,
    store_id INTEGER NOT NULL,
    type TEXT NOT NULL,
    image_id INTEGER REFERENCES product_image(id) ON DELETE SET NULL,
    PRIMARY KEY (product_id, store_id, type)
);
CREATE INDEX product_image_pointer_image_id ON product_image_pointer (image_id);

CREATE TABLE stock_item (
    item_id INTEGER PRIMARY KEY AUTOINCREMENT,
    product_id INTEGER NOT NULL UNIQUE REFERENCES product(entity_id) ON DELETE CASCADE,
    stock_id INTEGER NOT NULL,
    qty DECIMAL(12,4) NOT NULL,
    min_qty DECIMAL(12,4) NOT NULL,
    use_config_min_qty INTEGER NOT NULL,
    is_qty_decimal INTEGER NOT NULL,
    backorders INTEGER NOT NULL,
    use_config_backorders INTEGER NOT NULL,
    min_sale_qty DECIMAL(12,4) NOT NULL,
    use_config_min_sale_qty INTEGER NOT NULL,
    max_sale_qty DECIMAL(12,4) NOT NULL,
    use_config_max_sale_qty INTEGER NOT NULL,
    is_in_stock INTEGER NOT NULL,
    low_stock_date TEXT,
    notify_stock_qty DECIMAL(12,4),
    use_config_notify_stock_qty INTEGER NOT NULL,
    manage_stock INTEGER NOT NULL,
    use_config_manage_stock INTEGER NOT NULL,
    stock_status_changed_auto INTEGER NOT NULL,
    use_config_qty_increments INTEGER NOT NULL,
    qty_increments DECIMAL(12,4) NOT NULL,
    use_config_enable_qty_inc INTEGER NOT NULL,
    enable_qty_increments INTEGER NOT NULL,
    is_decimal_divided INTEGER NOT NULL
);

-- Orders remain when their customer is deleted.
CREATE TABLE sales_order (
    entity_id INTEGER PRIMARY KEY AUTOINCREMENT,
    increment_id TEXT,
    increment_id_folded TEXT,
    customer_id INTEGER REFERENCES customer(entity_id) ON DELETE SET NULL,
    store_id INTEGER NOT NULL,
    state TEXT,
    state_folded TEXT,
    status TEXT,
    status_folded TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    coupon_code TEXT,
    coupon_code_folded TEXT,
    shipping_description TEXT,
    shipping_description_folded TEXT,
    discount_description TEXT,
    discount_description_folded TEXT,
    remote_ip TEXT,
    remote_ip_folded TEXT,
    base_currency_code TEXT,
    base_currency_code_folded TEXT,
    store_currency_code TEXT,
    store_currency_code_folded TEXT,
    order_currency_code TEXT,
    order_currency_code_folded TEXT,
    store_name TEXT,
    store_name_folded TEXT,
    store_to_order_rate DECIMAL(12,4),
    payment_method TEXT,
    payment_method_folded TEXT,
    gift_message_from TEXT,
    gift_message_from_folded TEXT,
    gift_message_to TEXT,
    gift_message_to_folded TEXT,
    gift_message_body TEXT,
    gift_message_body_folded TEXT,
    tax_name TEXT,
    tax_name_folded TEXT,
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
    base_total_due DECIMAL(12,4)
);
CREATE INDEX sales_order_customer_id ON sales_order (customer_id);
CREATE INDEX sales_order_increment_id_folded ON sales_order (increment_id_folded);
CREATE INDEX sales_order_status_folded ON sales_order (status_folded);
CREATE INDEX sales_order_created_at ON sales_order (created_at);

-- Order items remain when their product is deleted, so product_id is not a foreign
-- key.
CREATE TABLE order_item (
    item_id INTEGER PRIMARY KEY AUTOINCREMENT,
    order_id INTEGER NOT NULL REFERENCES sales_order(entity_id) ON DELETE CASCADE,
    parent_item_id INTEGER,
    product_id INTEGER,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    sku TEXT,
    sku_folded TEXT,
    name TEXT,
    name_folded TEXT,
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
    base_row_total_incl_tax DECIMAL(12,4)
);
CREATE INDEX order_item_order_id ON order_item (order_id);

CREATE TABLE order_address (
    entity_id INTEGER PRIMARY KEY AUTOINCREMENT,
    parent_id INTEGER NOT NULL REFERENCES sales_order(entity_id) ON DELETE CASCADE,
    address_type TEXT NOT NULL,
    address_type_folded TEXT,
    region TEXT,
    region_folded TEXT,
    postcode TEXT,
    postcode_folded TEXT,
    lastname TEXT,
    lastname_folded TEXT,
    street TEXT,
    street_folded TEXT,
    city TEXT,
    city_folded TEXT,
    email TEXT,
    email_folded TEXT,
    telephone TEXT,
    telephone_folded TEXT,
    country_id TEXT,
    country_id_folded TEXT,
    firstname TEXT,
    firstname_folded TEXT,
    prefix TEXT,
    prefix_folded TEXT,
    middlename TEXT,
    middlename_folded TEXT,
    suffix TEXT,
    suffix_folded TEXT,
    company TEXT,
    company_folded TEXT
);
CREATE INDEX order_address_parent_id ON order_address (parent_id);

CREATE TABLE order_comment (
    entity_id INTEGER PRIMARY KEY AUTOINCREMENT,
    parent_id INTEGER NOT NULL REFERENCES sales_order(entity_id) ON DELETE CASCADE,
    created_at TEXT NOT NULL,
    comment TEXT,
    comment_folded TEXT,
    is_customer_notified INTEGER NOT NULL,
    is_visible_on_front INTEGER NOT NULL,
    status TEXT,
    status_folded TEXT
);
CREATE INDEX order_comment_parent_id ON order_comment (parent_id);

-- Keys and tokens are found regardless of letter case, so their lower-case form must
-- be unique. Secrets are encrypted under the configured key ("v1:…"), or plain without
-- one.
CREATE TABLE oauth_consumer (
    consumer_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    consumer_key TEXT NOT NULL,
    consumer_key_lower TEXT NOT NULL UNIQUE,
    secret TEXT NOT NULL,
    created_at TEXT NOT NULL
);

-- admin_id is not a foreign key, as an administrator may exist in the backend only.
CREATE TABLE oauth_token (
    token_id INTEGER PRIMARY KEY AUTOINCREMENT,
    consumer_id INTEGER NOT NULL REFERENCES oauth_consumer(consumer_id) ON DELETE CASCADE,
    type TEXT NOT NULL,
    token TEXT NOT NULL,
    token_lower TEXT NOT NULL UNIQUE,
    secret TEXT NOT NULL,
    verifier TEXT,
    admin_id INTEGER,
    customer_id INTEGER REFERENCES customer(entity_id) ON DELETE CASCADE,
    revoked INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL
);
CREATE INDEX oauth_token_consumer_id ON oauth_token (consumer_id);
CREATE INDEX oauth_token_customer_id ON oauth_token (customer_id);

-- nonce_id increases with the time of receipt, so that it finds the oldest nonces.
-- timestamp is the client's time, received_at the server's, both in Unix seconds.
CREATE TABLE oauth_nonce (
    nonce_id INTEGER PRIMARY KEY AUTOINCREMENT,
    nonce TEXT NOT NULL UNIQUE,
    timestamp INTEGER NOT NULL,
    received_at INTEGER NOT NULL
);
CREATE INDEX oauth_nonce_received_at ON oauth_nonce (received_at);
