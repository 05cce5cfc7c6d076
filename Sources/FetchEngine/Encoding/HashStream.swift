import COpenSSL

/// A hash of bytes that come in pieces, by the cryptographic library.
package final class HashStream {
    private let context: OpaquePointer

    /// Begins, or gives nil when the library refuses the algorithm.
    init?(_ algorithm: OpaquePointer?) {
        guard let context = EVP_MD_CTX_new() else { return nil }
        guard EVP_DigestInit_ex(context, algorithm, nil) == 1 else {
            EVP_MD_CTX_free(context)
            return nil
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    package func append(_ bytes: [UInt8]) { EVP_DigestUpdate(context, bytes, bytes.count) }

    func append(_ bytes: UnsafeRawBufferPointer) { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

    /// The hash; the stream takes nothing more.
    package func finish() -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        EVP_DigestFinal_ex(context, &hash, &count)
        return Array(hash[..<Int(count)])
    }
}
