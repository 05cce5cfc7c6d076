-- Keys that speak for the operator besides their tenant.

ALTER TABLE api_keys ADD COLUMN is_admin boolean NOT NULL DEFAULT false;
