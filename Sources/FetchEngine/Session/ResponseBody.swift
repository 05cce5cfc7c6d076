/// The bytes of a response's body in the order they came, in chunks of any size.
///
/// The transfer runs at most 660 KiB ahead of its reader. One reader may read it, once; cancelling the
/// reading task cancels the load.
///
/// ```swift
/// let (body, _) = try await session.bytes(for: request)
/// var count = 0
/// for try await chunk in body { count += chunk.count }
/// ```
public struct ResponseBody: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    public typealias Failure = LoadError

    let task: DataTask

    /// Starts to read.
    public func makeAsyncIterator() -> Iterator { Iterator(task: task, whole: task.completeBody) }

    /// Reads chunk by chunk.
    public struct Iterator: AsyncIteratorProtocol {
        let task: DataTask
        /// A body that is in memory already.
        var whole: [UInt8]?

        /// The next chunk, or nil at the end.
        ///
        /// A body that breaks off throws.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(LoadError) -> [UInt8]? {
            if let whole {
                self.whole = []
                return whole.isEmpty ? nil : whole
            }
            return try await task.nextBytes()
        }
    }
}

extension DataTask {
    fileprivate nonisolated(nonsending) func nextBytes() async throws(LoadError) -> [UInt8]? {
        try await serve(on: session.transferLoop) { loop throws(LoadError) in try await load.nextBytes(on: loop) }
    }
}
