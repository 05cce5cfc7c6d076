-- Jobs tell that they wait for a network.

CREATE OR REPLACE FUNCTION webhook_events() RETURNS text[]
LANGUAGE sql IMMUTABLE
AS $$
    SELECT ARRAY[
        'job.started', 'job.canonicalized', 'job.redirected', 'job.challenged', 'job.challengeCancelled',
        'job.informational', 'job.waitingForConnectivity', 'job.response', 'job.becameDownload',
        'job.resumedAtOffset', 'job.bodyWanted', 'job.question', 'job.destinationCreated', 'job.progress',
        'job.finished', 'session.eventsFinished', 'session.invalidated', 'group.finished', 'cookies.changed',
        'credentials.changed', 'endpoint.disabled'
    ]
$$;
