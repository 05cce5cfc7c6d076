-- Hosts that are parked, and lanes for which nothing is set any more, are found and forgotten.

CREATE INDEX lanes_parked ON lanes (parked_until) WHERE parked_until IS NOT NULL;
COMMENT ON INDEX lanes_parked IS 'leftovers.parkings; for all tenants, since they are forgotten by age';

CREATE INDEX lanes_removed ON lanes (removed_at) WHERE removed_at IS NOT NULL;
COMMENT ON INDEX lanes_removed IS 'leftovers.lanes; for all tenants, since they are forgotten by age';
