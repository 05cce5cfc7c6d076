import Synchronization

/// The metrics of this process, in the Prometheus text format.
///
/// A module that counts something registers its family once and keeps the metric it gets; counting is one atomic
/// addition. Label values come from closed sets; should one not, a family stops at ``maximumChildren`` and counts
/// further values under `other`.
package final class MetricsRegistry: Sendable {
    package static let maximumChildren = 1000
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private let families = Mutex<[String: any MetricFamilyText]>([:])

    package init() {}

    /// A count that only grows; its name ends in `_total`.
    package func counter(_ name: String, _ help: String, labels: String...) -> MetricFamily<Counter> {
        register(MetricFamily(name: name, help: help, labels: labels) { Counter() })
    }

    /// A value that goes up and down.
    package func gauge(_ name: String, _ help: String, labels: String...) -> MetricFamily<Gauge> {
        register(MetricFamily(name: name, help: help, labels: labels) { Gauge() })
    }

    /// Counts by size, in cumulative buckets with these upper bounds.
    package func histogram(
        _ name: String,
        _ help: String,
        bounds: [Double] = Histogram.seconds,
        labels: String...
    ) -> MetricFamily<Histogram> {
        register(MetricFamily(name: name, help: help, labels: labels) { Histogram(bounds: bounds) })
    }

    /// A gauge that is read when the metrics are.
    package func gauge(_ name: String, _ help: String, read: @escaping @Sendable () -> Double) {
        families.withLock { $0[name] = ObservedGauge(name: name, help: help, read: read) }
    }

    /// All families in the order of their names.
    package var text: String {
        let families = families.withLock { $0.sorted { $0.key < $1.key } }
        var text = ""
        for (_, family) in families { family.write(to: &text) }
        return text
    }

    private func register<Metric>(_ family: MetricFamily<Metric>) -> MetricFamily<Metric> {
        families.withLock { families in
            if let known = families[family.name] as? MetricFamily<Metric> { return known }
            families[family.name] = family
            return family
        }
    }
}

/// The part of a family that a registry uses.
protocol MetricFamilyText: Sendable {
    func write(to text: inout String)
}

/// A metric: a number, or several that belong together.
package protocol Metric: Sendable {
    /// The name of the type in `# TYPE`.
    static var type: String { get }

    /// Writes the samples; `labels` is empty or `a="b",c="d"`.
    func write(name: String, labels: String, to text: inout String)
}

/// Metrics of one name, one for each combination of label values.
package final class MetricFamily<Child: Metric>: MetricFamilyText {
    package let name: String
    private let help: String
    private let labels: [String]
    private let make: @Sendable () -> Child
    private let children = Mutex<[[String]: Child]>([:])

    init(name: String, help: String, labels: [String], make: @escaping @Sendable () -> Child) {
        self.name = name
        self.help = help
        self.labels = labels
        self.make = make
    }

    /// The metric of these label values, in the order the labels were named in.
    package subscript(_ values: String...) -> Child {
        precondition(values.count == labels.count, "\(name) has \(labels.count) labels")
        return children.withLock { children in
            if let child = children[values] { return child }
            let isFull = children.count >= MetricsRegistry.maximumChildren
            let values = isFull ? labels.map { _ in "other" } : values
            if let child = children[values] { return child }
            let child = make()
            children[values] = child
            return child
        }
    }

    func write(to text: inout String) {
        let children = children.withLock { $0.sorted { $0.key.lexicographicallyPrecedes($1.key) } }
        guard !children.isEmpty else { return }
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(Child.type)\n"
        for (values, child) in children {
            let pairs = zip(labels, values).map { "\($0)=\"\(Self.escape($1))\"" }
            child.write(name: name, labels: pairs.joined(separator: ","), to: &text)
        }
    }

    private static func escape(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

/// A gauge whose value is asked for.
private struct ObservedGauge: MetricFamilyText {
    let name: String
    let help: String
    let read: @Sendable () -> Double

    func write(to text: inout String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) gauge\n\(name) \(Sample.text(read()))\n"
    }
}
