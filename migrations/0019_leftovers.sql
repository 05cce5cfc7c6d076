-- What has outlived its use is found without looking at the rest.

CREATE INDEX cookies_expires_at ON cookies (expires_at) WHERE expires_at IS NOT NULL;
COMMENT ON INDEX cookies_expires_at IS 'leftovers.cookies, for all tenants';
