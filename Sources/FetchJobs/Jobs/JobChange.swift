package import FetchEngine

/// A change of a stored job, as a merge patch (RFC 7396): null removes a member.
package struct JobChange: Sendable, Equatable {
    package enum Time: Sendable, Equatable {
        case now
        case at(Timestamp)
    }

    package enum Limit: Sendable, Equatable {
        /// The value of its session.
        case inherited
        case own(Int64)
    }

    package var priority: Double?
    package var runAt: Time?
    /// How many bytes a second the job may have.
    package var maximumBytesPerSecond: Limit?
    /// In place of its URL and its mirrors, in this order; nil for the same ones.
    package var urls: [URLRecord]?
    /// By name; nil for those to be taken away.
    package var labels: [(name: String, value: String?)] = []

    package init() {}

    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        if let object = JSONReader(json, check: check).object(of: Self.names) {
            priority = object["priority"].flatMap { $0.value == .null ? 0.5 : $0.number(in: 0...1) }
            runAt = object["runAt"].flatMap { $0.value == .null ? .now : $0.timestamp().map { .at($0) } }
            if let delay = object["delay"], let seconds = delay.number(in: JobSpec.delays) {
                if runAt != nil { delay.refuse("cannot be beside runAt") }
                runAt = .at(DatabaseClock.now.advanced(by: .seconds(seconds)))
            }
            labels = object["labels"].map { Self.labels($0) } ?? []
            maximumBytesPerSecond = object["configuration"].flatMap { Self.maximumBytesPerSecond($0) }
        }
        try check.finish()
    }

    private static let names: Set = ["priority", "runAt", "delay", "labels", "configuration"]

    /// All else of a configuration stays as it was submitted.
    private static func maximumBytesPerSecond(_ configuration: JSONReader) -> Limit? {
        guard let connections = configuration.object(of: ["connections"])?["connections"],
            let member = connections.object(of: ["maximumBytesPerSecond"])?["maximumBytesPerSecond"]
        else { return nil }
        return member.value == .null ? .inherited : member.integer(in: Bandwidth.settable).map { .own($0) }
    }

    private static func labels(_ reader: JSONReader) -> [(name: String, value: String?)] {
        (reader.dictionary() ?? []).compactMap { name, reader in
            if reader.value == .null { return (name, nil) }
            return JobSpec.Label(name: name, reader: reader).map { ($0.name, $0.value) }
        }
    }

    package static func == (left: JobChange, right: JobChange) -> Bool {
        left.priority == right.priority && left.runAt == right.runAt
            && left.maximumBytesPerSecond == right.maximumBytesPerSecond && left.urls == right.urls
            && left.labels.elementsEqual(right.labels) { $0 == $1 }
    }

    /// Whether it changes the priority or the bandwidth, which take effect while the job runs.
    package var changesPace: Bool { priority != nil || maximumBytesPerSecond != nil }

    /// Why a job in this state cannot be changed so; nil when it can.
    package func obstacle(in state: JobState) -> String? {
        switch state {
        case .scheduled, .queued, .suspended: nil
        case .running, .awaitingDecision: runAt == nil ? nil : "The job runs already: runAt cannot be changed."
        case .succeeded, .failed, .cancelled:
            runAt == nil && !changesPace ? nil : "The job is \(state.rawValue): only its labels can be changed."
        }
    }

    /// The spec with the change made.
    ///
    /// - Throws: ``InvalidInput`` when the changed spec breaks a rule.
    package func applied(to spec: JobSpec) throws(InvalidInput) -> JobSpec {
        var spec = spec
        spec.priority = priority ?? spec.priority
        switch runAt {
        case nil: break
        case .now: spec.runAt = nil
        case .at(let time): spec.runAt = time
        }
        switch maximumBytesPerSecond {
        case nil: break
        case .inherited: spec.configuration.connections.maximumBytesPerSecond = nil
        case .own(let limit): spec.configuration.connections.maximumBytesPerSecond = limit
        }
        if let urls { spec.request.setURLs(urls) }
        for label in labels {
            let index = spec.labels.firstIndex { $0.name == label.name }
            switch (index, label.value) {
            case (let index?, let value?): spec.labels[index] = .init(name: label.name, value: value)
            case (let index?, nil): spec.labels.remove(at: index)
            case (nil, let value?): spec.labels.append(.init(name: label.name, value: value))
            case (nil, nil): break
            }
        }
        let check = InputCheck()
        spec.check(check)
        try check.finish()
        return spec
    }
}
