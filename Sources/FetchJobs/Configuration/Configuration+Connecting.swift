package import FetchEngine

extension Configuration {
    package struct Connections: ConfigurationGroup {
        package var maximumPerHost: Int?
        package var httpVersion: HTTPVersionPolicy?
        package var waitsForConnectivity: Bool?
        package var addressFamily: NetworkConfiguration.AddressFamily?
        package var maximumBytesPerSecond: Int64?
        // Without effect: a server has no classes of networks (BEY-16).
        package var allowsCellularAccess: Bool?
        package var allowsExpensiveNetworkAccess: Bool?
        package var allowsConstrainedNetworkAccess: Bool?
        package var allowsUltraConstrainedNetworkAccess: Bool?
        package var networkServiceType: NetworkServiceType?
        package var multipathServiceType: MultipathServiceType?

        package init() {}

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember(
                "maximumPerHost", \.maximumPerHost, .integer(1...10_000), \.httpMaximumConnectionsPerHost),
            ConfigurationMember(
                "httpVersion", \.httpVersion, .choice(["automatic": .automatic, "1.1": .http1, "2": .http2]),
                \.httpVersion),
            ConfigurationMember("waitsForConnectivity", \.waitsForConnectivity, .bool, \.waitsForConnectivity),
            ConfigurationMember("addressFamily", \.addressFamily, .anyCase, \.network.addressFamily),
            ConfigurationMember(
                "maximumBytesPerSecond", \.maximumBytesPerSecond, .integer(Bandwidth.settable),
                optional: \.maximumBytesPerSecond),
            ConfigurationMember("allowsCellularAccess", \.allowsCellularAccess, .bool, \.allowsCellularAccess),
            ConfigurationMember(
                "allowsExpensiveNetworkAccess", \.allowsExpensiveNetworkAccess, .bool,
                \.allowsExpensiveNetworkAccess),
            ConfigurationMember(
                "allowsConstrainedNetworkAccess", \.allowsConstrainedNetworkAccess, .bool,
                \.allowsConstrainedNetworkAccess),
            ConfigurationMember(
                "allowsUltraConstrainedNetworkAccess", \.allowsUltraConstrainedNetworkAccess, .bool,
                \.allowsUltraConstrainedNetworkAccess),
            ConfigurationMember("networkServiceType", \.networkServiceType, .anyCase, \.networkServiceType),
            ConfigurationMember("multipathServiceType", \.multipathServiceType, .anyCase, \.multipathServiceType),
        ]
    }

    /// What background sessions have on Apple's systems, where programs end and are launched again; without effect: a
    /// service runs, and its webhooks tell when a session is done (BEY-27, BKG-8).
    package struct Background: ConfigurationGroup {
        package var sessionSendsLaunchEvents: Bool?
        package var sharedContainerIdentifier: String?
        package var shouldUseExtendedBackgroundIdleMode: Bool?

        package init() {}

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember(
                "sessionSendsLaunchEvents", \.sessionSendsLaunchEvents, .bool, \.sessionSendsLaunchEvents),
            ConfigurationMember(
                "sharedContainerIdentifier", \.sharedContainerIdentifier,
                .text(upTo: 255, "must be a text", parse: { $0 }, text: { $0 }), optional: \.sharedContainerIdentifier),
            ConfigurationMember(
                "shouldUseExtendedBackgroundIdleMode", \.shouldUseExtendedBackgroundIdleMode, .bool,
                \.shouldUseExtendedBackgroundIdleMode),
        ]
    }

    package struct TLS: ConfigurationGroup {
        package var minimumVersion: TLSConfiguration.Version?
        package var maximumVersion: TLSConfiguration.Version?
        package var alpn: [TLSConfiguration.ApplicationProtocol]?
        /// Hosts that are reached by https alone.
        package var strictTransport: [HostPattern]?

        package init() {}

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember("minimumVersion", \.minimumVersion, .tlsVersion, \.tls.minimumVersion),
            ConfigurationMember("maximumVersion", \.maximumVersion, .tlsVersion, optional: \.tls.maximumVersion),
            ConfigurationMember(
                "alpn", \.alpn, .list(of: .anyCase, upTo: 2), optional: \.tls.applicationProtocols),
            ConfigurationMember(
                "strictTransport", \.strictTransport, .list(of: .hostPattern, upTo: 100),
                get: { $0.strictTransport?.listed },
                set: { $1.strictTransport = $0.isEmpty ? nil : StrictTransportStore(listing: $0) }),
        ]

        package func check(_ reader: JSONReader) {
            if let alpn, alpn.contains(.http2), !alpn.contains(.http1) {
                reader.refuse("must have \"http/1.1\" beside \"h2\" in alpn: both are offered")
            }
            guard let minimumVersion, let maximumVersion, maximumVersion < minimumVersion else { return }
            reader.refuse("must not have a maximumVersion below its minimumVersion")
        }
    }

    /// The authorities that are trusted for servers.
    package struct ServerTrust: ConfigurationGroup {
        package enum Policy: String, Sendable, CaseIterable {
            /// The authorities that the system trusts.
            case system
            /// The system's authorities, for servers with one of the pinned keys.
            case pinned
            /// These authorities and no others; pins count as well.
            case custom
        }

        package var policy: Policy?
        /// Certificates in PEM.
        package var anchors: String?
        package var pins: [PublicKeyPin]?
        /// Certificate revocation lists in PEM.
        package var revocationLists: String?
        package var requiresStapledStatus: Bool?

        package init() {}

        // A policy is nothing without its anchors or pins, and those of a lower layer must not be mixed in.
        package static let isWhole = true

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember(
                "policy", \.policy, .anyCase, get: { $0.tls.pins.isEmpty ? .system : .pinned }, set: { _, _ in }),
            ConfigurationMember("anchors", \.anchors, .certificates, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("pins", \.pins, .list(of: .pin, upTo: 100), get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "revocationLists", \.revocationLists, .revocationLists, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "requiresStapledStatus", \.requiresStapledStatus, .bool, \.tls.requiresStapledStatus),
        ]

        package func check(_ reader: JSONReader) {
            if policy == nil { reader.refuse("must say which policy") }
            if (anchors != nil) != (policy == .custom) {
                reader.refuse("must have anchors with the policy \"custom\" only")
            }
            let hasPins = pins?.isEmpty == false
            if policy == .pinned, !hasPins { reader.refuse("must have pins with the policy \"pinned\"") }
            if policy == .system, hasPins { reader.refuse("must have no pins with the policy \"system\"") }
        }

        package func apply(to configuration: inout SessionConfiguration) {
            guard let policy else { return }
            configuration.tls.anchors = .system
            configuration.tls.pins = policy == .system ? [] : pins ?? []
            if policy == .custom, let anchors { configuration.tls.anchors = .pem(Array(anchors.utf8)) }
            configuration.tls.revocationLists = revocationLists.flatMap { try? RevocationLists(pem: Array($0.utf8)) }
            configuration.tls.requiresStapledStatus = requiresStapledStatus ?? false
        }
    }
}

