import EventLoop
import FetchEngine
import Glibc
import HTTPTypes

/// Loads one URL many times, a fixed number at once, through as many sessions as there are loops.
func fetch(_ text: String, total: Int, concurrency: Int) async throws {
    let loops = (0..<min(setting("ENGINE_BENCH_LOOPS") ?? 1, concurrency)).map { index in
        TransferLoop(named: "transfers-\(index)")
    }
    let configuration = try benchmarkConfiguration((concurrency + loops.count - 1) / loops.count)
    let sessions = loops.map { Session(configuration: configuration, transferLoop: $0) }
    let isOnLoop = getenv("ENGINE_BENCH_ON_LOOP") != nil
    let request = Request(url: try URLRecord(text))
    let start = Usage.Figures.now
    let latencies = await withTaskGroup(of: [Double].self) { group in
        for index in 0..<concurrency {
            let share = total / concurrency + (index < total % concurrency ? 1 : 0)
            let (loop, session) = (loops[index % loops.count], sessions[index % loops.count])
            group.addTask {
                guard isOnLoop else { return await run(share, of: request, in: session) }
                return await loop.run { _ in await run(share, of: request, in: session) }
            }
        }
        return await group.reduce(into: []) { $0 += $1 }
    }
    let spent = Usage.Figures.now.since(start)
    let sorted = latencies.sorted()
    let (p50, p99) = sorted.isEmpty ? (0, 0) : (sorted[sorted.count / 2], sorted[sorted.count * 99 / 100])
    print(
        "engine fetch conc=\(concurrency) n=\(total) failed=\(total - sorted.count) rate=\(Int(Double(total) / spent.wall))",
        "cpu_us=\(rounded(spent.cpu / Double(total) * 1e6)) usr_us=\(rounded(spent.user / Double(total) * 1e6))",
        "p50_ms=\(rounded(p50 * 1e3, 1000)) p99_ms=\(rounded(p99 * 1e3, 1000)) hwm_kb=\(status("VmHWM"))")
}

private nonisolated(nonsending) func run(
    _ count: Int, of request: Request, in session: Session
) async -> [Double] {
    var latencies: [Double] = []
    latencies.reserveCapacity(count)
    for _ in 0..<count {
        let start = MonotonicTime.now
        let task = session.dataTask(with: request)
        guard let response = try? await task.response(bufferingUpTo: 65536), response.status.code == 200,
            task.completeBody != nil
        else { continue }
        latencies.append(Double(MonotonicTime.now.nanoseconds(since: start)) / 1e9)
    }
    return latencies
}

/// Holds many transfers open, taking what little they send, and tells what each costs.
func idle(_ text: String, count: Int, seconds: Int) async throws {
    let session = Session(configuration: try benchmarkConfiguration(count))
    let request = Request(url: try URLRecord(text))
    let before = status("VmRSS")
    let start = Usage.Figures.now
    await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<count {
            group.addTask {
                do {
                    for try await _ in try await started(request, in: session).body {}
                    return true
                } catch {
                    return false
                }
            }
        }
        // The first half is for starting.
        try? await Task.sleep(for: .milliseconds(seconds * 500))
        let half = Usage.Figures.now
        try? await Task.sleep(for: .milliseconds(seconds * 500))
        let held = Usage.Figures.now.since(half)
        let after = status("VmRSS")
        print(
            "engine idle conc=\(count) rss0_kb=\(before) rss_kb=\(after)",
            "per_transfer_kb=\(rounded(Double(after - before) / Double(count), 100)) threads=\(status("Threads"))",
            "start_cpu_us=\(rounded(half.since(start).cpu / Double(count) * 1e6))",
            "hold_cpu_pct=\(rounded(held.cpu / held.wall * 100, 100))")
        group.cancelAll()
        let finished = await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        if finished > 0 { complain("\(finished) transfers had ended early") }
    }
}

private func started(_ request: Request, in session: Session) async throws(LoadError) -> DataTask {
    let task = session.dataTask(with: request)
    _ = try await task.response()
    return task
}

