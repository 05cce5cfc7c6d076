import Synchronization

/// A count that only grows.
package final class Counter: Metric {
    private let count = Atomic<UInt64>(0)

    init() {}

    package func add(_ amount: Int = 1) {
        count.add(UInt64(max(0, amount)), ordering: .relaxed)
    }

    package func write(name: String, labels: String, to text: inout String) {
        text += Sample.line(name, labels, String(count.load(ordering: .relaxed)))
    }
}

/// A whole number that goes up and down.
package final class Gauge: Metric {
    private let value = Atomic<Int64>(0)

    init() {}

    package func set(_ value: Int) { self.value.store(Int64(value), ordering: .relaxed) }
    package func add(_ amount: Int) { value.add(Int64(amount), ordering: .relaxed) }

    package func write(name: String, labels: String, to text: inout String) {
        text += Sample.line(name, labels, String(value.load(ordering: .relaxed)))
    }
}

/// How many observations lie at or below each bound, their number and their sum.
package final class Histogram: Metric {
    /// From half a millisecond to a minute.
    package static let seconds = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]

    /// From a millisecond to ten seconds, for families with many label values: a bucket is a line for each of them.
    package static let fewSeconds = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

    private struct State {
        /// Not cumulative; the last one counts the values beyond every bound.
        var buckets: [UInt64]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Mutex<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(State(buckets: Array(repeating: 0, count: bounds.count + 1)))
    }

    package func observe(_ value: Double) {
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.buckets[bucket] += 1
            state.sum += value
        }
    }

    package func observe(_ duration: Duration) { observe(duration / .seconds(1)) }

    package func write(name: String, labels: String, to text: inout String) {
        let (buckets, sum) = state.withLock { ($0.buckets, $0.sum) }
        let prefix = labels.isEmpty ? "" : labels + ","
        var count: UInt64 = 0
        for (bound, bucket) in zip(bounds.map { Sample.text($0) } + ["+Inf"], buckets) {
            count += bucket
            text += Sample.line(name + "_bucket", "\(prefix)le=\"\(bound)\"", String(count))
        }
        text += Sample.line(name + "_sum", labels, Sample.text(sum))
        text += Sample.line(name + "_count", labels, String(count))
    }
}

/// The number of observations, and their sum.
package final class Summary: Metric {
    private let state = Mutex((count: UInt64(0), sum: 0.0))

    init() {}

    package func observe(_ duration: Duration) {
        state.withLock { state in
            state.count += 1
            state.sum += duration / .seconds(1)
        }
    }

    package func write(name: String, labels: String, to text: inout String) {
        let (count, sum) = state.withLock { $0 }
        text += Sample.line(name + "_sum", labels, Sample.text(sum))
        text += Sample.line(name + "_count", labels, String(count))
    }
}

/// How the text format writes a number with its name.
enum Sample {
    /// The labels with their values, as they stand in the braces.
    static func labels(_ names: [String], _ values: [String]) -> String {
        zip(names, values).map { "\($0)=\"\(escape($1))\"" }.joined(separator: ",")
    }

    private static func escape(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }

    static func line(_ name: String, _ labels: String, _ value: String) -> String {
        labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
    }

    static func text(_ value: Double) -> String {
        guard value.isFinite else { return value.isNaN ? "NaN" : value < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: value).map { String($0) } ?? String(value)
    }
}
