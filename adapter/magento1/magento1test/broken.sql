-- The rows of a small shop in which much is broken. {p} is the table prefix. Strict mode is
-- off, as these shops have it: there are dates of zeros.

INSERT INTO {p}eav_entity_type (entity_type_id, entity_type_code) VALUES (1, 'customer'), (2, 'customer_address'), (4, 'catalog_product');
INSERT INTO {p}eav_attribute (attribute_id, entity_type_id, attribute_code, backend_type) VALUES
    (1, 1, 'website_id', 'static'), (2, 1, 'store_id', 'static'), (3, 1, 'created_in', 'varchar'), (4, 1, 'prefix', 'varchar'),
    (5, 1, 'firstname', 'varchar'), (6, 1, 'middlename', 'varchar'), (7, 1, 'lastname', 'varchar'), (8, 1, 'suffix', 'varchar'),
    (9, 1, 'email', 'static'), (10, 1, 'group_id', 'static'), (11, 1, 'dob', 'datetime'), (12, 1, 'password_hash', 'varchar'),
    (13, 1, 'default_billing', 'int'), (14, 1, 'default_shipping', 'int'), (15, 1, 'taxvat', 'varchar'), (16, 1, 'confirmation', 'varchar'),
    (17, 1, 'created_at', 'static'), (18, 1, 'gender', 'int'), (19, 2, 'prefix', 'varchar'), (20, 2, 'firstname', 'varchar'),
    (21, 2, 'middlename', 'varchar'), (22, 2, 'lastname', 'varchar'), (23, 2, 'suffix', 'varchar'), (24, 2, 'company', 'varchar'),
    (25, 2, 'street', 'text'), (26, 2, 'city', 'varchar'), (27, 2, 'country_id', 'varchar'), (28, 2, 'region', 'varchar'),
    (29, 2, 'region_id', 'int'), (30, 2, 'postcode', 'varchar'), (31, 2, 'telephone', 'varchar'), (32, 2, 'fax', 'varchar'),
    (36, 2, 'vat_id', 'varchar'), (71, 4, 'firstname', 'varchar'), (150, 1, 'loyalty_number', 'varchar'), (151, 1, 'points', 'decimal');
INSERT INTO {p}eav_attribute_option VALUES (124, 18, 20), (123, 18, 10), (7, 71, 0);

-- 1 has everything, 2 little, 3 is of before there were dates, 5 has no e-mail address,
-- 6 has the address of 1 on another website.
INSERT INTO {p}customer_entity (entity_id, entity_type_id, website_id, email, group_id, store_id, created_at, updated_at, disable_auto_group_change) VALUES
    (1, 1, 1, 'ada@example.com', 1, 1, '2012-01-02 03:04:05', '2012-01-05 00:00:00', 1),
    (2, 1, 1, 'łukasz@example.com', 2, 2, '2012-02-02 03:04:05', '2012-02-05 00:00:00', 0),
    (3, 1, NULL, 'eve@example.com', 1, NULL, '0000-00-00 00:00:00', '0000-00-00 00:00:00', 0),
    (5, 1, 1, NULL, 1, 1, '2012-01-02 03:04:05', '2012-01-05 00:00:00', 0),
    (6, 1, 2, 'ada@example.com', 1, 3, '2012-01-02 03:04:05', '2012-01-05 00:00:00', 0);
INSERT INTO {p}customer_entity_varchar (entity_type_id, attribute_id, entity_id, value) VALUES
    (1, 3, 1, 'English'), (1, 4, 1, 'Ms.'), (1, 5, 1, 'Ada'), (1, 6, 1, 'K'), (1, 7, 1, 'Byron'), (1, 8, 1, NULL), (1, 15, 1, 'GB123'),
    (1, 16, 1, '0123456789abcdef0123456789abcdef'), (1, 150, 1, 'L-77'),
    (1, 12, 1, 'c895aee09110d7f48c106ff77d8709ef:at'),
    (1, 5, 2, 'Łukasz 漢字'), (1, 7, 2, 'O''Żak'), (1, 8, 2, ''),
    (1, 12, 2, '731c43d58ae3da6b1d1540b9da227fa3aec66b8b574ab1a1495ed03df4bf22b1:Qx9LbnTz0pC4vR7sYwE2uK8mAaDfGhJk'),
    (1, 12, 3, '$2y$04$wQm0xO8XfjtikjsVG.ySQ.C6duXVi/mYfCl3S6Kfno7PiZnNbsIVO'),
    (1, 71, 1, 'the first name of a product'), (1, 5, 4, 'of nobody');
