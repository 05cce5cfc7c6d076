-- Sign-ins to the dashboard at an identity provider.

ALTER TABLE dashboard_sign_ins
    ADD COLUMN subject text,
    ADD CONSTRAINT dashboard_sign_ins_began_once CHECK (key_id IS NULL OR subject IS NULL);
COMMENT ON COLUMN dashboard_sign_ins.key_id IS
    'The API key that it began with, and ends with; null: it began with a link, or at an identity provider';
COMMENT ON COLUMN dashboard_sign_ins.subject IS
    'The issuer and the subject whom an identity provider has signed in; null: it began with a key or a link';
GRANT SELECT (subject) ON dashboard_sign_ins TO fetchd_reader;