/// Loads one body into a file, or into nothing.
func download(_ text: String, to path: String) async throws {
    let loop = TransferLoop()
    let session = Session(configuration: try benchmarkConfiguration(1), transferLoop: loop)
    let request = Request(url: try URLRecord(text))
    let before = Usage.Figures.now
    let count =
        path == "-"
        ? try await counted(request, in: session, on: loop)
        : try await session.download(
            for: request, options: DownloadOptions(destination: .init(path: path, allowOverwrite: true))
        ).byteCount
    reportBulk("download", bytes: Int(count), since: before)
}

private func counted(_ request: Request, in session: Session, on loop: TransferLoop) async throws -> Int64 {
    guard getenv("ENGINE_BENCH_ON_LOOP") != nil else { return try await counted(session.dataTask(with: request)) }
    let count = await loop.run { _ in try? await counted(session.dataTask(with: request)) }
    guard let count else { throw Usage() }
    return count
}

private nonisolated(nonsending) func counted(_ task: DataTask) async throws -> Int64 {
    _ = try await task.response()
    var count: Int64 = 0
    for try await chunk in task.body { count += Int64(chunk.count) }
    return count
}

/// Sends one body: a file, or mebibytes made while they are sent.
func upload(_ text: String, from source: String) async throws {
    let session = Session(configuration: try benchmarkConfiguration(1))
    var request = Request(url: try URLRecord(text))
    request.method = .put
    let body = Int(source).map { RequestBody.stream(length: Int64($0) << 20, Megabytes(count: $0)) }
    let before = Usage.Figures.now
    let task = session.uploadTask(with: request, from: body ?? .file(path: source))
    let (_, response) = try await task.data()
    guard response.status.kind == .successful else { throw Usage() }
    reportBulk("upload", bytes: Int(task.countOfBytesSent), since: before)
}

/// A body of so many times the same mebibyte.
private struct Megabytes: BodyStreamProvider {
    let count: Int

    func makeStream() async -> BodyPipe? {
        let pipe = BodyPipe()
        let piece = [UInt8](repeating: 0x5A, count: 1 << 18)
        Task {
            do {
                for _ in 0..<(count * 4) { try await pipe.write(piece) }
                pipe.finish()
            } catch {
                pipe.fail()
            }
        }
        return pipe
    }
}

private func reportBulk(_ name: String, bytes: Int, since before: Usage.Figures) {
    let spent = Usage.Figures.now.since(before)
    let size = Double(bytes) / 1e9
    print(
        "engine \(name) bytes=\(bytes) seconds=\(rounded(spent.wall, 1000)) MBps=\(Int(size * 1e3 / spent.wall))",
        "cpu_s_per_GB=\(rounded(spent.cpu / size, 1000)) hwm_kb=\(status("VmHWM"))")
}

/// Loads one URL many times, from the cache in memory after the first time.
func cached(_ text: String, total: Int) async throws {
    let loop = TransferLoop()
    var configuration = try benchmarkConfiguration(1)
    configuration.urlCache = MemoryResponseCache()
    let session = Session(configuration: configuration, transferLoop: loop)
    var request = Request(url: try URLRecord(text))
    request.cachePolicy = .returnCacheDataElseLoad
    _ = try await session.data(for: request)
    let isOnLoop = getenv("ENGINE_BENCH_ON_LOOP") != nil
    let start = Usage.Figures.now
    let latencies =
        isOnLoop
        ? await loop.run { [request] _ in await run(total, of: request, in: session) }
        : await run(total, of: request, in: session)
    let spent = Usage.Figures.now.since(start)
    print(
        "engine cached n=\(total) failed=\(total - latencies.count) rate=\(Int(Double(total) / spent.wall))",
        "cpu_us=\(rounded(spent.cpu / Double(total) * 1e6)) hwm_kb=\(status("VmHWM"))")
}

private func benchmarkConfiguration(_ connections: Int) throws -> SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.httpMaximumConnectionsPerHost = connections
    configuration.timeoutIntervalForResource = .seconds(3600)
    if getenv("PEER_HTTP1") != nil { configuration.httpVersion = .http1 }
    if let path = getenv("PEER_CA") {
        guard let authority = contents(of: String(cString: path)) else { throw Usage() }
        configuration.tls.anchors = .pem(authority)
    }
    return configuration
}

private func setting(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

private func contents(of path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = read(descriptor, &bytes, bytes.count)
    return count > 0 ? Array(bytes.prefix(count)) : nil
}
