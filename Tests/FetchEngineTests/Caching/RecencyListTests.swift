import Testing

@testable import FetchEngine

@Suite struct RecencyListTests {
    // Against a list kept in the plain way.
    // Proves: CCH-16.
    @Test func `the oldest key is the one not used for longest`() {
        var list = RecencyList<Int>()
        var plain: [(key: Int, cost: Int64)] = []
        var state: UInt64 = 7
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for _ in 0..<20_000 {
            let key = next(50)
            switch next(4) {
            case 0:
                list.remove(key)
                plain.removeAll { $0.key == key }
            case 1:
                list.use(key)
                if let index = plain.firstIndex(where: { $0.key == key }) { plain.append(plain.remove(at: index)) }
            default:
                let cost = Int64(next(100))
                list.set(key, cost: cost)
                plain.removeAll { $0.key == key }
                plain.append((key, cost))
            }
            #expect(list.oldest == plain.first?.key)
            #expect(list.cost == plain.reduce(0) { $0 + $1.cost })
            #expect(list.count == plain.count)
        }
    }
}
