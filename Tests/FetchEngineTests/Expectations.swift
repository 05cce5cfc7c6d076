import FetchEngine
import Foundation
import Glibc
import Testing

/// Expects a load to fail with a code.
func expect<Result>(
    _ code: LoadError.Code, sourceLocation: SourceLocation = #_sourceLocation,
    _ load: () async throws -> Result
) async {
    do {
        _ = try await load()
        Issue.record("it did not fail", sourceLocation: sourceLocation)
    } catch {
        #expect((error as? LoadError)?.code == code, "\(error)", sourceLocation: sourceLocation)
    }
}

/// The line by which a request says which content codings the engine undoes.
let offeredCodings = "Accept-Encoding: gzip, deflate, br, zstd\r\n"

/// How many bytes of memory the process has at the moment.
func residentBytes() -> Int {
    let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
    return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Int(getpagesize())
}
