-- Any change to a job that waits or runs is noted: who has the job as it was stored has to look again.

ALTER TABLE queue RENAME COLUMN pace_changed TO is_changed;