INSERT INTO {p}customer_entity_int (entity_type_id, attribute_id, entity_id, value) VALUES
    (1, 18, 1, 124), (1, 13, 1, 1), (1, 14, 1, 2), (1, 18, 2, 123), (1, 13, 2, 99), (1, 13, 3, 1);
INSERT INTO {p}customer_entity_decimal (entity_type_id, attribute_id, entity_id, value) VALUES (1, 151, 1, 12.5);
INSERT INTO {p}customer_entity_datetime (entity_type_id, attribute_id, entity_id, value) VALUES (1, 11, 1, '1985-12-10 00:00:00'), (1, 11, 2, '0000-00-00 00:00:00');
INSERT INTO {p}log_customer (customer_id, login_at, store_id) VALUES (1, '2012-02-01 00:00:00', 1), (1, '2012-02-03 04:05:06', 1), (2, '0000-00-00 00:00:00', 1), (98, '2012-02-03 04:05:06', 1);

INSERT INTO {p}customer_address_entity (entity_id, entity_type_id, parent_id, created_at, updated_at) VALUES
    (1, 2, 1, '2012-01-02 03:04:05', '2012-01-02 03:04:06'), (2, 2, 1, '2012-01-02 03:04:05', '2012-01-02 03:04:06'),
    (3, 2, 2, '0000-00-00 00:00:00', '0000-00-00 00:00:00'), (4, 2, 98, '2012-01-02 03:04:05', '2012-01-02 03:04:06'), (5, 2, NULL, '2012-01-02 03:04:05', '2012-01-02 03:04:06');
INSERT INTO {p}customer_address_entity_varchar (entity_type_id, attribute_id, entity_id, value) VALUES
    (2, 20, 1, 'Ada'), (2, 22, 1, 'Byron'), (2, 24, 1, 'Analytical & Co'), (2, 26, 1, 'San Francisco'), (2, 27, 1, 'US'), (2, 28, 1, 'California'),
    (2, 30, 1, '94105'), (2, 31, 1, '415-555-0100'), (2, 20, 2, 'Ada'), (2, 22, 2, 'Byron'), (2, 26, 2, 'London'), (2, 27, 2, 'GB'), (2, 32, 2, '020-555-0199'), (2, 36, 2, 'GB999');
INSERT INTO {p}customer_address_entity_int (entity_type_id, attribute_id, entity_id, value) VALUES (2, 29, 1, 12);
INSERT INTO {p}customer_address_entity_text (entity_type_id, attribute_id, entity_id, value) VALUES (2, 25, 1, '1 Engine Way'), (2, 25, 2, '12 St James Sq\r\nFloor 2');

-- 1 has everything, 2 is a guest's, 3 is of a customer who is gone, 4 has no dates but
-- one, 5 is of a customer without an e-mail address.
INSERT INTO {p}sales_flat_order (entity_id, state, status, coupon_code, shipping_description, store_id, customer_id, base_grand_total, grand_total,
    subtotal, store_to_order_rate, total_paid, increment_id, base_currency_code, remote_ip, store_name, created_at, updated_at, gift_message_id) VALUES
    (1, 'processing', 'processing', 'WINTER', 'Flat Rate - Fixed', 1, 1, 106.5683, 106.5683, 89.97, 1, 106.5683, '100000001', 'USD', '203.0.113.1', 'Main Website\nMain Website Store\nEnglish',
        '2012-03-01 10:00:00', '2012-03-01 11:00:00', 5),
    (2, 'new', 'pending', NULL, NULL, NULL, NULL, 9.99, 9.99, 9.99, NULL, NULL, '100000002', 'USD', NULL, NULL, '2012-03-02 10:00:00', '2012-03-02 11:00:00', NULL),
    (3, 'complete', 'complete', NULL, NULL, 1, 999, 5, 5, 5, 1, 5, '100000003', 'USD', NULL, NULL, '2012-03-03 10:00:00', '2012-03-03 11:00:00', NULL),
    (4, 'complete', 'complete', NULL, NULL, 1, 2, 5, 5, 5, 1, 5, '100000004', 'USD', NULL, NULL, NULL, '2012-03-04 11:00:00', NULL),
    (5, 'complete', 'complete', NULL, NULL, 1, 5, 5, 5, 5, 1, 5, '100000005', 'USD', NULL, NULL, '2012-03-05 10:00:00', '2012-03-05 11:00:00', NULL);
