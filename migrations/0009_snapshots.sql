-- Snapshots of the stores of sessions.
--
-- Taking one freezes the layers that a session has and puts an empty one on top for what comes; a session made from it
-- lies on the same frozen layers. Neither copies anything.

CREATE TABLE session_snapshots (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    -- The SessionSpec of the session, for those that are made from the snapshot.
    spec json NOT NULL,
    -- The one on top first.
    layer_ids uuid[] NOT NULL,
    cookie_accept_policy text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id)
);
