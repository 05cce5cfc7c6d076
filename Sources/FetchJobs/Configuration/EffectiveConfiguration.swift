/// The effective values of a job or a session, and who set each.
package struct EffectiveConfiguration: Sendable {
    /// The member of an answer that holds it, and the word by which a client asks for it.
    package static let name = "effectiveConfiguration"

    package enum Source: String, Sendable {
        case job
        case session
        /// The service, as its operator set it up.
        case `default`
    }

    struct Layer: Sendable {
        let source: Source
        let configuration: Configuration
    }

    /// From the top, which wins, to the defaults.
    private let layers: [Layer]

    /// - Parameters:
    ///   - job: The configuration of the job; nil to explain a session.
    ///   - session: The configuration of the session; nil when it is not known any more.
    ///   - standard: The defaults of the service for sessions of this kind.
    package init(job: Configuration? = nil, session: Configuration?, standard: Configuration) {
        layers = [
            job.map { Layer(source: .job, configuration: $0) },
            session.map { Layer(source: .session, configuration: $0) },
            Layer(source: .default, configuration: standard),
        ].compactMap(\.self)
    }

    package func write(_ writer: inout JSONWriter) {
        for group in Configuration.groups {
            writer.name(group.name)
            group.explain(layers, &writer)
        }
    }
}
