-- Jobs that may have taken their nodes down (REL-4, REL-5).

ALTER TABLE queue
    -- How many nodes were lost that had the job; from the third on only those that it ran on alone.
    ADD COLUMN crashes smallint NOT NULL DEFAULT 0,
    -- The claim under which it runs alone, as a suspect: the loss of its node is its fault then.
    ADD COLUMN trial_claim integer NOT NULL DEFAULT 0;
