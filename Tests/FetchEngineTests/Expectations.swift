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
