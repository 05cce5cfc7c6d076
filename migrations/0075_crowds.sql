-- Hosts for which more jobs wait than their origins answer: how many run at once, on all nodes, and since when.

ALTER TABLE lanes
    ADD COLUMN crowd integer CHECK (crowd > 0),
    ADD COLUMN crowded_at timestamptz,
    ADD CONSTRAINT lanes_crowds_have_a_time CHECK ((crowd IS NULL) = (crowded_at IS NULL));
