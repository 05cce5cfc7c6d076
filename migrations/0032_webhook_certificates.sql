ALTER TABLE webhook_endpoints
    -- The certificate that receivers are shown, with its key; null for none.
    ADD COLUMN sealed_identity bytea,
    -- Who is believed to vouch for receivers, as the API writes it; null for those that the system trusts.
    ADD COLUMN server_trust json;