INSERT INTO {p}sales_flat_order_item (item_id, order_id, parent_item_id, created_at, updated_at, product_id, sku, name, qty_ordered, price, base_price, tax_percent, row_total) VALUES
    (1, 1, NULL, '2012-03-01 10:00:00', '2012-03-01 11:00:00', 1, 'kettle-steel', 'Steel Kettle', 2, 39.99, 39.99, 8.25, 79.98),
    (2, 1, 1, '2012-03-01 10:00:00', '2012-03-01 11:00:00', NULL, 'lid', 'Lid, 漢字', 2, 0, 0, 0, 0),
    (3, 2, NULL, '0000-00-00 00:00:00', '0000-00-00 00:00:00', 9, 'mug-free-tax', 'Untaxed Mug', 1, 9.99, 9.99, 0, 9.99),
    (4, 77, NULL, '2012-03-01 10:00:00', '2012-03-01 11:00:00', 9, 'lost', 'Of no order', 1, 9.99, 9.99, 0, 9.99);
INSERT INTO {p}sales_flat_order_address (entity_id, parent_id, region_id, customer_id, fax, region, postcode, lastname, street, city, email, country_id, firstname, address_type) VALUES
    (1, 1, 12, 1, NULL, 'California', '94105', 'Byron', '1 Engine Way\nFloor 2', 'San Francisco', 'ada@example.com', 'US', 'Ada', 'billing'),
    (2, 1, 12, 1, NULL, 'California', '94105', 'Byron', '1 Engine Way', 'San Francisco', 'ada@example.com', 'US', 'Ada', 'shipping'),
    (3, 2, NULL, NULL, NULL, NULL, NULL, 'Guest', NULL, NULL, 'guest@example.com', 'GB', NULL, 'billing');
INSERT INTO {p}sales_flat_order_status_history (entity_id, parent_id, is_customer_notified, is_visible_on_front, comment, status, created_at, entity_name) VALUES
    (1, 1, 1, 1, 'Thank you', 'pending', '2012-03-01 10:00:00', 'order'), (2, 1, 0, 0, NULL, 'processing', '2012-03-01 11:00:00', 'invoice'), (3, 2, NULL, 0, NULL, NULL, NULL, NULL);
INSERT INTO {p}sales_flat_order_payment (entity_id, parent_id, method) VALUES (1, 1, 'checkmo'), (2, 1, 'free'), (3, 2, NULL);
INSERT INTO {p}sales_order_tax (tax_id, order_id, code, title, percent, amount, position) VALUES (1, 1, 'US-CA-*-Rate 1', 'US-CA', 8.25, 6.5983, 1), (2, 1, 'city', 'City', 1, 0.5, 2);
INSERT INTO {p}gift_message VALUES (5, 1, 'Ada', 'Ben', 'Enjoy it'), (6, 1, 'of', 'no', 'order');

INSERT INTO {p}admin_user (user_id, username, password, is_active) VALUES
    (4, 'admin', 'c895aee09110d7f48c106ff77d8709ef:at', 1),
    (5, 'erp', '731c43d58ae3da6b1d1540b9da227fa3aec66b8b574ab1a1495ed03df4bf22b1:Qx9LbnTz0pC4vR7sYwE2uK8mAaDfGhJk', 1),
    (6, 'left', '$2y$04$wQm0xO8XfjtikjsVG.ySQ.C6duXVi/mYfCl3S6Kfno7PiZnNbsIVO', 0);
