-- An answer that was on its way while its cache was purged is not stored.

-- When answers of the session were last purged; null when they never were.
ALTER TABLE session_stores ADD COLUMN cache_purged_at timestamptz;
