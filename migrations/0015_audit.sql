-- Which stored credential was given to which job, and for what.
--
-- Not in the same place as credentials or jobs: it says what was done with them after they are gone.
CREATE TABLE credential_uses (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL DEFAULT uuidv7(),
    used_at timestamptz NOT NULL DEFAULT now(),
    credential_id uuid NOT NULL,
    -- Null for a job of an ephemeral session, of which nothing is stored.
    job_id uuid,
    -- The protection space, as the API writes it.
    space json NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE INDEX credential_uses_by_credential ON credential_uses (tenant_id, credential_id, id);
COMMENT ON INDEX credential_uses_by_credential IS 'credentialUses.list';
