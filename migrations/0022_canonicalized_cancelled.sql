-- Jobs tell of URLs that were put into another form, and of challenges that were cancelled.

CREATE OR REPLACE FUNCTION webhook_events() RETURNS text[]
LANGUAGE sql IMMUTABLE
AS $$
    SELECT ARRAY[
        'job.started', 'job.canonicalized', 'job.redirected', 'job.challenged', 'job.challengeCancelled',
        'job.informational', 'job.response', 'job.becameDownload', 'job.resumedAtOffset', 'job.bodyWanted',
        'job.question', 'job.destinationCreated', 'job.progress', 'job.finished', 'session.eventsFinished',
        'session.invalidated', 'group.finished', 'cookies.changed', 'credentials.changed', 'endpoint.disabled'
    ]
$$;
