package import FetchEngine

extension Configuration {
    /// How a job answers the challenges of the server of its URL.
    package struct Authentication: ConfigurationGroup {
        /// The action when the present credentials have failed.
        package enum OnFailure: String, Sendable, CaseIterable {
            /// The refusal is the job's response.
            case performDefaultHandling
            /// The next method that the server offers is tried.
            case rejectProtectionSpace
            /// The job fails.
            case cancelAuthenticationChallenge
        }

        // But for those of Kerberos these take effect where a job runs: no setting of the engine stands for them.

        /// A credential of the job's own, in place of the session's stored one for the server.
        package var credential: JobCredential?
        /// How long a credential that comes with the job is kept when it has no persistence of its own.
        package var persistence: Credential.Persistence?
        /// The methods that are answered; nil for all.
        package var methods: [ProtectionSpace.Method]?
        /// How often authentication may fail before ``onFailure`` applies.
        package var maximumFailures: Int?
        package var onFailure: OnFailure?
        /// The service that Kerberos tickets are asked for.
        package var kerberosService: String?
        /// Whether servers get Kerberos tickets with which they act for the user.
        package var delegatesKerberosTickets: Bool?

        package init() {}

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember("credential", \.credential, .credential, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "persistence", \.persistence,
                Self.persistence, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "methods", \.methods, .list(of: .choice(methodNames), upTo: 8), get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "maximumFailures", \.maximumFailures, .integer(1...10), get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "onFailure", \.onFailure, .anyCase, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "kerberosService", \.kerberosService, .kerberosService, \.authentication.kerberosService),
            ConfigurationMember(
                "delegatesKerberosTickets", \.delegatesKerberosTickets, .bool,
                \.authentication.delegatesKerberosTickets),
        ]

        private static let persistence = ConfigurationRule<Credential.Persistence>(
            read: { $0.persistence() }, write: { value, writer in writer.value(value.rawValue) })

        private static let methodNames: KeyValuePairs<String, ProtectionSpace.Method> = [
            "basic": .httpBasic, "digest": .httpDigest, "bearer": .httpBearer, "ntlm": .ntlm, "negotiate": .negotiate,
            "clientCertificate": .clientCertificate, "awsSigV4": .awsSigV4,
        ]
    }
}

extension ConfigurationRule where Value == JobCredential {
    /// The id of a stored credential, or a credential, which is not written back.
    static var credential: Self {
        Self(read: { JobCredential(reader: $0) }, write: { value, writer in writer.value(value.text) })
    }
}

extension ConfigurationRule where Value == String {
    /// The first component of a service's principal; the host is that of the server.
    fileprivate static var kerberosService: Self {
        .text(
            upTo: 64, "must be the name of a service, such as HTTP: letters, digits and . _ - $ +",
            parse: { text in
                let principal = KerberosPrincipal(text)
                return principal?.name == text && !text.contains("/") ? text : nil
            },
            text: { $0 })
    }
}
