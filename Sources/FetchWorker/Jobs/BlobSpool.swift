import Crypto
import FetchEngine
import FetchJobs

/// Writes a body that is too large for a row into the blob store while it arrives.
struct BlobSpool {
    let blobs: any BlobStore

    /// - Throws: The load's error, or `cannotWriteToFile` when the store does not take the bytes.
    nonisolated(nonsending) func store(_ body: ResponseBody) async throws(LoadError) -> JobOutcome.Body {
        let writer: any BlobWriter
        do throws(StoreError) { writer = try await blobs.create() } catch { throw LoadError(error) }
        do {
            var hash = SHA256()
            var count: Int64 = 0
            for try await chunk in body {
                chunk.withUnsafeBytes { hash.update(bufferPointer: $0) }
                count += Int64(chunk.count)
                try await writer.write(chunk)
            }
            try await writer.finish()
            return .blob(writer.id, bytes: count, digest: SHA256Digest(hash.finalize()))
        } catch {
            await writer.abandon()
            switch error {
            case let error as LoadError: throw error
            case let error as StoreError: throw LoadError(error)
            default: throw LoadError(.cancelled, "The load was cancelled.")
            }
        }
    }
}

extension LoadError {
    fileprivate init(_ error: StoreError) {
        self.init(.cannotWriteToFile, error.message)
    }
}
