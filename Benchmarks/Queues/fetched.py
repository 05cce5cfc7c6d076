"""What the drivers of queues over PostgreSQL have in common: where results go, and what is reported of them."""
import resource
import statistics

BATCH = 100
TABLE = """CREATE TABLE fetched (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, submitted float8, stored timestamptz DEFAULT clock_timestamp(),
    status int, headers text, body bytea)"""
COUNT = "SELECT count(*) FROM fetched"
END = "SELECT extract(epoch FROM max(stored))::float8 FROM fetched"
WAITS = "SELECT extract(epoch FROM stored)::float8 - submitted FROM fetched WHERE submitted IS NOT NULL"


def cpu():
    """Processor seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def report(jobs, seconds, used, waits):
    """Prints the figures; waits are the rows of WAITS."""
    waits = sorted(row[0] * 1000 for row in waits)
    print(f"rate={jobs / seconds:.0f} cpu_us={used / jobs * 1e6:.0f} p50_ms={statistics.median(waits):.2f} "
          f"p99_ms={waits[int(len(waits) * 0.99)]:.2f}")
