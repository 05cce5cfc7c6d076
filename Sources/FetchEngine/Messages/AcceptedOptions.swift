/// Options that are kept for programs that come from Apple's systems, where the operating system acts on them; they
/// have no effect here.
struct AcceptedOptions: Sendable, Hashable {
    var allowsCellularAccess = true
    var allowsExpensiveNetworkAccess = true
    var allowsConstrainedNetworkAccess = true
    var allowsUltraConstrainedNetworkAccess = true
    var networkServiceType = NetworkServiceType.default
    var multipathServiceType = MultipathServiceType.none
    var attribution = RequestAttribution.developer
    var allowsPersistentDNS = false
    var isDiscretionary = false
    var sessionSendsLaunchEvents = false
    var sharedContainerIdentifier: String?
    var shouldUseExtendedBackgroundIdleMode = false
}

/// The purpose of traffic, which the URL Loading System tells networks; without effect here.
public enum NetworkServiceType: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing in particular.
    case `default`
    /// No person waits for it.
    case background
    /// Video.
    case video
    /// Voice.
    case voice
    /// Something a person waits for.
    case responsiveData
    /// Streamed audio or video.
    case avStreaming
    /// Streamed audio or video that answers a person.
    case responsiveAV
    /// The signalling of a call.
    case callSignaling
}

/// How several paths to a server share a connection, as the URL Loading System names it; without effect here.
public enum MultipathServiceType: String, Sendable, Hashable, Codable, CaseIterable {
    /// One path.
    case none
    /// The second path when the first fails.
    case handover
    /// The path with the least delay.
    case interactive
    /// All paths together.
    case aggregate
}

/// The party that caused a request, for the reports of the URL Loading System; without effect here.
public enum RequestAttribution: String, Sendable, Hashable, Codable, CaseIterable {
    /// The program.
    case developer
    /// The person who uses it.
    case user
}

extension Request {
    /// The party that caused the request; the program by default.
    ///
    /// Without effect.
    public var attribution: RequestAttribution {
        get { accepted.attribution }
        set { accepted.attribution = newValue }
    }

    /// Whether a name's addresses may be remembered on disk; false.
    ///
    /// Without effect: none are.
    public var allowsPersistentDNS: Bool {
        get { accepted.allowsPersistentDNS }
        set { accepted.allowsPersistentDNS = newValue }
    }

    /// Whether cellular networks may be used; true.
    ///
    /// Without effect, as in ``SessionConfiguration``.
    public var allowsCellularAccess: Bool {
        get { accepted.allowsCellularAccess }
        set { accepted.allowsCellularAccess = newValue }
    }

    /// Whether networks that cost money may be used; true.
    ///
    /// Without effect, as in ``SessionConfiguration``.
    public var allowsExpensiveNetworkAccess: Bool {
        get { accepted.allowsExpensiveNetworkAccess }
        set { accepted.allowsExpensiveNetworkAccess = newValue }
    }

    /// Whether networks in a mode that saves data may be used; true.
    ///
    /// Without effect, as in ``SessionConfiguration``.
    public var allowsConstrainedNetworkAccess: Bool {
        get { accepted.allowsConstrainedNetworkAccess }
        set { accepted.allowsConstrainedNetworkAccess = newValue }
    }

    /// The purpose of the traffic.
    ///
    /// Without effect, as in ``SessionConfiguration``.
    public var networkServiceType: NetworkServiceType {
        get { accepted.networkServiceType }
        set { accepted.networkServiceType = newValue }
    }
}
