package import FetchEngine
package import HTTPTypes

extension Configuration {
    /// The defaults of requests.
    package struct Request: ConfigurationGroup {
        /// The fields of requests that have none of the name (BEY-32).
        package var headers: HTTPFields?
        /// Whether servers get the W3C Trace Context of the job.
        package var sendsTraceContext: Bool?
        /// Whether the metrics of transfers have the header fields of their requests and responses.
        package var recordsHeaders: Bool?
        // Without effect, and never sent (BEY-23).
        package var attribution: RequestAttribution?
        package var allowsPersistentDNS: Bool?

        package init() {}

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember(
                "headers", \.headers, .fieldsWithoutSecrets,
                get: { $0.httpAdditionalHeaders },
                set: { fields, engine in
                    for name in Set(fields.map(\.name)) {
                        engine.httpAdditionalHeaders[fields: name] = Array(fields[fields: name])
                    }
                }),
            // What it says is known where the job is, not to the engine.
            ConfigurationMember(
                "sendsTraceContext", \.sendsTraceContext, .bool, get: { _ in false }, set: { _, _ in }),
            ConfigurationMember(
                "recordsHeaders", \.recordsHeaders, .bool, get: { $0.recordsHeaderFields },
                set: { records, engine in engine.recordsHeaderFields = records }),
            ConfigurationMember(
                "attribution", \.attribution, .anyCase, get: { _ in .developer }, set: { _, _ in }),
            ConfigurationMember(
                "allowsPersistentDNS", \.allowsPersistentDNS, .bool, get: { _ in false }, set: { _, _ in }),
        ]
    }
}

extension ConfigurationRule where Value == HTTPFields {
    /// Fields as a request has them, but none that carries credentials: configurations are stored and shown in clear.
    static var fieldsWithoutSecrets: Self {
        Self(
            read: { reader in
                let fields = JobRequest.headers(reader)
                if let field = fields.first(where: \.isSensitive) {
                    reader.refuse(
                        "must not hold \(field.name.rawName): a configuration is shown in clear; a request has fields "
                            + "that are sensitive, and `authentication` credentials (headerForbidden)")
                }
                return fields
            },
            write: { fields, writer in writer.array { $0.headers(fields) } }
        )
    }
}
