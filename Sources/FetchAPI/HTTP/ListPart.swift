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

    /// Where the list goes on behind the last element that is shown; nil at its end.
    func next<Place>(_ place: (Element) throws -> Place) rethrows -> Place? {
        goesOn ? try shown.last.map(place) : nil
    }
}
