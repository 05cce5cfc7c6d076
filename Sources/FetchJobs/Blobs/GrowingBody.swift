/// Bytes that are read while more are appended.
package protocol GrowingBody: Sendable {
    /// Bytes from an offset on, up to so many; at least one, when that many were appended.
    func read(from offset: Int64, upTo count: Int64) async throws(StoreError) -> [UInt8]
}
