-- Sign-ins to the dashboard, which all nodes know, the links that open one each, and JSON Web Tokens that operators have
-- revoked before they expire.

CREATE TABLE dashboard_sign_ins (
    tenant_id bigint NOT NULL REFERENCES tenants (id),
    id uuid NOT NULL,
    key_id uuid,
    subject text,
    role text NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT dashboard_sign_ins_role CHECK (role IN ('viewer', 'operator', 'admin')),
    CONSTRAINT dashboard_sign_ins_began_once CHECK (key_id IS NULL OR subject IS NULL)
);
COMMENT ON TABLE dashboard_sign_ins IS
    'Who is signed in to the dashboard. A row is deleted at sign-out; without it, no cookie of the sign-in opens anything';
COMMENT ON COLUMN dashboard_sign_ins.key_id IS
    'The API key that it began with, and ends with; null: it began with a link, or at an identity provider';
COMMENT ON COLUMN dashboard_sign_ins.subject IS
    'The issuer and the subject whom an identity provider has signed in; null: it began with a key or a link';
COMMENT ON COLUMN dashboard_sign_ins.role IS 'What it may do';
COMMENT ON COLUMN dashboard_sign_ins.expires_at IS 'When it ends, however much it is used';

CREATE UNIQUE INDEX dashboard_sign_ins_id ON dashboard_sign_ins (id);
COMMENT ON INDEX dashboard_sign_ins_id IS 'signIns.find: a cookie names its sign-in, and by that its tenant';

CREATE INDEX dashboard_sign_ins_expires_at ON dashboard_sign_ins (expires_at);
COMMENT ON INDEX dashboard_sign_ins_expires_at IS 'expired.signIns';

CREATE TABLE dashboard_links (
    tenant_id bigint NOT NULL REFERENCES tenants (id),
    id uuid NOT NULL,
    secret_mac bytea NOT NULL,
    role text NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT dashboard_links_role CHECK (role IN ('viewer', 'operator', 'admin'))
);
COMMENT ON TABLE dashboard_links IS 'Links that sign in to the dashboard once: the first use deletes the row';
COMMENT ON COLUMN dashboard_links.secret_mac IS 'HMAC-SHA-256 of the secret; its key is in service_keys';
COMMENT ON COLUMN dashboard_links.role IS 'What the sign-in may do';
COMMENT ON COLUMN dashboard_links.expires_at IS 'When it opens nothing any more';

CREATE UNIQUE INDEX dashboard_links_id ON dashboard_links (id);
COMMENT ON INDEX dashboard_links_id IS 'signIns.redeem: a link names its row, and by that its tenant';

CREATE TABLE token_revocations (
    id uuid PRIMARY KEY,
    token text COLLATE "C" UNIQUE,
    subject text COLLATE "C" UNIQUE,
    revoked_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT token_revocations_of_one_kind CHECK ((token IS NULL) <> (subject IS NULL))
);
COMMENT ON TABLE token_revocations IS
    'JSON Web Tokens that are refused although they have not expired. Rows stay until an operator takes them back';
COMMENT ON COLUMN token_revocations.token IS 'The jti of the one token that is refused; null: those of a subject are';
COMMENT ON COLUMN token_revocations.subject IS 'The sub of the tokens that are refused; null: one token is';
COMMENT ON COLUMN token_revocations.revoked_at IS 'Tokens of the subject that were issued later are taken';
