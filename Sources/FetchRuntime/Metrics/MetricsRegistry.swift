import Synchronization

/// The metrics of this process, in the Prometheus text format.
///
/// A module that counts something registers its family once, by its name in the catalogue, and keeps the metric it gets;
/// counting is one atomic addition. Label values come from closed sets; should one not, a family stops at
/// ``maximumChildren`` and counts further values under `other`.
package final class MetricsRegistry: Sendable {
    package static let maximumChildren = 1000
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private let families = Mutex<[MetricName: any MetricFamilyText]>([:])

    package init() {}

    /// A count that only grows.
    package func counter(_ name: MetricName) -> MetricFamily<Counter> {
        precondition(name.entry.kind == .counter, "\(name.rawValue) is no counter")
        return register(MetricFamily(name) { Counter() })
    }

    /// A value that goes up and down.
    package func gauge(_ name: MetricName) -> MetricFamily<Gauge> {
        precondition(name.entry.kind == .gauge, "\(name.rawValue) is no gauge")
        return register(MetricFamily(name) { Gauge() })
    }

    /// Counts by size, in cumulative buckets with the upper bounds of the catalogue.
    package func histogram(_ name: MetricName) -> MetricFamily<Histogram> {
        let entry = name.entry
        precondition(entry.kind == .histogram, "\(name.rawValue) is no histogram")
        return register(MetricFamily(name) { Histogram(bounds: entry.bounds) })
    }

    /// Counts and sums, without buckets.
    package func summary(_ name: MetricName) -> MetricFamily<Summary> {
        precondition(name.entry.kind == .summary, "\(name.rawValue) is no summary")
        return register(MetricFamily(name) { Summary() })
    }

    /// A gauge, or a counter that is kept elsewhere, that is read when the metrics are; nil is not shown.
    package func observe(_ name: MetricName, read: @escaping @Sendable () -> Double?) {
        observeAll(name) { read().map { [Observation(labels: [], value: $0)] } ?? [] }
    }

    /// The same for metrics with labels.
    package func observeAll(_ name: MetricName, read: @escaping @Sendable () -> [Observation]) {
        precondition([.counter, .gauge].contains(name.entry.kind), "\(name.rawValue) has more than a value")
        families.withLock { $0[name] = ObservedFamily(name: name, read: read) }
    }

    /// One value of a metric that is kept elsewhere.
    package struct Observation: Sendable {
        let labels: [String]
        let value: Double

        /// - Parameter labels: The values, in the order in which the catalogue names the labels.
        package init(labels: [String], value: Double) {
            self.labels = labels
            self.value = value
        }
    }

    /// The names that are registered.
    package var names: Set<MetricName> { families.withLock { Set($0.keys) } }

    /// All families in the order of their names.
    package var text: String {
        let families = families.withLock { $0.sorted { $0.key.rawValue < $1.key.rawValue } }
        var text = ""
        for (name, family) in families {
            text += "# HELP \(name.rawValue) \(name.entry.help)\n# TYPE \(name.rawValue) \(name.entry.kind.rawValue)\n"
            family.write(to: &text)
        }
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
    /// Writes the samples.
    func write(to text: inout String)
}

/// A metric: a number, or several that belong together.
package protocol Metric: Sendable {
    /// Writes the samples; `labels` is empty or `a="b",c="d"`.
    func write(name: String, labels: String, to text: inout String)
}

/// Metrics of one name, one for each combination of label values.
package final class MetricFamily<Child: Metric>: MetricFamilyText {
    package let name: MetricName
    private let labels: [String]
    private let make: @Sendable () -> Child
    private let children = Mutex<[[String]: Child]>([:])

    init(_ name: MetricName, make: @escaping @Sendable () -> Child) {
        self.name = name
        labels = name.entry.labels
        self.make = make
    }

    /// The metric of these label values, in the order in which the catalogue names the labels.
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
        for (values, child) in children {
            child.write(name: name.rawValue, labels: Sample.labels(labels, values), to: &text)
        }
    }
}

/// Metrics whose values are asked for.
private struct ObservedFamily: MetricFamilyText {
    let name: MetricName
    let read: @Sendable () -> [MetricsRegistry.Observation]

    func write(to text: inout String) {
        let labels = name.entry.labels
        for observation in read() {
            text += Sample.line(
                name.rawValue, Sample.labels(labels, observation.labels), Sample.text(observation.value))
        }
    }
}