extension ConfigurationRule where Value == TLSConfiguration.Version {
    fileprivate static var tlsVersion: Self { .choice(["1.2": .tls12, "1.3": .tls13]) }
}

extension ConfigurationRule where Value == String {
    fileprivate static var certificates: Self {
        .text(
            upTo: 262_144,
            "must be certificates in PEM",
            parse: { $0.contains("-----BEGIN CERTIFICATE-----") ? $0 : nil },
            text: { $0 }
        )
    }
}

extension ConfigurationRule where Value == String {
    fileprivate static var revocationLists: Self {
        .text(
            upTo: 262_144,
            "must be certificate revocation lists in PEM",
            parse: { (try? RevocationLists(pem: Array($0.utf8))) == nil ? nil : $0 },
            text: { $0 }
        )
    }
}

extension ConfigurationRule where Value == PublicKeyPin {
    fileprivate static var pin: Self {
        Self(
            read: { reader in
                guard let object = reader.object(of: ["host", "sha256"]), let digest = object.required("sha256") else {
                    return nil
                }
                let hosts = object["host"].map { ConfigurationRule<HostPattern>.hostPattern.read($0) } ?? .all
                guard let text = digest.string(maximumLength: 128) else { return nil }
                guard let fingerprint = Fingerprint(text) else {
                    digest.refuse("must be a SHA-256 in base64 or hexadecimal digits")
                    return nil
                }
                return hosts.map { PublicKeyPin($0, fingerprint) }
            },
            write: { pin, writer in
                writer.object { writer in
                    writer.member("host", pin.hosts.description)
                    writer.member("sha256", pin.fingerprint.description)
                }
            }
        )
    }
}
