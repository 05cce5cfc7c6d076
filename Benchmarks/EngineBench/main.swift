import EventLoop
import FetchEngine
import Glibc

/// Measures the engine against an origin; each command prints one line of key=value.
///
///     engine-bench fetch URL TOTAL CONCURRENCY      a body into memory, TOTAL times
///     engine-bench idle URL COUNT SECONDS           COUNT slow bodies held open at once
///     engine-bench download URL FILE                one body into a file; - only counts it
///     engine-bench upload URL FILE                  one file, or a number of mebibytes made while they are sent
///     engine-bench cached URL TOTAL                 one body TOTAL times from the cache in memory
///     engine-bench rules COUNT TOTAL                a redirect decided by the last of COUNT rules, TOTAL times
///     engine-bench submit TOTAL plain|client        TOTAL jobs to the service of FETCHD_URL, by the engine or FetchdClient
///
/// PEER_CA names a certificate authority to trust, PEER_HTTP1=1 keeps to HTTP/1.1, ENGINE_BENCH_ON_LOOP=1 runs the
/// calling tasks on the transfers' loop, as the worker does, and ENGINE_BENCH_LOOPS=N fetches through N sessions, each
/// with a loop of its own.
let arguments = Array(CommandLine.arguments.dropFirst())
let usage = """
    usage: engine-bench fetch URL TOTAL CONCURRENCY | idle URL COUNT SECONDS | download URL FILE
                        | upload URL FILE | cached URL TOTAL | rules COUNT TOTAL | submit TOTAL plain|client
    """

FreedPages.keep()

do {
    switch arguments.first {
    case "fetch" where arguments.count == 4:
        try await fetch(arguments[1], total: number(arguments[2]), concurrency: number(arguments[3]))
    case "idle" where arguments.count == 4:
        try await idle(arguments[1], count: number(arguments[2]), seconds: number(arguments[3]))
    case "download" where arguments.count == 3:
        try await download(arguments[1], to: arguments[2])
    case "upload" where arguments.count == 3:
        try await upload(arguments[1], from: arguments[2])
    case "cached" where arguments.count == 3:
        try await cached(arguments[1], total: number(arguments[2]))
    case "rules" where arguments.count == 3:
        try await rules(number(arguments[1]), total: number(arguments[2]))
    case "submit" where arguments.count == 3 && ["plain", "client"].contains(arguments[2]):
        try await submit(number(arguments[1]), byClient: arguments[2] == "client")
    default:
        complain(usage)
        exit(2)
    }
} catch {
    complain("\(error)")
    exit(1)
}

func number(_ text: String) throws -> Int {
    guard let number = Int(text), number > 0 else { throw Usage() }
    return number
}

struct Usage: Error {}
