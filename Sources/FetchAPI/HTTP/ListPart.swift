import FetchJobs

/// The part of a list that is shown at once, from a store that was asked for one element more.
struct ListPart<Element> {
    let shown: [Element]
    private let goesOn: Bool

    /// - Parameters:
    ///   - items: The next elements of the list; one more than are shown tells that it goes on.
    ///   - limit: How many are shown.
    init(_ items: some Collection<Element>, limit: Int) {
        shown = Array(items.prefix(limit))
        goesOn = items.count > limit
    }

    private init(shown: [Element], goesOn: Bool) {
        self.shown = shown
        self.goesOn = goesOn
    }

    /// Where the list goes on behind the last element that is shown; nil at its end.
    func next<Place>(_ place: (Element) throws -> Place) rethrows -> Place? {
        goesOn ? try shown.last.map(place) : nil
    }
}

extension ListPart {
    /// How many elements are read at once of a list whose elements may be large.
    private static var elementsAtOnce: Int { 8 }
    /// With the element that makes it so large, in bytes, a part ends.
    private static var largest: Int { 1 << 20 }

    /// Reads a part of a list in the order of ids whose elements may be large, and keeps a form of each.
    ///
    /// Few elements are in memory at once, and those that are shown have 1 MiB at most, or one more element.
    ///
    /// - Parameters:
    ///   - limit: How many are shown at most.
    ///   - last: Behind which element the part begins; nil for the beginning of the list.
    ///   - id: The id of an element.
    ///   - find: The elements behind an id, or from the start: so many, if there are.
    ///   - form: What is shown of an element, and how many bytes it has.
    static func read<Source, Kind, Form>(
        limit: Int,
        after last: Identifier<Kind>?,
        id: (Source) -> Identifier<Kind>,
        find: (Identifier<Kind>?, Int) async throws -> [Source],
        form: (Source) -> (Form, bytes: Int)
    ) async throws -> ListPart where Element == (id: Identifier<Kind>, form: Form) {
        var (shown, bytes) = ([Element](), 0)
        var (next, isEnd) = ([Source]()[...], false)
        while true {
            if next.isEmpty, !isEnd {
                // One more than is shown tells that the list goes on.
                let count = bytes < largest ? min(elementsAtOnce, limit + 1 - shown.count) : 1
                next = try await find(shown.last?.id ?? last, count)[...]
                isEnd = next.count < count
            }
            guard let element = next.popFirst() else { return ListPart(shown: shown, goesOn: false) }
            guard shown.count < limit, bytes < largest else { return ListPart(shown: shown, goesOn: true) }
            let (form, size) = form(element)
            shown.append((id(element), form))
            bytes += size
        }
    }
}
