import HTTPTypes

/// The items of a list, over all its pages, which are asked for as they are reached.
public struct PageSequence<Item: Decodable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = Item
    public typealias Failure = FetchdError

    struct Page: Decodable {
        let data: [Item]
        let nextCursor: String?
    }

    let transport: Transport
    let path: String
    let query: [(String, String?)]

    /// Starts to read.
    public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

    /// Reads item by item.
    public struct Iterator: AsyncIteratorProtocol {
        let pages: PageSequence
        private var items: ArraySlice<Item> = []
        private var cursor: String?
        private var isAtEnd = false

        init(pages: PageSequence) { self.pages = pages }

        /// The next item, or nil at the end of the last page.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(FetchdError) -> Item? {
            // A page may be empty although others follow.
            while items.isEmpty, !isAtEnd {
                let call = Call(.get, pages.path, query: pages.query + [("cursor", cursor)])
                let page: Page = try await pages.transport.value(call)
                items = page.data[...]
                cursor = page.nextCursor
                isAtEnd = cursor == nil
            }
            return items.popFirst()
        }
    }
}
