-- What an origin answers with 400 and more is a success of the job, and what operators look for all the same.
CREATE INDEX results_http_errors ON results (tenant_id, job_id) INCLUDE (status) WHERE status >= 400;

COMMENT ON INDEX results_http_errors IS 'jobs.list by status, jobs.overviewOfAnswers';
