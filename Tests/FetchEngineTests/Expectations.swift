import FetchEngine
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