INSERT INTO {p}api2_acl_role (entity_id, role_name) VALUES (1, 'Guest'), (2, 'Customer'), (3, 'Admins');
INSERT INTO {p}api2_acl_rule (role_id, resource_id, privilege) VALUES (1, 'all', NULL), (2, 'all', NULL), (3, 'all', NULL);
INSERT INTO {p}api2_acl_user (admin_id, role_id) VALUES (4, 3), (5, 3);
INSERT INTO {p}api2_acl_attribute (user_type, resource_id, operation) VALUES ('guest', 'all', ''), ('customer', 'all', ''), ('admin', 'all', '');
INSERT INTO {p}oauth_consumer (entity_id, created_at, name, `key`, secret, callback_url, rejected_callback_url) VALUES
    (3, '2012-01-01 00:00:00', 'ERP', 'erpkeyerpkeyerpkeyerpkeyerpkey32', 'erpsecreterpsecreterpsecreterp32', 'https://erp.example/back', 'https://erp.example/no'),
    (4, '2012-01-01 00:00:00', 'Lager 漢字', 'whskeywhskeywhskeywhskeywhskey32', 'whssecretwhssecretwhssecretwhs32', NULL, ''),
    (9, '2012-01-01 00:00:00', 'Broken', 'tooshort', 'brksecretbrksecretbrksecretbrk32', NULL, '');
INSERT INTO {p}oauth_token (entity_id, consumer_id, admin_id, customer_id, type, token, secret, verifier, callback_url, revoked, authorized, created_at) VALUES
    (1, 3, 4, NULL, 'access', 'tokenofadmin0000000000000000adm4', 'tokensecretofadmin000000000adm04', 'verifierverifierverifierverifi32', 'oob', 0, 1, '2012-01-03 00:00:00'),
    (2, 3, 5, NULL, 'access', 'tokenofadmin0000000000000000adm5', 'tokensecretofadmin000000000adm05', 'verifierverifierverifierverifi32', 'oob', 0, 1, '2012-01-03 00:00:00'),
    (3, 3, 6, NULL, 'access', 'tokenofadmin0000000000000000adm6', 'tokensecretofadmin000000000adm06', NULL, 'oob', 0, 1, '2012-01-03 00:00:00'),
    (4, 4, NULL, 1, 'access', 'tokenofcustomer000000000000cust1', 'tokensecretofcustomer00000cust01', NULL, 'oob', 0, 1, '2012-01-03 00:00:00'),
    (5, 4, NULL, 2, 'access', 'tokenofcustomer000000000000cust2', 'tokensecretofcustomer00000cust02', NULL, 'oob', 1, 1, '0000-00-00 00:00:00'),
    (6, 4, NULL, 999, 'access', 'tokenofcustomer0000000000cust999', 'tokensecretofcustomer000cust0999', NULL, 'oob', 0, 1, '2012-01-03 00:00:00'),
    (7, 4, NULL, NULL, 'request', 'requesttoken00000000000000000032', 'requesttokensecret00000000000032', NULL, 'oob', 0, 0, '2012-01-03 00:00:00'),
    (8, 4, NULL, NULL, 'access', 'tokenofnobody0000000000000000032', 'tokensecretofnobody0000000000032', NULL, 'oob', 0, 1, '2012-01-03 00:00:00'),
    (9, 9, NULL, 1, 'access', 'tokenofbroken0000000000000000032', 'tokensecretofbroken0000000000032', NULL, 'oob', 0, 1, '2012-01-03 00:00:00'),
    (10, 4, NULL, 1, 'access', 'short', 'shorttokensecret0000000000000032', NULL, 'oob', 0, 1, '2012-01-03 00:00:00'),
    (11, 3, 99, NULL, 'access', 'tokenofadmin000000000000000adm99', 'tokensecretofadmin00000000adm099', NULL, 'oob', 0, 1, '2012-01-03 00:00:00'),
    (12, 3, 4, NULL, 'access', 'tokenunauthorized000000000000a04', 'tokensecretunauthorized00000ad04', NULL, 'oob', 0, 0, '2012-01-03 00:00:00');
