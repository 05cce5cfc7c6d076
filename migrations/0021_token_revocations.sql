-- JSON Web Tokens that operators have revoked before they expire.

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

SELECT fetchd.guard_table('token_revocations', '');
