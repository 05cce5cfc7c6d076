package import Crypto
import FetchEngine
import FoundationEssentials

/// The SHA-256 of a body.
package struct SHA256Digest: Sendable, Equatable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    package init(of body: [UInt8]) { bytes = Array(SHA256.hash(data: body)) }

    package init(_ hash: SHA256.Digest) { bytes = Array(hash) }

    /// Reads a body to its end.
    package init(reading body: any BlobReader) async throws(StoreError) {
        var hash = SHA256()
        while let chunk = try await body.next() { chunk.withUnsafeBytes { hash.update(bufferPointer: $0) } }
        self.init(hash.finalize())
    }

    /// Its first bytes in hexadecimal digits: enough to tell things apart where nothing has to be proven.
    package func hexadecimal(_ count: Int) -> String { Hexadecimal.text(bytes.prefix(count)) }

    /// As a field of RFC 9530 writes it: `sha-256=:…:`.
    package var field: String { "sha-256=:\(Data(bytes).base64EncodedString()):" }
}
